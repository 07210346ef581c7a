"""Everything the analyses share, computed once: nesting, phases, steps, launches of device rows.

``prepare`` turns the tables of a trace into two frames, host and device, whose extra columns are
row numbers into each other, so that an analysis is a few joins and sums.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from timesink.analyses import notes as say
from timesink.analyses import phases
from timesink.analyses.classify import (
    COMMUNICATION,
    COMMUNICATION_NAMES,
    COMMUNICATION_PARENTS,
    COMPUTE,
    COPY,
    UNCLASSIFIED,
    Names,
    graph_rows,
    launch_rows,
)
from timesink.analyses.link import first_of
from timesink.analyses.nest import Tree, nest
from timesink.analyses.steps import (
    COMPILE_NAMES,
    Marks,
    containing,
    empty_steps,
    find_marks,
    make_steps,
    step_window,
)
from timesink.model.owners import Phase
from timesink.model.steps import Step, StepSource
from timesink.model.trace import QualityNote, TraceInfo
from timesink.store.schema import DEVICE_KINDS, HOST_KINDS, Kind, Tables

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Codes = npt.NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class Prepared:
    """A trace ready for analysis. Row numbers are -1 where there is no such row.

    ``host``: rows of ``HOST_KINDS`` sorted by (track, ts, -dur, ord); EVENTS columns plus

    - ``end`` clipped to the parent; ``self_ns`` without children (>= 0; sums to the wall of roots)
    - ``parent`` the enclosing row that is no Python frame; for Python frames the enclosing frame
    - ``depth`` number of ancestors
    - ``py`` the innermost enclosing Python frame
    - ``op`` the innermost CPU_OP around it, itself if it is one
    - ``phase`` index into ``list(Phase)``
    - ``step`` index into ``steps``, by its start

    ``kind`` there differs from EVENTS in that torch's own ranges are always USER_ANNOTATION.

    ``device``: rows of ``DEVICE_KINDS`` sorted by (device, ts, -dur, ord); EVENTS columns plus

    - ``end``
    - ``launch`` host row of the runtime or driver call that launched it, by correlation
    - ``op`` host row of the innermost CPU_OP around the launch, else the one with its External id
    - ``step`` the step that launched it; without a launch, the step it started in
    - ``klass`` 0 compute, 1 communication, 2 copy or memset, 3 unclassified
    - ``graph`` whether its launch is a graph launch
    """

    tables: Tables
    info: TraceInfo
    host: pl.DataFrame
    device: pl.DataFrame
    steps: tuple[Step, ...]
    source: StepSource
    notes: tuple[QualityNote, ...]
    main_track: int = -1  #: the thread that runs the training loop


def prepare(tables: Tables, info: TraceInfo) -> Prepared:
    """Prepare one trace for all analyses. Never fails for want of rows of any kind."""
    host = _sorted_by(tables.events, HOST_KINDS, "track")
    device, timeless = _device_rows(tables.events, host)
    names = Names(tables.strings, host["name"])
    host = host.with_columns(kind=phases.kinds(host["kind"].to_numpy(), names))
    marks = find_marks(_ranges(host, tables.strings), step_window(host, device))
    host, clipped = _with_nesting(host, names, marks)
    launches = _launches(host, names)
    device = _with_launches(device, host, launches, names, marks, tables.strings)
    compiled = host["step"].to_numpy()[names.match(COMPILE_NAMES)]
    empty = empty_steps(marks, host, device)
    steps = make_steps(
        marks,
        empty,
        compiled,
        host["step"].to_numpy()[launches],
        device["step"].to_numpy(),
        device["dur"].to_numpy(),
        device_known=device.height > 0 or not launches.any(),
    )
    facts = say.Facts(tables, host, device, launches, marks, empty, clipped, timeless)
    main = marks.track if marks.track >= 0 else _main_track(host, names)
    return Prepared(tables, info, host, device, steps, marks.source, say.notes(facts), main)


def _main_track(host: pl.DataFrame, names: Names) -> int:
    """Without step marks: the thread with most of torch's own ranges, else most operators that
    are not backward functions, else most rows; -1 without host rows."""
    if not host.height:
        return -1
    track = host["track"].to_numpy()
    kind, phase = host["kind"].to_numpy(), host["phase"].to_numpy()
    ranges = names.match(phases.RANGE_NAMES) & (kind == Kind.USER_ANNOTATION)
    forward = (kind == Kind.CPU_OP) & (phase != phases.PHASES.index(Phase.BACKWARD))
    for rows in (ranges, forward, kind == Kind.CPU_OP):
        if rows.any():
            return int(np.argmax(np.bincount(track[rows])))
    return int(np.argmax(np.bincount(track)))


def _sorted_by(events: pl.DataFrame, kinds: tuple[Kind, ...], column: str) -> pl.DataFrame:
    """The rows of some kinds, grouped by a column, in the order of the table within."""
    table = np.zeros(256, np.bool_)
    table[[int(k) for k in kinds]] = True
    rows = np.flatnonzero(table[events["kind"].to_numpy()])
    key = events[column].to_numpy()[rows]
    if len(key) and int(key.min()) >= -1 and int(key.max()) < 2**16 - 1:
        key = (key + 1).astype(np.uint16)  # numpy sorts 16-bit keys in linear time
    return events[rows[np.argsort(key, kind="stable")]]


def _device_rows(events: pl.DataFrame, host: pl.DataFrame) -> tuple[pl.DataFrame, int]:
    """Device rows, and how many were left out because they carry no time (``ts`` 0 though
    everything else is later, or no length either)."""
    device = _sorted_by(events, DEVICE_KINDS, "device").with_columns(
        end=pl.col("ts") + pl.col("dur")
    )
    others = host if host.height else device.filter(pl.col("ts") != 0)
    far = others.height > 0 and int(others["ts"].to_numpy().min()) > 3_600 * 10**9
    timeless = (pl.col("ts") == 0) & (pl.lit(far) | (pl.col("dur") == 0))
    kept = device.filter(~timeless)
    return kept, device.height - kept.height


def _ranges(host: pl.DataFrame, strings: pl.Series) -> pl.DataFrame:
    rows = host.select("name", "ts", "dur", "track", "kind")
    rows = rows.filter(pl.col("kind") == int(Kind.USER_ANNOTATION))
    return rows.with_columns(text=strings.gather(rows["name"]))


def _with_nesting(host: pl.DataFrame, names: Names, marks: Marks) -> tuple[pl.DataFrame, int]:
    """Host rows with all their columns, and how many rows had to be clipped."""
    kind = host["kind"].to_numpy()
    ts = host["ts"].to_numpy()
    track = host["track"].to_numpy().astype(np.int64)
    end = ts + host["dur"].to_numpy()
    python = kind == Kind.PYTHON
    own = np.zeros(host.height, np.int64)
    parent, py, around, depth = (np.full(host.height, -1, np.int64) for _ in range(4))
    clipped = 0
    edges = np.flatnonzero(np.diff(track, prepend=-2, append=-2))
    for low, high in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        for mask, inside in ((~python[low:high], around), (python[low:high], py)):
            rows = low + np.flatnonzero(mask)
            tree = nest(ts[rows], end[rows])
            clipped += tree.clipped
            end[rows], own[rows], depth[rows] = tree.end, tree.self_ns, tree.depth
            parent[rows] = _numbers(rows, tree.parent)
            inside[rows] = parent[rows]
            inside[low:high][~mask] = _numbers(rows, _enclosing(tree, mask, ts[low:high]))
    op = np.where(kind == Kind.CPU_OP, np.arange(host.height), -1)
    phase = _hand_down(names, kind, python, parent, depth, around, op, track)
    return host.with_columns(
        end=end, self_ns=own, parent=parent, depth=depth, py=py, op=op,
        phase=phase, step=containing(marks, ts),
    ), clipped  # fmt: skip


def _numbers(rows: Ints, places: Ints) -> Ints:
    """Places within ``rows`` as row numbers of the frame."""
    if not len(rows):
        return np.full(len(places), -1, np.int64)
    found: Ints = np.where(places >= 0, rows[places], -1)
    return found


def _enclosing(tree: Tree, mask: Bools, ts: Ints) -> Ints:
    """For the thread's rows that are not in the tree, the tree's row around their start."""
    before = np.cumsum(mask)[~mask].astype(np.int64)
    return tree.enclosing(before, ts[~mask])


def _hand_down(
    names: Names, kind: Codes, python: Bools, parent: Ints, depth: Ints, around: Ints,
    op: Ints, track: Ints,
) -> Codes:  # fmt: skip
    """Fill ``op`` in place and return the phase of every row."""
    phase = phases.own_phase(kind, names)
    is_backward = phase == 1 + phases.PHASES.index(Phase.BACKWARD)
    is_op: Bools = op >= 0
    is_range = names.match(phases.RANGE_NAMES) & (kind == Kind.USER_ANNOTATION)
    engine = phases.autograd_tracks(track, parent, is_op, is_backward, is_range)
    rows = np.flatnonzero(~python)
    above = np.full(len(kind) + 1, -1, np.int64)
    above[rows] = np.arange(len(rows))
    some_op, some_phase = op[rows], phase[rows]
    phases.hand_down(above[parent[rows]], depth[rows], some_op, some_phase)
    op[rows], phase[rows] = some_op, some_phase
    frames = np.flatnonzero(python & (around >= 0))
    op[frames], phase[frames] = op[around[frames]], phase[around[frames]]
    on_engine = np.zeros(int(track.max(initial=0)) + 1, np.bool_)
    on_engine[list(engine)] = True
    return phases.final_phase(phase, op, on_engine[track])


def _launches(host: pl.DataFrame, names: Names) -> Bools:
    """Host rows that should lead to device rows."""
    kind = host["kind"].to_numpy()
    found: Bools = launch_rows(names) & ((kind == Kind.RUNTIME) | (kind == Kind.DRIVER))
    return found


def _with_launches(
    device: pl.DataFrame, host: pl.DataFrame, launches: Bools, names: Names, marks: Marks,
    strings: pl.Series,
) -> pl.DataFrame:  # fmt: skip
    """Device rows with all their columns."""
    kind = host["kind"].to_numpy()
    op, host_corr = host["op"].to_numpy(), host["corr"].to_numpy()
    calls = np.flatnonzero((kind == Kind.RUNTIME) | (kind == Kind.DRIVER))
    # a call that is a launch by name comes before any other that carries the same correlation
    calls = calls[np.argsort(~launches[calls], kind="stable")]
    launch = first_of(host_corr[calls], calls, device["corr"].to_numpy())
    by_launch = _at(op, launch)
    ops = np.flatnonzero(kind == Kind.CPU_OP)
    by_id = first_of(host["ext"].to_numpy()[ops], ops, device["ext"].to_numpy())
    owner = np.where(by_launch >= 0, by_launch, by_id)
    collective = names.match(COMMUNICATION_PARENTS)
    klass = _classes(device, strings, _at_or(collective, owner, False))
    klass[_under(collective, launch, host["parent"].to_numpy()) & (klass != COPY)] = COMMUNICATION
    started = containing(marks, device["ts"].to_numpy())
    step = np.where(launch >= 0, _at(host["step"].to_numpy(), launch), started)
    graph = _at_or(graph_rows(names), launch, False)
    return device.with_columns(launch=launch, op=owner, step=step, klass=klass, graph=graph)


def _classes(device: pl.DataFrame, strings: pl.Series, collective: Bools) -> Codes:
    names = Names(strings, device["name"])
    kernel = device["kind"].to_numpy() == Kind.KERNEL
    klass = np.full(device.height, COMPUTE, np.uint8)
    klass[names.match(r"(?i)^\s*$|^(kernel|unknown|n/?a)$")] = UNCLASSIFIED
    klass[names.match(COMMUNICATION_NAMES) | collective] = COMMUNICATION
    klass[~kernel] = COPY
    return klass


def _under(marked: Bools, rows: Ints, parent: Ints) -> Bools:
    """Whether a row or one of its ancestors is marked."""
    if not marked.any():
        return np.zeros(len(rows), np.bool_)
    found = np.zeros(len(rows), np.bool_)
    at = rows
    while (at >= 0).any():
        found |= _at_or(marked, at, False)
        at = _at(parent, at)
    return found


def _at(values: Ints, rows: Ints) -> Ints:
    """Values at row numbers, -1 at -1."""
    found: Ints = np.append(values, -1)[rows]
    return found


def _at_or(values: Bools, rows: Ints, default: bool) -> Bools:
    found: Bools = np.append(values, default)[rows]
    return found
