"""What the host did and when, as sets of intervals: the material of breakdown and idle causes.

Only threads that work for the training loop count: the one with the step marks, those that run
backward functions and those that launch device work, all of its process. What a pin-memory or
worker thread does delays nobody by itself.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from timesink.analyses import phases
from timesink.analyses.classify import Names, allocation_rows, launch_rows, sync_rows
from timesink.analyses.intervals import EMPTY, Intervals, subtract, union
from timesink.analyses.prepare import Prepared
from timesink.model.owners import Phase
from timesink.store.schema import Kind

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

#: Python frames of ``torch.save``/``torch.load``, where stacks were recorded.
SERIALIZATION = r"torch[/\\]serialization\.py\(\d+\): (save|load)$"
#: Collectives that run on the host itself.
HOST_COLLECTIVES = r"^(gloo|mpi|ucc):"
#: Copies that end in pageable host memory.
PAGEABLE_COPIES = r"DtoH.*-> Pageable"


@dataclass(frozen=True, slots=True)
class HostRows:
    """Masks over ``Prepared.host``, restricted to the threads that work for the loop."""

    data: Bools
    sync: Bools
    runtime: Bools  #: runtime and driver calls that are not ``sync``
    optimizer: Bools
    forward: Bools
    backward: Bools
    gc: Bools
    io: Bools
    allocation: Bools
    collective: Bools


def working_tracks(p: Prepared, launches: Bools) -> Bools:
    """Per track of the trace: does it work for the loop? ``launches`` marks the host rows that
    launch device work."""
    found = np.zeros(max(p.tables.tracks.height, 1), np.bool_)
    if not p.host.height:
        return found
    backward = p.host["phase"].to_numpy() == phases.PHASES.index(Phase.BACKWARD)
    found[p.host["track"].to_numpy()[backward | launches]] = True
    found[p.main_track] = True
    pid = p.tables.tracks["pid"]
    found &= (pid == pid[p.main_track]).to_numpy()
    return found


def host_rows(p: Prepared) -> HostRows:
    """Which host rows are what (see ``model.owners``)."""
    names = Names(p.tables.strings, p.host["name"])
    kind, phase = p.host["kind"].to_numpy(), p.host["phase"].to_numpy()
    track = p.host["track"].to_numpy()
    calls = (kind == Kind.RUNTIME) | (kind == Kind.DRIVER)
    mine = working_tracks(p, calls & launch_rows(names))[track]
    calls, ops = calls & mine, (kind == Kind.CPU_OP) & mine
    sync = calls & (sync_rows(names) | _blocking_copies(p))
    frames = (kind == Kind.PYTHON) & names.match(SERIALIZATION)
    ranges = mine & (kind != Kind.PYTHON)
    return HostRows(
        data=ranges & names.match(phases.DATA_NAMES) & (track == p.main_track),
        sync=sync,
        runtime=calls & ~sync,
        optimizer=ranges & names.match(phases.OPTIMIZER_NAMES),
        forward=ops & (phase == phases.PHASES.index(Phase.FORWARD)),
        backward=ops & (phase == phases.PHASES.index(Phase.BACKWARD)),
        gc=mine & (kind == Kind.GC),
        io=mine & (frames | (names.match(phases.CHECKPOINT_NAMES) & (kind != Kind.PYTHON))),
        allocation=calls & allocation_rows(names),
        collective=ranges & names.match(HOST_COLLECTIVES),
    )


def _blocking_copies(p: Prepared) -> Bools:
    """Host rows that copied to pageable memory: such a call returns only once the copy is done,
    whatever its name (CUDA, "API synchronization behavior"), so it is a wait for the device."""
    found = np.zeros(p.host.height + 1, np.bool_)
    pageable = Names(p.tables.strings, p.device["name"]).match(PAGEABLE_COPIES)
    found[p.device["launch"].to_numpy()[pageable]] = True
    return found[:-1]


def rows_union(p: Prepared, rows: Bools) -> Intervals:
    """The time covered by some host rows, each clipped to the row around it."""
    return union(p.host["ts"].to_numpy()[rows], p.host["end"].to_numpy()[rows])


def forward_union(p: Prepared, rows: HostRows) -> Intervals:
    """Time in forward operators, without the backward functions and checkpoints inside them.

    Old traces write a user's range around a whole iteration as an operator too, so the innermost
    decides, thread by thread.
    """
    track = p.host["track"].to_numpy()
    inner = rows.backward | rows.io
    parts = [EMPTY]
    for one in np.flatnonzero(np.bincount(track[rows.forward])):
        here = track == one
        outer = rows_union(p, rows.forward & here)
        parts.append(subtract(outer, rows_union(p, inner & here)))
    return union(np.concatenate([a for a, _ in parts]), np.concatenate([b for _, b in parts]))
