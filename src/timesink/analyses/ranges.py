"""The user's own ``record_function`` ranges: time, device time and share of the step.

Left out, because they are not the user's: profiler steps, optimizer and DataLoader marks, our own
marks, collectives ("nccl:all_reduce"), DDP/FSDP and autograd internals, compiler internals.

Device time is that of the rows launched inside the range on the range's own thread (each once per
name). The backward of what a forward range did runs on another thread and is not part of it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from timesink.analyses.intervals import Intervals, covered, measure, union
from timesink.analyses.scope import (
    Bools,
    Ints,
    column,
    combine,
    counted_steps,
    device_scope,
    host_scope,
    per_name,
    unite,
)
from timesink.analyses.tree import outermost
from timesink.model.owners import MARK_PREFIX
from timesink.model.results import RangeRow
from timesink.store.schema import Kind

if TYPE_CHECKING:
    from timesink.analyses.prepare import Prepared

_INTERNAL = re.compile(
    r"^$|ProfilerStep#|Optimizer\.|enumerate\(DataLoader\)|"
    rf"{re.escape(MARK_PREFIX)}|"
    r"(nccl|gloo|ucc|mpi|rccl|hccl|cncl|c10d|xccl):|record_param_comms|"
    r"DistributedDataParallel\.|torch\.distributed|FullyShardedDataParallel\.|FSDP::|"
    r"autograd::|PyTorch Profiler|Iteration |##|Torch-Compiled Region|CompiledFunction|"
    r"CompiledFxGraph|TorchDynamo|.*\(dynamo_timed\)|AOTDispatcher|Pregraph bytecode"
)


def is_user_range(name: str) -> bool:
    """Whether an annotation is a ``record_function`` of the user (or of their framework)."""
    return _INTERNAL.match(name) is None


def loader_ranges(p: Prepared) -> tuple[RangeRow, ...]:
    """The same for the fetches of DataLoaders (``enumerate(DataLoader)#…``)."""
    return ranges(p, lambda name: name.startswith("enumerate(DataLoader)#"))


def ranges(p: Prepared, wanted: Callable[[str], bool] = is_user_range) -> tuple[RangeRow, ...]:
    """One row per name, largest time first: the ranges that overlap the verdict steps.

    ``total_ns`` counts a range nested in one of its own name once; ``share`` is the part of the
    verdict steps' wall time in which at least one range of the name was open, on any thread.
    """
    host = p.host
    start, end = column(host, "ts"), column(host, "end")
    wall = _verdict_wall(p)
    rows = np.flatnonzero(_is_range(p, wanted))
    rows = rows[host_scope(p)[rows] | (covered(wall, start[rows], end[rows]) > 0)]
    if not len(rows):
        return ()
    group = np.full(host.height, -1, np.int64)
    group[rows] = column(host, "name")[rows]
    once = outermost(group, column(host, "parent"))[rows]
    time = end[rows] - start[rows]
    pieces, left, right = unite(group[rows], start[rows], end[rows])
    open_ns = _sums(pieces, covered(wall, left, right))
    device = _device_time(p, group)
    whole = measure(wall)
    frame = pl.DataFrame({"name": group[rows], "time": time, "once": np.where(once, time, 0)})
    frame = frame.group_by("name").agg(
        pl.len().alias("calls"), pl.col("once").sum(), pl.col("time").mean().alias("mean"),
        pl.col("time").max().alias("max"),
    )  # fmt: skip
    found = [
        RangeRow(
            p.tables.text(r["name"]), r["calls"], r["once"], device.get(r["name"], 0),
            open_ns[r["name"]] / whole if whole else 0.0, r["mean"], r["max"],
        )
        for r in frame.iter_rows(named=True)
    ]  # fmt: skip
    return tuple(sorted(found, key=lambda r: (-r.total_ns, r.name)))


def _is_range(p: Prepared, wanted: Callable[[str], bool]) -> Bools:
    """Per host row: is it a range that is wanted?"""
    names = column(p.host, "name")
    mask: Bools = column(p.host, "kind") == Kind.USER_ANNOTATION
    mask[mask] = per_name(p, names[mask], wanted)
    return mask


def _verdict_wall(p: Prepared) -> Intervals:
    steps = [s for s, counted in zip(p.steps, counted_steps(p), strict=True) if counted]
    starts = np.array([s.start_ns for s in steps], np.int64)
    return union(starts, np.array([s.end_ns for s in steps], np.int64))


def _device_time(p: Prepared, group: Ints) -> dict[int, int]:
    """Summed duration of the device rows launched inside each group, each once per group."""
    parent = column(p.host, "parent")
    counted = device_scope(p)
    at = column(p.device, "launch")[counted]
    time = column(p.device, "dur")[counted]
    which = np.arange(len(at))
    seen: list[Ints] = []
    while len(at):
        known = at >= 0
        at, which = at[known], which[known]
        hit = group[at] >= 0
        seen.append(np.stack([group[at[hit]], which[hit]]))
        at = parent[at]
    found = np.concatenate(seen, axis=1) if seen else np.zeros((2, 0), np.int64)
    _, first = np.unique(combine(found[0], found[1]), return_index=True)
    return _sums(found[0][first], time[found[1][first]])


def _sums(group: Ints, values: Ints) -> dict[int, int]:
    """Sum of the values per group."""
    codes, inverse = np.unique(group, return_inverse=True)
    total = np.zeros(len(codes), np.int64)
    np.add.at(total, inverse, values)
    return dict(zip(codes.tolist(), total.tolist(), strict=True))
