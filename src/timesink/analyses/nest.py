"""Nesting of the rows of one host thread: parents, depths, ends clipped to the parent.

Rows of a thread should nest; in real files some cross (a child that ends 1 µs after its parent, a
ProfilerStep crossed by an operator). A row belongs to the innermost row that is open at its start,
and is clipped to it, so that self times are never negative and sum to the wall of the roots.
Everything is vectorised; only the subtrees that really cross are walked in Python.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

_SMALL = 4096  # rows: below this a walk in Python is cheaper than looking for a smaller part


@dataclass(frozen=True, slots=True)
class Tree:
    """The forest of one thread's rows, sorted by (start, longest first).

    ``end`` is clipped, ``parent`` -1 for roots, ``clipped`` counts the rows that were shortened.
    """

    ts: Ints
    end: Ints
    depth: Ints
    parent: Ints
    clipped: int
    _ends: Ints
    _zeros: Ints
    _levels: Ints

    @property
    def self_ns(self) -> Ints:
        """Duration minus that of the children; >= 0, and sums to the wall of the roots."""
        own = self.end - self.ts
        inner = np.flatnonzero(self.parent >= 0)
        children: Ints = own.copy()
        np.subtract.at(own, self.parent[inner], children[inner])
        return own

    def enclosing(self, before: Ints, at: Ints) -> Ints:
        """The innermost of the first ``before`` rows that is open at time ``at``, or -1."""
        depth = _open_rows(self.ts, self._ends, self._zeros, before, at)
        return _last_at(self._levels, depth - 1, before, len(self.ts))


def nest(ts: Ints, end: Ints) -> Tree:
    """Build the forest of one thread's rows from starts and raw ends (ns).

    A row of zero length is open for nobody.
    """
    tree = _assume_nested(ts, end)
    bad = _crossed(tree)
    if not bad.any():
        return tree
    fixed = end.copy()
    _clip(ts, fixed, bad)
    tree = _assume_nested(ts, fixed)
    return Tree(
        ts, fixed, tree.depth, tree.parent, int((fixed < end).sum()),
        tree._ends, tree._zeros, tree._levels,
    )  # fmt: skip


def _assume_nested(ts: Ints, end: Ints) -> Tree:
    count = len(ts)
    rows = np.arange(count, dtype=np.int64)
    ends = np.sort(end)
    zeros = np.concatenate([[0], np.cumsum(end == ts)]).astype(np.int64)
    depth = _open_rows(ts, ends, zeros, rows, ts)
    levels = _by_depth(depth, count, rows)
    parent = _last_at(levels, depth - 1, rows, count)
    return Tree(ts, end, depth, parent, 0, ends, zeros, levels)


def _by_depth(depth: Ints, count: int, rows: Ints) -> Ints:
    """Sorted keys ``depth * count + row``."""
    if not count or int(depth.max()) >= 2**16:
        return np.sort(depth * count + rows)
    order = np.argsort(depth.astype(np.uint16), kind="stable")  # linear for 16-bit keys
    levels: Ints = depth[order] * count + order
    return levels


def _open_rows(ts: Ints, ends: Ints, zeros: Ints, before: Ints, at: Ints) -> Ints:
    """How many of the first ``before`` rows start at or before ``at`` and end after it.

    Rows that ended are among the first ``before`` ones, but for rows of zero length that start at
    ``at`` itself and come later: those are taken out again.
    """
    ended = np.searchsorted(ends, at, side="right")
    if not zeros[-1]:
        return np.asarray(before - ended, np.int64)
    later = zeros[np.searchsorted(ts, at, side="right")] - zeros[before]
    found: Ints = before - ended + np.maximum(later, 0)
    return found


def _last_at(levels: Ints, depth: Ints, before: Ints, count: int) -> Ints:
    """The last of the first ``before`` rows that has this depth (-1 where ``depth`` < 0)."""
    if count == 0:
        return np.full(len(before), -1, np.int64)
    place = np.searchsorted(levels, depth * count + before) - 1
    found: Ints = np.where(depth < 0, -1, levels[place] % count)
    return found


def _crossed(tree: Tree) -> Bools:
    """Rows that do not lie within their parent. None at all if and only if no two rows cross."""
    inner = tree.parent >= 0
    limit = tree.end[tree.parent]
    bad: Bools = inner & ((tree.end > limit) | (tree.ts >= limit))
    return bad


def _clip(ts: Ints, end: Ints, bad: Bools) -> None:
    """Clip ``end`` in place within small subtrees that hold all bad rows."""
    seen = np.concatenate([[0], np.cumsum(bad)])
    todo = [(0, len(ts))]
    while todo:
        low, high = todo.pop()
        while high - low > _SMALL and end[low] >= end[low:high].max():
            low += 1  # a row around all the others crosses none of them
        parts = _parts(ts, end, low, high) if high - low > _SMALL else []
        worse = [(a, b) for a, b in parts if seen[b] > seen[a]]
        if 0 < len(worse) < min(len(parts), _SMALL // 64):
            todo += worse
        else:
            end[low:high] = _walk(ts[low:high].tolist(), end[low:high].tolist())


def _parts(ts: Ints, end: Ints, low: int, high: int) -> list[tuple[int, int]]:
    """The runs of rows of ``[low, high)`` between which no row is open."""
    reach = np.maximum.accumulate(end[low:high])
    starts = low + 1 + np.flatnonzero(ts[low + 1 : high] >= reach[:-1])
    return list(zip([low, *starts.tolist()], [*starts.tolist(), high], strict=True))


def _walk(ts: list[int], end: list[int]) -> list[int]:
    """Ends clipped to the innermost open row, by a stack of open ends."""
    stack = [max(end) + 1]
    for i, start in enumerate(ts):
        while stack[-1] <= start:
            stack.pop()
        if end[i] > stack[-1]:
            end[i] = stack[-1]
        stack.append(end[i])
    return end
