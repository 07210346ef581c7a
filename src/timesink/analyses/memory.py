"""Allocator curves from ``[memory]`` rows.

Peaks come from "Total Allocated"/"Total Reserved", the allocator's own totals after each row. A
trace without them (torch before 1.11) has only the deltas: they are added up from an unknown level
at the window's start, taken as low as never to go below zero, and a note says so. A trace without
``[memory]`` rows has no curve: not recorded is not zero.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from timesink.analyses.scope import Ints, column
from timesink.model.results import MemoryCurve
from timesink.model.trace import QualityNote
from timesink.store.schema import Tables

#: Points kept of a curve, at most about this many.
POINTS = 4000
_DEVICE_TYPES = {
    0: "cpu", 1: "cuda", 6: "hip", 9: "xla", 12: "xpu", 13: "mps", 15: "hpu", 19: "mtia",
    20: "privateuseone",
}  # fmt: skip


def memory(tables: Tables, *, points: int = POINTS) -> tuple[MemoryCurve, ...]:
    """One curve per device with ``[memory]`` rows, accelerators before "cpu".

    ``window_delta`` is the sum of what the window allocated and freed (last total minus the total
    before the first row). Values in bytes, times in ns.
    """
    curves = [_curve(device_name(key), rows, points) for key, rows in _bydevice_name(tables)]
    return tuple(sorted(curves, key=lambda c: (c.device == "cpu", c.device)))


def memory_notes(tables: Tables) -> tuple[QualityNote, ...]:
    """What has to be said about the curves: totals that were added up instead of read."""
    without = [
        (device_name(key), rows.height)
        for key, rows in _bydevice_name(tables)
        if (rows["allocated"] < 0).all()
    ]
    if not without:
        return ()
    names = ", ".join(sorted(name for name, _ in without))
    text = (
        f"The memory rows of {names} carry no totals: the curve adds up allocations and frees "
        "from the window's start, so its level is a lower bound."
    )
    return (QualityNote("memory-totals-absent", text, sum(n for _, n in without)),)


def _bydevice_name(tables: Tables) -> list[tuple[tuple[int, int], pl.DataFrame]]:
    groups = tables.memory.partition_by("device_type", "device", as_dict=True)
    return [((int(k[0]), int(k[1])), rows) for k, rows in groups.items()]


def device_name(key: tuple[int, int]) -> str:
    """``cpu``, ``cuda:0``, … from (device type, index) as torch numbers them."""
    kind = _DEVICE_TYPES.get(key[0], f"device type {key[0]}")
    return kind if kind == "cpu" or key[1] < 0 else f"{kind}:{key[1]}"


def _curve(device: str, rows: pl.DataFrame, points: int) -> MemoryCurve:
    ts, delta = column(rows, "ts"), column(rows, "bytes")
    allocated, before = _totals(column(rows, "allocated"), delta)
    reserved = _held(column(rows, "reserved"))
    kept = _thinned(allocated, reserved, points)
    peak = int(allocated.argmax())
    return MemoryCurve(
        device=device,
        rows=rows.height,
        ts_ns=tuple(ts[kept].tolist()),
        allocated=tuple(allocated[kept].tolist()),
        reserved=tuple(reserved[kept].tolist()),
        peak_allocated=int(allocated[peak]),
        peak_reserved=int(reserved.max()),
        peak_ns=int(ts[peak]),
        window_delta=int(allocated[-1]) - before,
    )


def _totals(given: Ints, delta: Ints) -> tuple[Ints, int]:
    """Total after each row, and before the first; gaps between given totals follow the deltas."""
    added = np.cumsum(delta)
    known = np.flatnonzero(given >= 0)
    if not len(known):
        level = max(0, -int(added.min()))
        return added + level, level
    at = known[np.maximum(np.searchsorted(known, np.arange(len(given)), side="right") - 1, 0)]
    total = np.maximum(given[at] + added - added[at], 0)
    return total, max(int(total[0]) - int(delta[0]), 0)


def _held(given: Ints) -> Ints:
    """Each total kept until the next one that is given; 0 where none is."""
    known = np.flatnonzero(given >= 0)
    if not len(known):
        return np.zeros(len(given), np.int64)
    at = np.searchsorted(known, np.arange(len(given)), side="right") - 1
    return given[known[np.maximum(at, 0)]]


def _thinned(allocated: Ints, reserved: Ints, points: int) -> Ints:
    """Rows to keep, so that every peak survives."""
    if len(allocated) <= points:
        return np.arange(len(allocated))
    ends = [0, int(reserved.argmax()), int(allocated.argmax())]
    return np.unique(np.concatenate([thinned(allocated, points), ends]))


def thinned(level: Ints, points: int) -> Ints:
    """Positions to keep of a curve, about ``points``: per bucket of it the highest and the last."""
    count = len(level)
    if count <= points:
        return np.arange(count)
    bucket = np.arange(count) * (points // 2) // count
    last = np.append(np.flatnonzero(np.diff(bucket)), count - 1)
    order = np.lexsort((-np.arange(count), level, bucket))
    highest = order[last]  # the order's buckets are as long as the positions' buckets
    return np.unique(np.concatenate([[0], last, highest]))
