"""The longest CPU operator and the longest device row of the verdict steps, named outright."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from timesink.analyses.lines import Texts
from timesink.analyses.scope import Ints, column, device_scope, host_scope
from timesink.model.results import LongestEvent
from timesink.store.schema import Kind

if TYPE_CHECKING:
    from timesink.analyses.prepare import Prepared


def longest_op(p: Prepared, lines: Texts) -> LongestEvent | None:
    """The single longest operator call by total time; marks and ranges are no operators."""
    return _longest_op(p, column(p.host, "end") - column(p.host, "ts"), lines)


def longest_self_op(p: Prepared, lines: Texts) -> LongestEvent | None:
    """The operator call with the most self time: the one that did the work itself."""
    return _longest_op(p, column(p.host, "self_ns"), lines)


def longest_device(p: Prepared, lines: Texts) -> LongestEvent | None:
    """The single longest kernel, copy or set, with the shape and line of its operator."""
    chosen = np.flatnonzero(device_scope(p))
    if not len(chosen):
        return None
    time = column(p.device, "dur")
    at = int(chosen[time[chosen].argmax()])
    row = p.device.row(at, named=True)
    op = row["op"] if row["op"] >= 0 else row["launch"]
    shape = int(p.host["shape"][op]) if op >= 0 else 0
    return LongestEvent(
        p.tables.text(row["name"]), row["ts"], int(time[at]), _number(p, row["step"]),
        p.tables.text(shape), lines[op],
    )  # fmt: skip


def _longest_op(p: Prepared, time: Ints, lines: Texts) -> LongestEvent | None:
    chosen = np.flatnonzero((column(p.host, "kind") == Kind.CPU_OP) & host_scope(p))
    if not len(chosen):
        return None
    at = int(chosen[time[chosen].argmax()])
    row = p.host.row(at, named=True)
    name, shape = p.tables.text(row["name"]), p.tables.text(row["shape"])
    return LongestEvent(name, row["ts"], int(time[at]), _number(p, row["step"]), shape, lines[at])


def _number(p: Prepared, step: int) -> int | None:
    """The N of ProfilerStep#N; None outside steps and where the whole window is the step."""
    return p.steps[step].number if step >= 0 and p.source != "window" else None
