"""What ``tune`` tries next, and what it keeps."""

from __future__ import annotations

import pytest

from timesink.api.tune import proof_s
from timesink.experiments.tune import by_hand, candidates, keeps
from timesink.model.experiments import Change, Command, Design, Equivalence, Experiment, Speed
from timesink.model.findings import Finding

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
