"""A trace's ``[memory]`` rows as :class:`Allocations`, one per device.

Each row says which address came (bytes > 0) or went, on which thread and when; what was running
there then gives operator, line, phase and step. Not every free is recorded: on a CPU, blocks that
existed before the window go unseen (torch does not know their size), and blocks that another
allocator took over never go. ``base`` is what the allocator's own total says beyond the rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from timesink.analyses.allocations import PHASES, Allocations, Ints, lifetimes
from timesink.analyses.lines import modules, stacks, user_lines
from timesink.analyses.memory import device_name
from timesink.analyses.prepare import Prepared
from timesink.analyses.scope import Bools, column, combine, per_name
from timesink.analyses.tree import nearest
from timesink.model.memory import Site
from timesink.model.owners import MARK_LINE, Phase
from timesink.store.schema import Kind


def trace_histories(p: Prepared) -> tuple[Allocations, ...]:
    """One per device whose rows carry addresses; accelerators before "cpu"."""
    if not p.tables.memory.height:
        return ()
    rows = p.tables.memory.with_row_index("row")
    around = _around(p)
    groups = rows.partition_by("device_type", "device", as_dict=True)
    found = [
        _one(p, device_name((int(k[0]), int(k[1]))), part, around)
        for k, part in groups.items()
        if (part["addr"] > 0).any()
    ]
    return tuple(sorted(found, key=lambda a: (a.device == "cpu", a.device)))


_MARK = MARK_LINE + "#"


@dataclass(frozen=True, slots=True)
class _Around:
    """Per memory row: site code, phase and step; and lines whose graph no backward walked."""

    sites: tuple[Site, ...]
    site: Ints
    phase: Ints
    step: Ints
    unwalked: tuple[str, ...]


def _around(p: Prepared) -> _Around:
    memory = p.tables.memory
    track, ts = column(memory, "track"), column(memory, "ts")
    kind = column(p.host, "kind")
    op = innermost(p, kind == Kind.CPU_OP, track, ts)
    python = innermost(p, kind == Kind.PYTHON, track, ts)
    marks = _line_marks(p)
    mark = innermost(p, marks, track, ts)
    part = innermost(p, kind != Kind.PYTHON, track, ts)
    lines, whole, module = user_lines(p), stacks(p), modules(p)
    use = np.where((op >= 0) & (_taken(lines.codes, op) > 0), op, python)
    phase = _taken(column(p.host, "phase"), part, PHASES.index(Phase.OTHER))
    names, told = _taken(column(p.host, "name"), op), _taken(column(p.host, "name"), mark)
    parts = [_taken(t.codes, use) for t in (lines, whole, module)]
    _, first, site = np.unique(
        combine(*parts, names, phase, told), return_index=True, return_inverse=True
    )
    sites = []
    for i in first.tolist():
        marked = p.tables.text(int(told[i])).partition("#")[2]
        sites.append(Site(
            line=marked.partition(";")[0] or lines.texts[parts[0][i]],
            operator=p.tables.text(int(names[i])),
            module=module.texts[parts[2][i]],
            stack=marked or whole.texts[parts[1][i]],
            phase=PHASES[int(phase[i])].value,
        ))  # fmt: skip
    return _Around(tuple(sites), site.reshape(-1), phase, _step(p, ts), _unwalked(p, marks))


#: Nodes of a graph at one line from which it is a graph and not a detail.
_NODES = 3
#: Of a line that backward walks, all numbers but a few are seen again.
_WALKED = 0.1


def _unwalked(p: Prepared, marks: Bools) -> tuple[str, ...]:
    """Lines whose forward operators made nodes of a graph that no backward pass ever ran.

    Autograd numbers its nodes: while gradients are on, an operator carries the number that the next
    node gets, so that the numbers of a line rise only where nodes are made. A backward function
    carries the number of its node.
    """
    if not p.host.height:
        return ()
    seq = column(p.host, "seq")
    mark = nearest(marks, column(p.host, "parent"))
    phase, lines = column(p.host, "phase"), column(p.host, "name")
    walked = np.unique(seq[(phase == PHASES.index(Phase.BACKWARD)) & (seq >= 0)])
    forward = (phase == PHASES.index(Phase.FORWARD)) & (seq >= 0) & (mark >= 0)
    pairs = np.unique(np.stack([lines[mark[forward]], seq[forward]]), axis=1)
    found = []
    for code in np.unique(pairs[0]).tolist():
        numbers = pairs[1][pairs[0] == code]
        if len(numbers) > _NODES and np.isin(numbers, walked).mean() < _WALKED:
            found.append(p.tables.text(code).partition("#")[2].partition(";")[0])
    return tuple(sorted(set(found)))


def _line_marks(p: Prepared) -> Bools:
    found: Bools = per_name(p, column(p.host, "name"), lambda name: name.startswith(_MARK))
    return found.astype(bool)


def _taken(values: Ints, rows: Ints, default: int = 0) -> Ints:
    """``values[rows]``, and a default where the row is -1."""
    if not len(values):
        return np.full(len(rows), default)
    return np.where(rows >= 0, values[np.maximum(rows, 0)], default)


def innermost(p: Prepared, wanted: Bools, track: Ints, ts: Ints) -> Ints:
    """The innermost wanted host row that was open on a track at a time, -1 if none was."""
    rows = np.flatnonzero(wanted)
    none = np.full(len(ts), -1)
    if not len(rows):
        return none
    tracks, starts, ends = (column(p.host, c)[rows] for c in ("track", "ts", "end"))
    low, high = np.searchsorted(tracks, track), np.searchsorted(tracks, track, side="right")
    # Starts rise within a track: rank (track, ts) pairs together, then search once.
    span = max(int(starts.max()), int(ts.max())) - min(int(starts.min()), int(ts.min())) + 1
    base = min(int(starts.min()), int(ts.min()))
    place = np.searchsorted(tracks * span + (starts - base), track * span + (ts - base),
                            side="right") - 1  # fmt: skip
    place = np.where((place >= low) & (place < high), place, -1)
    up = _enclosing(tracks, starts, ends)
    found = place
    while True:
        closed = (found >= 0) & (ends[np.maximum(found, 0)] < ts)
        if not closed.any():
            return np.where(found >= 0, rows[np.maximum(found, 0)], none)
        found = np.where(closed, up[np.maximum(found, 0)], found)


def _enclosing(tracks: Ints, starts: Ints, ends: Ints) -> Ints:
    """Per row of a sorted selection: the row of it that encloses it, -1 if none."""
    found = np.full(len(tracks), -1)
    stack: list[int] = []
    t, s, e = tracks.tolist(), starts.tolist(), ends.tolist()
    for i in range(len(t)):
        while stack and (t[stack[-1]] != t[i] or e[stack[-1]] < s[i]):
            stack.pop()
        if stack:
            found[i] = stack[-1]
        stack.append(i)
    return found


def _step(p: Prepared, ts: Ints) -> Ints:
    """The step that each time lies in, -1 between and without marks."""
    if p.source == "window":
        return np.full(len(ts), -1)
    starts = np.array([s.start_ns for s in p.steps])
    ends = np.array([s.end_ns for s in p.steps])
    at = np.searchsorted(starts, ts, side="right") - 1
    return np.where((at >= 0) & (ts < ends[np.maximum(at, 0)]), at, -1)


def _one(p: Prepared, device: str, rows: pl.DataFrame, around: _Around) -> Allocations:
    bytes_, addr = column(rows, "bytes"), rows["addr"].to_numpy()
    place = column(rows, "row")
    start, end = lifetimes(addr, bytes_ > 0)
    known = np.where(start >= 0, start, end)
    size = np.abs(bytes_[known])
    made = start >= 0
    site = np.where(made, around.site[place][known], -1)
    phase = np.where(made, around.phase[place][known], PHASES.index(Phase.OTHER))
    ts = column(rows, "ts")
    step = around.step[place]
    ends = _ends(p, ts)
    total = column(rows, "allocated")
    first = int(total[0] - bytes_[0]) if len(total) and total[0] >= 0 else 0
    base = max(0, first - int(size[~made].sum()))
    return Allocations(
        device, size, start, end, site, around.sites, phase, len(ts), ts - ts[0],
        _carried(around.phase[place], bytes_ > 0), step, ends, base, around.unwalked,
    )  # fmt: skip


def _carried(phase: Ints, comes: Bools) -> Ints:
    """Most frees happen outside of any operator: they belong to the part of the step before."""
    other = PHASES.index(Phase.OTHER)
    told = comes | (phase != other)
    last = np.maximum.accumulate(np.where(told, np.arange(len(phase)), -1))
    return np.where(last >= 0, phase[np.maximum(last, 0)], other)


def _ends(p: Prepared, ts: Ints) -> Ints:
    """The last row before the end of each marked step; none where a step had no row."""
    if p.source == "window":
        return np.zeros(0, np.int64)
    last = np.searchsorted(ts, [s.end_ns for s in p.steps]) - 1
    return last[last >= 0]
