"""Idle gaps of a device: stretches with no row on any of its streams, each with one cause.

A gap is judged by the launch of the row that ended it. Was that launch queued long before (more
than ``QUEUED_NS`` before the row began), the device waited for itself. Otherwise the host was late,
and what it did between the start of the gap and the launch names the cause: a range that covers
most of that time (data loading, a checkpoint, a collective on the host, a collection, an
allocation), else a synchronising call that had drained the queue, else operators and launches
(launch-bound), else Python between them. Where nothing is known the cause is "unknown".
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl

from timesink.analyses.hostsets import HostRows, host_rows, rows_union
from timesink.analyses.intervals import complement, covered, union
from timesink.analyses.lines import user_lines
from timesink.analyses.prepare import Prepared
from timesink.model.owners import MARK_STEP
from timesink.model.results import IdleCause, IdleGap, IdleSummary

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

#: A row that begins within this time of its launch's return was not waiting in a queue (the same
#: bound as ``LaunchStats.queue_empty``).
QUEUED_NS = 10_000
#: Python between two operators takes less than this where nothing but eager dispatch goes on.
PAUSE_NS = 100_000
LONGEST = 20

_CAUSES = list(IdleCause)
#: Host ranges that name the cause when they cover at least half of the host's delay, in order.
_RANGES = {
    IdleCause.DATA: "data",
    IdleCause.CHECKPOINT_IO: "io",
    IdleCause.COLLECTIVE: "collective",
    IdleCause.GARBAGE_COLLECTION: "gc",
    IdleCause.ALLOCATOR: "allocation",
}


def idle(p: Prepared) -> tuple[IdleSummary, ...]:
    """All gaps of each device that has rows; causes sum to ``total_ns``, longest first."""
    if not p.device.height:
        return ()
    rows = host_rows(p)
    host, describer = _HostTimes(p, rows), _Describer(p, rows)
    parts = p.device.partition_by("device", maintain_order=True)
    return tuple(_device(p, part, host, describer) for part in parts)


class _HostTimes:
    """The host's sets of intervals, made once for all devices."""

    def __init__(self, p: Prepared, rows: HostRows) -> None:
        self.ranges = {cause: rows_union(p, getattr(rows, name)) for cause, name in _RANGES.items()}
        busy = rows.forward | rows.backward | rows.optimizer | rows.runtime | rows.sync
        self.busy = rows_union(p, busy)
        ts, end = p.host["ts"].to_numpy()[rows.sync], p.host["end"].to_numpy()[rows.sync]
        order = np.argsort(end, kind="stable")
        self.sync = (ts[order], end[order])  # calls, by return
        self.known = bool(busy.any())


def _device(
    p: Prepared, device: pl.DataFrame, host: _HostTimes, describer: _Describer
) -> IdleSummary:
    starts, ends, after = _gaps(device)
    cause, until = _judge(p, device, starts, ends, after, host)
    lengths = ends - starts
    total = np.zeros(len(_CAUSES), np.int64)
    np.add.at(total, cause, lengths)
    count = np.bincount(cause, minlength=len(_CAUSES))
    order = np.argsort(-total, kind="stable")
    longest = np.argsort(-lengths, kind="stable")[:LONGEST]
    return IdleSummary(
        device=int(device["device"][0]),
        total_ns=int(lengths.sum()),
        gaps=len(starts),
        causes=tuple((_CAUSES[i], int(total[i]), int(count[i])) for i in order if count[i]),
        longest=tuple(
            describer.gap(device, int(starts[i]), int(until[i]), int(after[i]), int(cause[i]))
            for i in longest
        ),
    )


def _gaps(device: pl.DataFrame) -> tuple[Ints, Ints, Ints]:
    """Starts and ends of the gaps, and which row of the device ended each."""
    ts, end = device["ts"].to_numpy(), device["end"].to_numpy()
    starts, ends = complement(union(ts, end), int(ts[0]), int(end.max()))
    after: Ints = np.searchsorted(ts, ends)
    return starts, ends, after


def _judge(
    p: Prepared, device: pl.DataFrame, starts: Ints, ends: Ints, after: Ints, host: _HostTimes
) -> tuple[Ints, Ints]:
    """The cause of each gap (index into the enum), and when the host's part of it ended."""
    launch = device["launch"].to_numpy()[after]
    linked = launch >= 0
    begun = np.append(p.host["ts"].to_numpy(), 0)[launch]
    returned = np.append(p.host["end"].to_numpy(), 0)[launch]
    until = np.where(linked, np.clip(begun, starts, ends), ends)
    delay = until - starts
    queued = linked & (returned + QUEUED_NS < ends) & (ends - np.maximum(returned, starts) > delay)
    fallback = np.where(linked & host.known, _index(IdleCause.OTHER_PYTHON), _UNKNOWN)
    pause = delay - covered(host.busy, starts, until)
    working = (2 * pause <= delay) | (pause < PAUSE_NS)
    choice = [queued, *_covering(host, starts, until, delay)]
    named = [IdleCause.DEVICE, *_RANGES]
    choice += [linked & _after_sync(host.sync, starts, until), linked & working]
    named += [IdleCause.SYNC, IdleCause.LAUNCH]
    cause: Ints = np.select(choice, [_index(c) for c in named], fallback).astype(np.int64)
    return cause, until


def _covering(host: _HostTimes, starts: Ints, until: Ints, delay: Ints) -> list[Bools]:
    return [
        (delay > 0) & (2 * covered(host.ranges[cause], starts, until) >= delay) for cause in _RANGES
    ]


def _after_sync(sync: tuple[Ints, Ints], starts: Ints, until: Ints) -> Bools:
    """Whether a synchronising call had drained the queue, and is what most of the gap is due to.

    It had begun before the gap (it waited for the row before it) and returned within the host's
    part of it. Without it the host would have been ahead by the time it waited: that must be at
    least half of the delay, else what came after the call is the cause.
    """
    begun, returned = sync
    if not len(begun):
        return np.zeros(len(starts), np.bool_)
    place = np.searchsorted(returned, starts)  # the first that returns at or after the gap's start
    place = np.minimum(place, len(begun) - 1)
    waited = returned[place] - begun[place]
    inside = (begun[place] < starts) & (returned[place] >= starts) & (returned[place] <= until)
    found: Bools = inside & (2 * waited >= until - starts)
    return found


def _index(cause: IdleCause) -> int:
    return _CAUSES.index(cause)


_UNKNOWN = _CAUSES.index(IdleCause.UNKNOWN)


class _Describer:
    """Makes ``IdleGap`` values: only for the few longest gaps."""

    def __init__(self, p: Prepared, rows: HostRows) -> None:
        self._p, self._rows = p, rows
        self._lines = user_lines(p)
        self._track, self._ts, self._end = (p.host[c].to_numpy() for c in ("track", "ts", "end"))

    def gap(self, device: pl.DataFrame, start: int, until: int, after: int, cause: int) -> IdleGap:
        """One gap; ``until`` ends the host's part of it, row ``after`` of the device ends it."""
        launch = int(device["launch"][after])
        before = device.filter(pl.col("end") == start)
        row = self._innermost(launch, (start + until) // 2)
        return IdleGap(
            device=int(device["device"][0]),
            start_ns=start,
            dur_ns=int(device["ts"][after]) - start,
            cause=_CAUSES[cause],
            before=self._name(before["name"][-1]) if before.height else "",
            after=self._name(device["name"][after]),
            host=self._explaining(_CAUSES[cause], start, until, launch, row),
            line=self._lines[row] or self._lines[launch],
        )

    def _name(self, code: int) -> str:
        return self._p.tables.text(code)

    def _innermost(self, launch: int, at: int) -> int:
        """The innermost host row at a time, on the thread that launched, or -1."""
        track = self._track[launch] if launch >= 0 else self._p.main_track
        low, high = np.searchsorted(self._track, [track, track + 1])
        high = low + np.searchsorted(self._ts[low:high], at, side="right")
        rows = np.flatnonzero(self._end[low:high] > at)
        return int(low + rows[-1]) if len(rows) else -1

    def _explaining(self, cause: IdleCause, start: int, until: int, launch: int, row: int) -> str:
        """The host row that explains a gap: of the cause's kind, the one with most of it."""
        if cause in (IdleCause.LAUNCH, IdleCause.DEVICE):
            op = int(self._p.host["op"][launch]) if launch >= 0 else -1
            row = op if op >= 0 else launch
        elif cause in _RANGES or cause == IdleCause.SYNC:
            mask = np.flatnonzero(getattr(self._rows, _RANGES.get(cause, "sync")))
            inside = np.minimum(self._end[mask], until) - np.maximum(self._ts[mask], start)
            row = int(mask[np.argmax(inside)])
        if row < 0:
            return ""
        name = self._name(self._p.host["name"][row])
        return "" if name.startswith(("ProfilerStep#", MARK_STEP)) else name
