"""What runs next: checks, pairs in balanced random order, the profiled runs; and when to stop."""

from __future__ import annotations

import math
import random
from collections import Counter
from dataclasses import replace

import pytest

from timesink.experiments import plan
from timesink.experiments.plan import Job
from timesink.model.experiments import (
    Arm,
    Change,
    Command,
    Design,
    Effect,
    Experiment,
    Interval,
    Observation,
    Purpose,
)

DESIGN = Design(
    Command(("train.py",)), Command(("train.py",)), Change("compile", ("compile",)), seed=5,
    budget_s=1000,
)  # fmt: skip


def observed(arm: Arm, purpose: Purpose, step: float = 100.0, **more: object) -> Observation:
    values = {
        "steps": 40, "warmup": 3, "typical_ns": step, "mean_ns": step, "median_ns": step,
        "block_ns": (step, step * 1.001, step * 0.999), "seconds": 5.0, **more,
    }  # fmt: skip
    return Observation(f"{arm}-{purpose}", arm, purpose, **values)  # type: ignore[arg-type]


def run(design: Design, gain: float, spread: float = 0.001, seconds: float = 5.0) -> Experiment:
    """Play an experiment to its end with made-up processes."""
    e = Experiment("x", "now", design)
    rng = random.Random(11)
    for _ in range(200):
        job = plan.next_job(e)
        if job is None:
            return plan.judged(e)
        step = 100.0 * math.exp(rng.gauss(0, spread)) / (gain if job.arm == "B" else 1.0)
        o = observed(job.arm, job.purpose, step, seconds=seconds)
        e = replace(e, observations=(*e.observations, o), spent_s=e.spent_s + seconds)
    raise AssertionError("it never ends")


def test_checks_come_first_and_profiles_last() -> None:
    e = run(DESIGN, 1.3)
    jobs = [(o.arm, o.purpose) for o in e.observations]
    assert jobs[:2] == [("A", "check"), ("B", "check")]
    assert jobs[-2:] == [("A", "profile"), ("B", "profile")]
    assert {p for _, p in jobs[2:-2]} == {"timed"}


def test_a_clear_gain_needs_four_pairs_only() -> None:
    e = run(DESIGN, 1.3)
    assert e.speed is not None
    assert (e.speed.outcome, e.speed.pairs) == ("faster", 4)
    assert e.speed.ratio is not None
    assert e.speed.ratio.estimate == pytest.approx(1.3, rel=0.01)


def test_noise_takes_all_pairs_and_is_called_noise() -> None:
    e = run(DESIGN, 1.0, spread=0.4)
    assert e.speed is not None
    assert e.speed.pairs == DESIGN.max_pairs
    assert e.speed.outcome == "too noisy"
    assert "--budget" in e.speed.text


def test_the_budget_is_kept() -> None:
    for budget in (12.0, 40.0, 100.0):
        e = run(replace(DESIGN, budget_s=budget), 1.0, spread=0.4)
        assert e.spent_s <= budget + 10  # the checks always run; a pair is never left alone
    short = run(replace(DESIGN, budget_s=12.0), 1.3)
    assert short.speed is not None
    assert short.speed.outcome == "too noisy"
    assert "budget" in short.speed.text


def test_every_two_pairs_are_balanced_and_the_order_is_random() -> None:
    firsts = Counter()
    for seed in range(200):
        for pair in range(0, 6, 2):
            one, two = plan.order(seed, pair), plan.order(seed, pair + 1)
            assert one == (two[1], two[0])
            firsts[one] += 1
    assert 200 < firsts["A", "B"] < 400


def test_a_change_that_takes_no_effect_ends_the_experiment() -> None:
    nothing = (Effect("compile", 0, "the script calls no module with parameters"),)
    e = Experiment(
        "x", "now", DESIGN, (observed("A", "check"), observed("B", "check", effects=nothing))
    )
    assert plan.next_job(e) is None
    speed = plan.judged(e).speed
    assert speed is not None
    assert speed.outcome == "not applied"
    assert "the script calls no module" in speed.text


def test_an_unknown_effect_does_not() -> None:
    unknown = (Effect("env:A=1", None, "A is set"),)
    e = Experiment(
        "x", "now", DESIGN, (observed("A", "check"), observed("B", "check", effects=unknown))
    )
    assert plan.next_job(e) == Job(plan.order(5, 0)[0], "timed")


def test_a_candidate_that_crashes_is_a_result() -> None:
    broken = observed("B", "check", error="exit code 1: RuntimeError: CUDA out of memory.")
    e = Experiment("x", "now", DESIGN, (observed("A", "check"), broken))
    assert plan.next_job(e) is None
    speed = plan.judged(e).speed
    assert speed is not None
    assert speed.outcome == "failed"
    assert "CUDA out of memory" in speed.text


def test_a_profiled_run_that_fails_spoils_nothing() -> None:
    e = run(DESIGN, 1.3)
    last = replace(e.observations[-1], error="exit code 1: no disk")
    judged = plan.judged(replace(e, observations=(*e.observations[:-1], last)))
    assert judged.speed is not None
    assert judged.speed.outcome == "faster"


@pytest.mark.parametrize("gone", range(12))
def test_it_goes_on_where_it_was(gone: int) -> None:
    """Whatever has run already, the rest is the same as without an interruption."""
    whole = run(DESIGN, 1.3)
    e = replace(whole, observations=whole.observations[:gone], speed=None, equivalence=None)
    if gone < len(whole.observations):
        after = whole.observations[gone]
        assert plan.next_job(e) == Job(after.arm, after.purpose)


def test_steps_of_a_timed_process_follow_the_step_time() -> None:
    quick = plan.timed_steps(observed("A", "check", 1e6), DESIGN)
    slow = plan.timed_steps(observed("A", "check", 2e9), DESIGN)
    assert quick == 400 + 3 + 2
    assert slow == 8 + 3 + 2
    assert plan.timed_steps(observed("A", "check", 2e9), replace(DESIGN, steps=7)) == 7


@pytest.mark.parametrize(
    ("low", "estimate", "high", "outcome", "text"),
    [
        (1.27, 1.31, 1.36, "faster", "1.31× faster [1.27, 1.36]"),
        (0.5, 0.625, 0.8, "slower", "1.60× slower [1.25, 2.00]"),
        (0.99, 1.0, 1.019, "no difference", "no difference found (smaller than 1.9 %)"),
        (0.8, 1.1, 1.4, "too noisy", "too noisy: anything between 0.80× and 1.40×."),
        (0.5, 1.2, 9.0, "too noisy", "too noisy: the runs differ too much from one another"),
    ],
)
def test_verdicts(low: float, estimate: float, high: float, outcome: str, text: str) -> None:
    found = plan.verdict(Interval(estimate, low, high), DESIGN)
    assert found[0] == outcome
    assert found[1].startswith(text)


def test_noise_has_a_remedy_that_fits_the_machine() -> None:
    noisy = Interval(1.1, 0.8, 1.4)
    assert "Close other programs" in plan.verdict(noisy, DESIGN, others=0.0)[1]
    assert "kept 1.5 cores busy" in plan.verdict(noisy, DESIGN, others=1.5)[1]
