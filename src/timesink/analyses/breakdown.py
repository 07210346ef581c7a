"""The step breakdown: each nanosecond of a step's wall time has exactly one owner.

The priority is the order of :class:`timesink.model.owners.Owner`. Device owners come from unions
over all streams and devices of the loop's process: compute (rows that do not say what they are
included), communication while no compute runs, copies and memsets while neither runs. What is left
belongs to what the host does then (:mod:`timesink.analyses.hostsets`), and what nothing claims is
other Python. Ranges a row crosses are clipped, steps are not: their wall is as written.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from timesink.analyses.classify import COMMUNICATION, COPY, Names, launch_rows
from timesink.analyses.hostsets import forward_union, host_rows, rows_union
from timesink.analyses.intervals import EMPTY, Intervals, covered, subtract, union
from timesink.analyses.prepare import Prepared
from timesink.model.owners import Owner
from timesink.model.steps import Breakdown, StepBreakdown
from timesink.store.schema import Kind

Ints = npt.NDArray[np.int64]


def breakdown(p: Prepared) -> Breakdown:
    """Who owned the wall time of each step. Sums to the wall to the nanosecond, per step."""
    starts = np.array([s.start_ns for s in p.steps], np.int64)
    ends = np.array([s.end_ns for s in p.steps], np.int64)
    rest = ends - starts
    owned: dict[Owner, Ints] = {}
    taken = EMPTY
    for owner, time in _times(p):
        owned[owner] = covered(subtract(time, taken), starts, ends)
        taken = union(np.concatenate([taken[0], time[0]]), np.concatenate([taken[1], time[1]]))
        rest = rest - owned[owner]
    owned[Owner.OTHER_PYTHON] = rest
    launches = _any_launches(p)
    known = p.device.height > 0
    return Breakdown(
        steps=tuple(
            StepBreakdown(step, tuple(int(owned[o][i]) for o in Owner))
            for i, step in enumerate(p.steps)
        ),
        source=p.source,
        has_device=known or launches,
        device_known=known or not launches,
        tail_ns=_tail(p),
    )


def _times(p: Prepared) -> list[tuple[Owner, Intervals]]:
    """The time of each owner but the last, by priority, not yet exclusive."""
    compute, communication, copies = device_times(p)
    rows = host_rows(p)
    return [
        (Owner.DEVICE_COMPUTE, compute),
        (Owner.EXPOSED_COMMUNICATION, communication),
        (Owner.EXPOSED_COPIES, copies),
        (Owner.DATA_LOADING, rows_union(p, rows.data)),
        (Owner.SYNC_WAIT, rows_union(p, rows.sync)),
        (Owner.RUNTIME, rows_union(p, rows.runtime)),
        (Owner.OPTIMIZER, rows_union(p, rows.optimizer)),
        (Owner.FORWARD, forward_union(p, rows)),
        (Owner.BACKWARD, rows_union(p, rows.backward)),
        (Owner.GARBAGE_COLLECTION, rows_union(p, rows.gc)),
        (Owner.CHECKPOINT_IO, rows_union(p, rows.io)),
    ]


def device_times(p: Prepared) -> tuple[Intervals, Intervals, Intervals]:
    """Unions of compute, communication and copies over all devices of the loop's process.

    A row belongs to another process only if its launch is there.
    """
    klass = p.device["klass"].to_numpy()
    starts, ends = p.device["ts"].to_numpy(), p.device["end"].to_numpy()
    mine = np.ones(len(klass), np.bool_)
    if p.main_track >= 0:
        pid = p.tables.tracks["pid"]
        same = (pid == pid[p.main_track]).to_numpy()
        launch = p.device["launch"].to_numpy()
        track = p.host["track"].to_numpy()
        mine = (launch < 0) | same[track[launch]] if len(track) else mine

    def of(rows: npt.NDArray[np.bool_]) -> Intervals:
        return union(starts[rows & mine], ends[rows & mine])

    communication, copies = klass == COMMUNICATION, klass == COPY
    return of(~communication & ~copies), of(communication), of(copies)


def _any_launches(p: Prepared) -> bool:
    kind = p.host["kind"].to_numpy()
    calls = (kind == Kind.RUNTIME) | (kind == Kind.DRIVER)
    return bool((calls & launch_rows(Names(p.tables.strings, p.host["name"]))).any())


def _tail(p: Prepared) -> int:
    """Device time after the last step's end: launched by it or by nobody, in no step's wall."""
    if not p.steps or not p.device.height:
        return 0
    last = max(s.end_ns for s in p.steps)
    times = device_times(p)
    busy = union(np.concatenate([t[0] for t in times]), np.concatenate([t[1] for t in times]))
    far = int(busy[1][-1]) if len(busy[1]) else last
    return int(covered(busy, np.array([last]), np.array([max(far, last)]))[0])
