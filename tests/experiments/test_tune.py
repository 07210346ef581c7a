"""What ``tune`` tries next, and what it keeps."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import pytest

from timesink.errors import BadUsage
from timesink.experiments.tune import by_hand, candidates, keeps
from timesink.model.experiments import (
    Change,
    Command,
    Design,
    Equivalence,
    Experiment,
    Observation,
    Speed,
    Tuning,
)
from timesink.model.findings import Finding

api_tune = import_module("timesink.api.tune")  # the package has a function of that name
proof_s, try_s = api_tune.proof_s, api_tune.try_s
DESIGN = Design(Command(("train.py",)), Command(("train.py",)), Change("compile", ("compile",)))


def found(intervention: str, share: float) -> Finding:
    return Finding("rule", 1, "Title", 0, share, (), "Advice.", intervention)


def test_by_predicted_gain_then_the_users_own() -> None:
    findings = [found("compile", 0.1), found("fused-optimizer", 0.4), found("", 0.9)]
    assert candidates(findings, ["tf32"], []) == ("fused-optimizer", "compile", "tf32")


def test_a_kind_is_settled_by_one_try() -> None:
    findings = [found("num-workers=4", 0.4), found("compile", 0.1)]
    assert candidates(findings, [], ["num-workers=2"]) == ("compile",)


def test_companions_go_along_until_they_are_settled() -> None:
    both = found("num-workers=2 + threads=1", 0.4)
    assert candidates([both], [], []) == ("num-workers=2 + threads=1",)
    assert candidates([both], [], ["threads=2"]) == ("num-workers=2",)
    assert candidates([both], ["threads=1"], ["num-workers=1"]) == ("threads=1",)


def test_what_the_user_names_is_tried_once_whatever_its_kind() -> None:
    asked = ["num-workers=4", "env:A=1", "env:B=2", "batch-size=×2"]
    assert candidates([], asked, ["num-workers=2", "env:A=1"]) == (
        "num-workers=4", "env:B=2", "batch-size=×2",
    )  # fmt: skip
    assert candidates([], asked[:1], ["num-workers=2"], ["num-workers=2"]) == ()
    assert candidates([], ["num-workers=2 + threads=1"], []) == ("num-workers=2 + threads=1",)


def test_another_training_is_never_tried() -> None:
    assert candidates([found("batch-size=×2", 0.4)], [], []) == ()


def test_what_cannot_be_read_is_passed_over() -> None:
    assert candidates([found("turbo", 0.4), found("compile", 0.1)], [], []) == ("compile",)


@pytest.mark.parametrize(
    ("speed", "same", "expected", "kept"),
    [
        ("faster", "bit-identical", True, True),
        ("faster", "within tolerance", True, True),
        ("faster", "diverges", True, True),  # what the change explains
        ("faster", "diverges", False, False),
        ("faster", "not comparable", True, False),
        ("no difference", "bit-identical", True, False),
        ("too noisy", "bit-identical", True, False),
        ("failed", "bit-identical", True, False),
    ],
)
def test_only_what_is_faster_and_trains_the_same(
    speed: str, same: str, expected: bool, kept: bool
) -> None:
    e = Experiment(
        "x", "now", DESIGN, speed=Speed(speed, ""),  # type: ignore[arg-type]
        equivalence=Equivalence(same, "", expected=expected),  # type: ignore[arg-type]
    )  # fmt: skip
    assert keeps(e) is kept


def test_nothing_is_kept_without_verdicts() -> None:
    assert not keeps(Experiment("x", "now", DESIGN))


def test_findings_without_a_change_are_left_to_the_user() -> None:
    assert by_hand([found("compile", 0.4), found("", 0.2)]) == ("Title: Advice.",)


def test_the_proof_is_checks_pairs_and_profiles() -> None:
    assert proof_s(DESIGN, 10.0) == 10.0 * (2 + 2 * DESIGN.min_pairs + 2)


@dataclass
class Bench:
    """Stands in for the processes: what each change is said to have done."""

    outcomes: dict[str, str]
    ran: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)

    def run(self, e: Experiment, folder: Path, watch: object, base: Path) -> Experiment:
        label = e.design.change.label
        self.ran.append((label, e.design.base))
        if self.outcomes.get(label) == "breaks":
            raise BadUsage("The script fails with what was kept alone: boom.")
        outcome = self.outcomes.get(label, "faster")
        seen = tuple(Observation(str(i), "A", "timed", seconds=1.0) for i in range(2))
        return replace(
            e, observations=seen, status="done", speed=Speed(outcome, outcome),  # type: ignore[arg-type]
            equivalence=Equivalence("bit-identical", ""),
        )  # fmt: skip


def tuned(
    monkeypatch: pytest.MonkeyPatch, folder: Path, bench: Bench, findings: list[Finding],
    extra: tuple[str, ...] = (), budget: float = 600.0,
) -> Tuning:  # fmt: skip
    report = SimpleNamespace(diagnosis=SimpleNamespace(
        findings=findings, verdict=SimpleNamespace(headline="Slow.")))  # fmt: skip
    monkeypatch.setattr(api_tune, "_measured", lambda e, f: (report, 1.0))
    monkeypatch.setattr(api_tune, "_profiled", lambda e, f: None)
    monkeypatch.setattr(api_tune, "explained_page", lambda e, f: None)
    monkeypatch.setattr(api_tune, "run_experiment", bench.run)
    return api_tune.tune(replace(DESIGN, budget_s=budget), folder, extra=extra)


FINDINGS = [
    found("num-workers=2 + threads=1", 0.6), found("fused-optimizer", 0.4), found("compile", 0.2),
]  # fmt: skip


def test_what_helps_is_stacked_and_the_whole_is_proved_afresh(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    bench = Bench({"fused-optimizer": "no difference"})
    tuning = tuned(monkeypatch, tmp_path, bench, FINDINGS)
    assert tuning.kept == ("num-workers=2 + threads=1", "compile")
    assert bench.ran == [
        ("num-workers=2 + threads=1", ()),
        ("fused-optimizer", ("num-workers=2", "threads=1")),
        ("compile", ("num-workers=2", "threads=1")),
        ("num-workers=2 + threads=1 + compile", ()),
    ]
    assert tuning.final is not None
    assert tuning.code[0].startswith("DataLoader(")


def test_nothing_helps(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    bench = Bench({f.intervention: "too noisy" for f in FINDINGS})
    tuning = tuned(monkeypatch, tmp_path, bench, FINDINGS)
    assert (tuning.kept, tuning.final, tuning.code) == ((), None, ())
    assert len(bench.ran) == len(FINDINGS)


def test_a_budget_too_small_begins_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    bench = Bench({})
    tuning = tuned(monkeypatch, tmp_path, bench, FINDINGS, budget=try_s(DESIGN, 1.0))
    assert bench.ran == []
    assert [text.partition(" (")[0] for text in tuning.untried] == [
        f.intervention for f in FINDINGS
    ]


def test_what_breaks_the_stack_is_told_and_the_rest_goes_on(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    bench = Bench({"fused-optimizer": "breaks"})
    tuning = tuned(monkeypatch, tmp_path, bench, FINDINGS, extra=("threads=2",))
    assert tuning.kept == ("num-workers=2 + threads=1", "compile")
    assert "boom" in tuning.untried[0]
    assert tuning.untried[1] == "threads=2 (something of its kind is kept)"
    assert tuning.final is not None
