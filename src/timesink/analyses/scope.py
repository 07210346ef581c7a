"""Which rows count, those of the verdict steps, and arrays of rows taken group by group."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import polars as pl

    from timesink.analyses.prepare import Prepared

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


def column(frame: pl.DataFrame, name: str) -> Ints:
    """One integer column as int64 (indices and codes mix freely then)."""
    return frame[name].to_numpy().astype(np.int64, copy=False)


def counted_steps(p: Prepared, all_steps: bool = False) -> Bools:
    """Per step: is it counted? Verdict steps, or all where none is one or all are asked for."""
    chosen = np.array([s.in_verdict for s in p.steps], bool)
    return chosen if chosen.any() and not all_steps else np.ones(len(p.steps), bool)


def host_scope(p: Prepared, all_steps: bool = False) -> Bools:
    """Per host row: did it start in a counted step?"""
    return _of_step(p, column(p.host, "step"), all_steps)


def device_scope(p: Prepared, all_steps: bool = False) -> Bools:
    """Per device row: was it launched by a counted step (or started in one, launch unknown)?"""
    return _of_step(p, column(p.device, "step"), all_steps)


def per_name(p: Prepared, codes: Ints, answer: Callable[[str], Any]) -> npt.NDArray[Any]:
    """``answer(text)`` for every code, asked once per distinct text; bool answers give a mask."""
    used = np.zeros(len(p.tables.strings), bool)
    used[codes] = True
    distinct = np.flatnonzero(used)
    answers = np.array([answer(text) for text in p.tables.strings.gather(distinct)])
    place = np.zeros(len(used), np.int64)
    place[distinct] = np.arange(len(distinct))
    return answers[place[codes]] if len(distinct) else np.zeros(0, bool)


def _of_step(p: Prepared, step: Ints, all_steps: bool) -> Bools:
    if p.source == "window":  # the step is everything, a row of no length at its end included
        return np.ones(len(step), bool)
    return np.append(counted_steps(p, all_steps), False)[step]  # -1 reads the last entry


def unite(group: Ints, starts: Ints, ends: Ints) -> tuple[Ints, Ints, Ints]:
    """Unions of intervals, each group for itself: (group, start, end) of the disjoint pieces."""
    if not len(starts):
        return group, starts, ends
    order = np.lexsort((starts, group))
    group, starts, ends = group[order], starts[order], ends[order]
    reach = running_max(group, ends)
    fresh = np.ones(len(starts), bool)
    fresh[1:] = (group[1:] != group[:-1]) | (starts[1:] > reach[:-1])
    first = np.flatnonzero(fresh)
    last = np.append(first[1:], len(starts)) - 1
    return group[first], starts[first], reach[last]


def running_max(group: Ints, values: Ints) -> Ints:
    """Running maximum that starts anew with each group; equal groups lie together."""
    if not len(values):
        return values
    segment = np.cumsum(np.append(0, np.diff(group) != 0))
    distinct, rank = np.unique(values, return_inverse=True)
    # A later segment's ranks all exceed an earlier one's, so one running maximum serves all.
    reach = np.maximum.accumulate(segment * len(distinct) + rank)
    highest: Ints = distinct[reach - segment * len(distinct)]
    return highest


def combine(*columns: npt.NDArray[Any]) -> Ints:
    """One key per row from several columns of non-negative codes (equal rows, equal keys)."""
    key = columns[0].astype(np.int64)
    for codes in columns[1:]:
        size = int(codes.max(initial=0)) + 1
        if int(key.max(initial=0)) >= (1 << 62) // size:
            key = np.unique(key, return_inverse=True)[1].astype(np.int64)
        key = key * size + codes
    return key
