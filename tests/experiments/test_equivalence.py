"""Whether training does the same: losses, norms and inputs, compared with the right tolerance."""

from __future__ import annotations

import math
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from timesink.experiments.equivalence import TOLERANCE, difference, equivalence
from timesink.model.experiments import Change, Observation

LOSSES = tuple(2.3 * 0.97**i for i in range(30))
NORMS = tuple(1.0 + 0.01 * i for i in range(30))
INPUTS = tuple(f"{i:04x}" for i in range(30))
A = Observation("01", "A", "check", steps=30, losses=LOSSES, grad_norms=NORMS, inputs=INPUTS)
B = replace(A, name="02", arm="B")
EXACT = Change("pin-memory", ("pin-memory",))
ROUNDING = Change("compile", ("compile",), numerics="rounding")
REDUCED = Change("autocast=bf16", ("autocast=bf16",), numerics="reduced")
WORKERS = Change("num-workers=2", ("num-workers=2",))


def scaled(values: tuple[float, ...], by: float) -> tuple[float, ...]:
    return tuple(v * by for v in values)


def test_equal_to_the_last_bit() -> None:
    same = equivalence(A, B, (), EXACT)
    assert same.verdict == "bit-identical"
    assert same.compared == 30


def test_rounding_is_within_tolerance_for_changes_that_round_only() -> None:
    b = replace(B, losses=scaled(LOSSES, 1 + 1e-6))
    assert equivalence(A, b, (), ROUNDING).verdict == "within tolerance"
    assert equivalence(A, b, (), EXACT).verdict == "diverges"


def test_each_kind_has_its_tolerance() -> None:
    b = replace(B, losses=scaled(LOSSES, 1.01))
    assert equivalence(A, b, (), ROUNDING).verdict == "diverges"
    assert equivalence(A, b, (), REDUCED).verdict == "within tolerance"
    assert TOLERANCE["exact"] < TOLERANCE["rounding"] < TOLERANCE["reduced"]


def test_divergence_names_the_step_and_both_values() -> None:
    losses = (*LOSSES[:12], *scaled(LOSSES[12:], 1.2))
    same = equivalence(A, replace(B, losses=losses), (), ROUNDING)
    assert (same.verdict, same.step) == ("diverges", 12)
    assert f"{LOSSES[12]:.6g}" in same.text
    assert not same.expected
    assert "computation differs with the same inputs" in same.text


def test_the_gradients_alone_can_differ() -> None:
    same = equivalence(A, replace(B, grad_norms=scaled(NORMS, 1.5)), (), ROUNDING)
    assert (same.verdict, same.step) == ("diverges", 0)
    assert "gradient norm" in same.text


def test_skipped_batches_are_recognised_whatever_the_tolerance() -> None:
    """Losses within tolerance, but call 1 got the batch of call 2."""
    b = replace(B, inputs=INPUTS[::2])
    for change in (EXACT, ROUNDING, REDUCED, WORKERS):
        same = equivalence(A, b, (), change)
        assert same.verdict == "diverges"
        assert not same.expected
        assert "skipped" in same.text


def test_other_random_numbers_in_workers_are_expected() -> None:
    b = replace(B, losses=scaled(LOSSES, 1.02), inputs=tuple(f"x{i}" for i in range(30)))
    same = equivalence(A, b, (), WORKERS)
    assert same.verdict == "diverges"
    assert same.expected
    assert not equivalence(A, b, (), EXACT).expected


def test_fewer_steps_are_noticed() -> None:
    b = replace(B, steps=15, losses=LOSSES[:15], grad_norms=NORMS[:15], inputs=INPUTS[:15])
    same = equivalence(A, b, (), EXACT)
    assert same.verdict == "diverges"
    assert "15 train steps" in same.text


def test_a_script_that_differs_from_itself() -> None:
    slightly = replace(A, losses=scaled(LOSSES, 1 + 1e-5))
    b = replace(B, losses=scaled(LOSSES, 1 + 1.5e-5))
    assert equivalence(A, b, (), EXACT).verdict == "diverges"
    assert equivalence(A, b, (slightly,), EXACT).verdict == "within tolerance"
    restless = replace(A, losses=scaled(LOSSES, 1.3))
    assert equivalence(A, b, (restless,), EXACT).verdict == "unknown"


def test_another_training_is_not_compared() -> None:
    change = Change("batch-size=×2", numerics="training", may_change=("Training itself.",))
    assert equivalence(A, B, (), change).verdict == "not comparable"


def test_without_backward_nothing_is_known() -> None:
    none = replace(A, losses=())
    assert equivalence(none, B, (), EXACT).verdict == "unknown"


values = st.floats(allow_nan=True, allow_infinity=True, width=32)


@given(st.lists(values, max_size=60), st.lists(values, max_size=60), st.floats(0, 1))
def test_difference_against_a_naive_reference(a: list[float], b: list[float], tol: float) -> None:
    found = difference(a, b, tol)
    gaps = []
    for x, y in list(zip(a, b, strict=False))[:50]:
        if x == y or (math.isnan(x) and math.isnan(y)):
            gaps.append(0.0)
        elif not (math.isfinite(x) and math.isfinite(y)):
            gaps.append(math.inf)
        else:
            gaps.append(abs(x - y) / max(abs(x), abs(y)))
    assert found.worst == max(gaps, default=0.0)
    assert found.first == next((i for i, g in enumerate(gaps) if g > tol), None)
    assert found.exact == (not any(gaps))
