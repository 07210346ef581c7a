"""Exact algebra of half-open intervals ``[start, end)`` in integer ns, vectorised.

A *set* here is a pair of equally long int64 arrays, sorted, disjoint and not touching, as ``union``
returns it. Empty intervals vanish.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Intervals = tuple[Ints, Ints]

EMPTY: Intervals = (np.empty(0, np.int64), np.empty(0, np.int64))


def union(starts: Ints, ends: Ints) -> Intervals:
    """The set covered by any of the intervals, in whatever order; touching ones are merged."""
    real = ends > starts
    starts, ends = starts[real], ends[real]
    if not len(starts):
        return EMPTY
    if (np.diff(starts) < 0).any():
        order = np.argsort(starts, kind="stable")
        starts, ends = starts[order], ends[order]
    reach = np.maximum.accumulate(ends)
    first = np.concatenate([[True], starts[1:] > reach[:-1]])
    last = np.append(np.flatnonzero(first)[1:] - 1, len(starts) - 1)
    return starts[first].astype(np.int64), reach[last].astype(np.int64)


def measure(intervals: Intervals) -> int:
    """Total length of a set in ns."""
    return int((intervals[1] - intervals[0]).sum())


def intersect(one: Intervals, other: Intervals) -> Intervals:
    """What lies in both sets."""
    (a, b), (c, d) = one, other
    if not len(a) or not len(c):
        return EMPTY
    low = np.searchsorted(d, a, side="right")  # first of the other that ends after a starts
    high = np.searchsorted(c, b, side="left")  # first of the other that starts at or after b
    count = np.maximum(high - low, 0)
    mine = np.repeat(np.arange(len(a)), count)
    within = np.arange(len(mine)) - np.repeat(np.cumsum(count) - count, count)
    theirs = low[mine] + within
    return union(np.maximum(a[mine], c[theirs]), np.minimum(b[mine], d[theirs]))


def complement(intervals: Intervals, start: int, end: int) -> Intervals:
    """What of ``[start, end)`` the set leaves out."""
    a, b = intervals
    starts = np.concatenate([[start], np.clip(b, start, end)]).astype(np.int64)
    ends = np.concatenate([np.clip(a, start, end), [end]]).astype(np.int64)
    return union(starts, ends)


def subtract(one: Intervals, other: Intervals) -> Intervals:
    """What lies in the first set and not in the second."""
    if not len(one[0]) or not len(other[0]):
        return one
    return intersect(one, complement(other, int(one[0][0]), int(one[1][-1])))


def covered(intervals: Intervals, starts: Ints, ends: Ints) -> Ints:
    """How many ns of each window ``[start, end)`` the set covers."""
    a, b = intervals
    if not len(a):
        return np.zeros(len(starts), np.int64)
    before = np.concatenate([[0], np.cumsum(b - a)]).astype(np.int64)

    def until(at: Ints) -> Ints:
        """Covered ns before each time."""
        place = np.searchsorted(a, at, side="right")
        inside = np.minimum(at, b[place - 1]) - a[place - 1]
        total: Ints = np.where(place > 0, before[place - 1] + inside, 0)
        return total

    found: Ints = np.maximum(until(ends) - until(starts), 0)
    return found


def overlapping(device: Ints, stream: Ints, starts: Ints, ends: Ints) -> npt.NDArray[np.bool_]:
    """Which rows (longer than nothing) start before an earlier one of their stream has ended."""
    order = np.lexsort((starts, stream, device))
    found = np.zeros(len(starts), np.bool_)
    edges = np.flatnonzero(np.diff(stream[order]) | np.diff(device[order])) + 1
    for part in np.split(order, edges):
        if len(part) > 1:
            reach = np.maximum.accumulate(ends[part])
            found[part[1:]] = starts[part[1:]] < reach[:-1]
    return found & (ends > starts)
