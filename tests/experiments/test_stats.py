"""The interval: right as often as it says, and never sure of a difference that is not there."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from timesink.experiments import plan, stats
from timesink.model.experiments import Change, Command, Design, Interval

DESIGN = Design(Command(("train.py",)), Command(("train.py",)), Change("x"))
Pairs = list[tuple[tuple[float, ...], tuple[float, ...]]]


def process(
    rng: np.random.Generator, level: float, between: float, within: float
) -> tuple[float, ...]:
    """Blocks of one process: a level of its own (log-normal), steps that vary around it."""
    own = level * math.exp(rng.normal(0, between))
    return tuple(own * np.exp(rng.normal(0, within, 10)))


def experiment(
    rng: np.random.Generator,
    between: float,
    within: float,
    gain: float = 1.0,
    outliers: float = 0.0,
) -> tuple[Interval, int]:
    """Pairs until the planner has enough, as ``timesink try`` takes them."""
    pairs: Pairs = []
    while True:
        hit = [1 + 5 * between * (rng.random() < outliers) for _ in "AB"]
        pairs.append(
            (process(rng, hit[0], between, within), process(rng, hit[1] / gain, between, within))
        )
        found = stats.ratio(pairs, seed=len(pairs))
        if found is None or len(pairs) < DESIGN.min_pairs:
            continue
        if len(pairs) == DESIGN.max_pairs or plan.precise(found, DESIGN.precision):
            return found, len(pairs)


@pytest.mark.parametrize(
    ("between", "within", "outliers"),
    [(0.003, 0.02, 0.0), (0.01, 0.05, 0.0), (0.03, 0.05, 0.0), (0.02, 0.05, 0.15)],
)
def test_a_against_a_is_rarely_called_different(
    between: float, within: float, outliers: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """240 experiments of a script against itself, stopped adaptively: at most 5 % different."""
    monkeypatch.setattr(stats, "_ROUNDS", 300)
    rng = np.random.default_rng(7)
    different = 0
    for _ in range(240):
        found, _ = experiment(rng, between, within, outliers=outliers)
        different += plan.verdict(found, DESIGN)[0] in ("faster", "slower")
    assert different <= 0.05 * 240


def test_a_real_gain_is_found_and_covered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stats, "_ROUNDS", 300)
    rng = np.random.default_rng(8)
    found = [experiment(rng, 0.01, 0.05, gain=1.3)[0] for _ in range(60)]
    assert all(plan.verdict(f, DESIGN)[0] == "faster" for f in found)
    assert sum(f.low <= 1.3 <= f.high for f in found) >= 0.95 * 60
    slower = [experiment(rng, 0.01, 0.05, gain=0.8)[0] for _ in range(20)]
    assert all(plan.verdict(f, DESIGN)[0] == "slower" for f in slower)


def test_quiet_pairs_of_equal_speed_are_no_difference() -> None:
    rng = np.random.default_rng(9)
    pairs = [(process(rng, 1, 0.001, 0.005), process(rng, 1, 0.001, 0.005)) for _ in range(6)]
    found = stats.ratio(pairs)
    assert found is not None
    outcome, text = plan.verdict(found, DESIGN)
    assert outcome == "no difference"
    assert "smaller than" in text


def test_one_pair_says_nothing() -> None:
    assert stats.ratio([((1.0, 2.0), (1.0, 2.0))]) is None
    assert stats.ratio([]) is None


def test_two_pairs_say_little() -> None:
    """With one degree of freedom even 30 % is not certain."""
    found = stats.ratio([((1.3, 1.3), (1.0, 1.0)), ((1.25, 1.25), (1.0, 1.0))])
    assert found is not None
    assert found.low < 1 < found.high or found.half > 0.1


#: Quantiles of Student's t at 97.5 %, from any table.
@pytest.mark.parametrize(
    ("freedom", "expected"),
    [(1, 12.706), (3, 3.182), (9, 2.262), (10, 2.228), (15, 2.131), (30, 2.042), (120, 1.980)],
)
def test_student_t(freedom: int, expected: float) -> None:
    assert stats.student_t(freedom) == pytest.approx(expected, abs=2e-3)


levels = st.floats(1e3, 1e12)


@given(st.lists(st.tuples(levels, levels), min_size=2, max_size=8), st.floats(0.01, 100))
@settings(max_examples=40, deadline=None)
def test_ratio_against_a_naive_reference(values: list[tuple[float, float]], unit: float) -> None:
    """The estimate is the geometric mean of the ratios; units cancel; swapping inverts."""
    pairs: Pairs = [((a,), (b,)) for a, b in values]
    found = stats.ratio(pairs, 3)
    assert found is not None
    naive = math.prod(a / b for a, b in values) ** (1 / len(values))
    assert found.estimate == pytest.approx(naive)
    scaled = stats.ratio([((a[0] * unit,), (b[0] * unit,)) for a, b in pairs], 3)
    assert scaled is not None
    assert (scaled.low, scaled.high) == pytest.approx((found.low, found.high))
    turned = stats.ratio([(b, a) for a, b in pairs], 3)
    assert turned is not None
    assert (turned.low, turned.high) == pytest.approx((1 / found.high, 1 / found.low))


def test_without_spread_within_it_is_the_textbook_interval() -> None:
    """Single blocks: the bootstrap's error is that of a mean, so the interval is Student's."""
    logs = np.array([0.20, 0.25, 0.31, 0.22, 0.27, 0.24])
    found = stats.ratio([((math.exp(x),), (1.0,)) for x in logs], 1)
    assert found is not None
    half = stats.student_t(5) * logs.std(ddof=1) / math.sqrt(6)
    assert math.log(found.high / found.low) / 2 == pytest.approx(half, rel=0.06)


def test_alternating_steps_fool_the_median_of_steps_but_not_of_blocks() -> None:
    """Two workers deliver two batches at once: no wait, a long wait. Throughput is the mean."""
    from timesink.experiments.steady import block_means

    steps = [1.0, 9.0, 1.0] * 3 + [1.0, 9.0] * 20
    assert np.median(steps[9:]) in (1.0, 5.0, 9.0)
    assert np.median(block_means([1.0, 1.0, 9.0] * 24, 9)) == pytest.approx(11 / 3)
    assert np.median([1.0, 1.0, 9.0] * 24) == 1.0


def test_the_scale_of_a_larger_batch_is_taken_out() -> None:
    from timesink.model.experiments import Effect, Observation

    o = Observation("x", "B", "timed", block_ns=(200.0, 220.0), effects=(Effect("b", 1, "", 2.0),))
    assert plan.blocks(o, "typical") == (100.0, 110.0)
    assert plan.blocks(replace(o, mean_ns=300.0), "mean") == (150.0,)
