"""Rows of two analyses matched by name and detail: operators, kernels, copies. Pure; per step."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from timesink.model.comparison import RowPair, Status
from timesink.model.results import Analysis, OpRow

#: Calls and times that differ by less than this share are called the same.
_SAME = 0.005
Key = tuple[str, str]
Values = tuple[float, float]


def rows(
    a: Analysis | None,
    b: Analysis | None,
    read: Callable[[Analysis, bool], Iterable[tuple[Key, Values]]],
) -> tuple[RowPair, ...]:
    """All rows of both that ``read`` finds, the largest change first; none where a side has none to
    match. Shapes are matched where both sides recorded them."""
    if a is None or b is None or not a.steps_counted or not b.steps_counted:
        return ()
    detailed = bool(a.info.record_shapes) == bool(b.info.record_shapes)
    left, right = _per_step(read(a, detailed), a), _per_step(read(b, detailed), b)
    found = [_row(key, left.get(key), right.get(key)) for key in dict.fromkeys([*left, *right])]
    found.sort(key=lambda r: (-abs(r.delta), r.name, r.detail))
    return tuple(found)


def _per_step(read: Iterable[tuple[Key, Values]], a: Analysis) -> dict[Key, Values]:
    found: dict[Key, Values] = {}
    for key, (calls, ns) in read:
        known = found.get(key, (0.0, 0.0))
        found[key] = (known[0] + calls / a.steps_counted, known[1] + ns / a.steps_counted)
    return found


def _row(key: Key, before: Values | None, after: Values | None) -> RowPair:
    status: Status = "changed"
    if before is None:
        status = "appeared"
    elif after is None:
        status = "vanished"
    elif all(_near(x, y) for x, y in zip(before, after, strict=True)):
        status = "same"
    calls, ns = zip(before or (0.0, 0.0), after or (0.0, 0.0), strict=True)
    return RowPair(*key, status, *calls, *ns)


def _near(a: float, b: float) -> bool:
    return abs(a - b) <= _SAME * max(abs(a), abs(b))


def ops(a: Analysis, detailed: bool) -> Iterable[tuple[Key, Values]]:
    """Operators by name, phase, module and shape: calls, self CPU time."""
    return (((r.name, _detail(r, detailed)), (r.calls, r.cpu_self_ns)) for r in a.ops)


def device_ops(a: Analysis, detailed: bool) -> Iterable[tuple[Key, Values]]:
    """The same: calls, self device time."""
    launching = (r for r in a.ops if r.device_self_ns)
    return (((r.name, _detail(r, detailed)), (r.calls, r.device_self_ns)) for r in launching)


def _detail(row: OpRow, detailed: bool) -> str:
    parts = [row.phase.value, row.module]
    if detailed:
        parts.append(row.shape)
    return " ".join(p for p in parts if p)


def kernels(a: Analysis, detailed: bool) -> Iterable[tuple[Key, Values]]:
    """Kernels by name."""
    return (((k.name, k.kind), (k.calls, k.total_ns)) for k in a.kernels)


def copies(a: Analysis, detailed: bool) -> Iterable[tuple[Key, Values]]:
    """Copies and memsets by kind and memory."""
    return (
        ((c.kind, " → ".join(x for x in (c.source, c.target) if x)), (c.calls, c.total_ns))
        for c in a.copies
    )
