"""Whether training does the same after a change: losses, gradient norms and inputs compared. Pure.

Both check runs start from the same seed. Their losses (the tensors that backward was called on)
are compared one by one, and so are the norms of the gradients and the fingerprints of the inputs.
What may differ depends on the change: nothing for ``exact`` ones; by rounding, 1e-3 of the loss;
for a narrower number format 5e-2. Gradient norms may differ ten times as much: they react first.
A script that differs from itself, run to run, is allowed twice its own difference.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from timesink.model.experiments import Change, Equivalence, Numerics, Observation

TOLERANCE: dict[Numerics, float] = {"exact": 0.0, "rounding": 1e-3, "reduced": 5e-2}
_NORMS = 10.0
#: Backward calls compared: rounding grows from step to step until everything differs.
COMPARED = 50
#: A script whose own losses differ by more than this from run to run cannot be judged.
_RESTLESS = 0.02
#: With these the random numbers are drawn elsewhere, or one of torch's own is not drawn.
_OTHER_NUMBERS = ("num-workers", "persistent-workers")


@dataclass(frozen=True, slots=True)
class Difference:
    """Of two series: the largest relative difference and the first beyond a tolerance."""

    worst: float
    first: int | None
    exact: bool


def difference(a: Sequence[float], b: Sequence[float], tolerance: float) -> Difference:
    """Compare what both have, up to :data:`COMPARED` values; NaN equals NaN."""
    worst, first, exact = 0.0, None, True
    for i, (x, y) in enumerate(zip(a[:COMPARED], b[:COMPARED], strict=False)):
        if x == y or (math.isnan(x) and math.isnan(y)):
            continue
        exact = False
        finite = math.isfinite(x) and math.isfinite(y)
        gap = abs(x - y) / max(abs(x), abs(y)) if finite else math.inf
        gap = gap if math.isfinite(gap) else math.inf  # the difference itself may overflow
        worst = max(worst, gap)
        if first is None and gap > tolerance:
            first = i
    return Difference(worst, first, exact)


def equivalence(
    before: Observation, after: Observation, repeats: Sequence[Observation], change: Change
) -> Equivalence:
    """Judge two check runs; ``repeats`` are other processes of the unchanged script."""
    count = min(len(before.losses), len(after.losses), COMPARED)
    if change.numerics == "training":
        return Equivalence(
            "not comparable", f"Not comparable: {' '.join(change.may_change)}", expected=True
        )
    if not count:
        return Equivalence("unknown", "Unknown: no backward was seen in both arms.")
    own = max((difference(before.losses, r.losses, 0.0).worst for r in repeats), default=0.0)
    if own > _RESTLESS:
        return Equivalence(
            "unknown",
            f"Unknown: the script does not repeat itself (its own losses differ by {_percent(own)} "
            "from run to run).",
            count,
        )
    allowed = max(TOLERANCE[change.numerics], 2 * own)
    return _judge(before, after, change, count, allowed, own)


def _judge(
    before: Observation, after: Observation, change: Change, count: int, allowed: float, own: float
) -> Equivalence:
    loss = difference(before.losses, after.losses, allowed)
    norm = difference(before.grad_norms, after.grad_norms, _NORMS * allowed)
    norms = min(len(before.grad_norms), len(after.grad_norms), COMPARED)
    moved = _moved(before.inputs, after.inputs)
    shorter = _shorter(before, after)
    if loss.first is None and norm.first is None and not moved and not shorter:
        if loss.exact and norm.exact:
            text = f"Bit-identical: {count} losses and {norms} gradient norms are equal."
            return Equivalence("bit-identical", text, count, None, 0.0, allowed)
        text = (
            f"Same within tolerance: {count} losses differ by at most {_percent(loss.worst)} "
            f"(allowed: {_percent(allowed)}){_itself(own)}, gradient norms by at most "
            f"{_percent(norm.worst)}."
        )
        return Equivalence("within tolerance", text, count, None, loss.worst, allowed)
    return _diverged(before, after, change, count, allowed, loss, norm, moved or shorter)


def _diverged(
    before: Observation, after: Observation, change: Change, count: int, allowed: float,
    loss: Difference, norm: Difference, reason: str,
) -> Equivalence:  # fmt: skip
    where = min((i for i in (loss.first, norm.first) if i is not None), default=None)
    if loss.first is not None:
        a, b = before.losses[loss.first], after.losses[loss.first]
        text = (
            f"Diverges at step {loss.first}: the loss {a:.6g} became {b:.6g} "
            f"(allowed: {_percent(allowed)})."
        )
    elif norm.first is not None:
        a, b = before.grad_norms[norm.first], after.grad_norms[norm.first]
        text = f"Diverges at step {norm.first}: the gradient norm {a:.6g} became {b:.6g}."
    else:
        text = "Diverges, though the losses compared do not show it."
    expected = False
    if not reason and _other(before.inputs, after.inputs) is not None:
        first = _other(before.inputs, after.inputs)
        expected = any(i.partition("=")[0] in _OTHER_NUMBERS for i in change.interventions)
        reason = f"The model was given other inputs from call {first} on."
        if expected:
            reason += (
                " Workers draw other random numbers: expected where the dataset augments at random "
                "or a later epoch is shuffled, an error where nothing is random."
            )
    if not reason:
        same = "with the same inputs" if before.inputs and after.inputs else ""
        reason = f"The computation differs {same}".strip() + "."
    worst = max(loss.worst, 0.0)
    return Equivalence("diverges", f"{text} {reason}", count, where, worst, allowed, expected)


def _other(a: Sequence[str], b: Sequence[str]) -> int | None:
    """The first call whose inputs differ."""
    return next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), None)


def _moved(a: Sequence[str], b: Sequence[str]) -> str:
    """A sentence if the first inputs that differ are those of another call: data skipped or in
    another order, which no random augmentation explains."""
    first = _other(a, b)
    if first is None or b[first] not in a:
        return ""
    return (
        f"Call {first} of the model was given what call {a.index(b[first])} was given before: "
        "batches are skipped or come in another order."
    )


def _shorter(before: Observation, after: Observation) -> str:
    """A sentence if the changed script took fewer steps than the other in the same run."""
    if after.steps >= before.steps or not before.steps:
        return ""
    return f"It ended after {after.steps} train steps where the script took {before.steps}."


def _itself(own: float) -> str:
    return f"; the script itself differs by {_percent(own)} from run to run" if own else ""


def _percent(value: float) -> str:
    if value == 0:
        return "nothing"
    return f"{100 * value:.2g} %" if value >= 1e-4 else f"{value:.1e}"
