"""Decoded events to columns: one pass per column, by phase and category."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from timesink.model.trace import QualityNote
from timesink.store.fields import Args, Array, details, integers, times
from timesink.store.intern import Interner, Tracks, text_of


@dataclass
class Columns:
    """What one chunk holds, as arrays with codes local to the chunk.

    ``tables``: "events", "memory", "flows", "counters", "open" (ph B/E rows still to be joined),
    each a dict of equally long arrays. ``strings``: the local intern table, 0 is "".
    ``tracks``: (pid, tid) as spelt. ``metadata``: (pid, tid, name, args) of ph M rows.
    ``counts``: oddities by code; ``elements``: array elements in the chunk; ``notes``: damage.
    ``ended``: the list of events was closed in this chunk, ``rest`` is what follows it.
    """

    tables: dict[str, dict[str, Array]] = field(default_factory=dict)
    strings: list[str] = field(default_factory=list)
    tracks: list[tuple[str, str]] = field(default_factory=list)
    metadata: list[tuple[str, str, str, str]] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    phases: dict[str, int] = field(default_factory=dict)
    elements: int = 0
    notes: list[QualityNote] = field(default_factory=list)
    ended: bool = False
    rest: bytes = b""


@dataclass(frozen=True, slots=True)
class _Job:
    """What the columns of one chunk share. ``last``: times are text already, if they had to be."""

    out: Columns
    intern: Interner
    tracks: Tracks
    last: bool


def columns_of(events: list[Any], first: int, *, last: bool = False) -> Columns:
    """The columns of decoded events. Raises ``NeedsText`` unless it is the ``last`` try."""
    out = Columns(elements=len(events))
    job = _Job(out, Interner(), Tracks(), last)
    phases = Interner()
    codes = phases.column([e.ph for e in events])
    for code, phase in enumerate(phases.strings()):
        rows = np.flatnonzero(codes == code)
        if not len(rows):
            continue
        out.phases[phase] = len(rows)
        some = events if len(rows) == len(events) else [events[i] for i in rows.tolist()]
        _PHASES.get(phase, _ignore)(some, rows + first, job)
    out.strings = job.intern.strings()
    out.tracks = list(job.tracks.pairs)
    return out


def _ignore(events: list[Any], ords: Array, job: _Job) -> None:
    """A phase no analysis uses (async spans and the like); counted in ``phases``."""


def _complete(events: list[Any], ords: Array, job: _Job) -> None:
    """ph X rows."""
    ts, ts_valid = times([e.ts for e in events], last=job.last)
    dur, dur_valid = times([e.dur for e in events], last=job.last)
    good = ts_valid & dur_valid & (dur >= 0)
    if not good.all():
        job.out.counts["unfinished"] = int((~good).sum())
        keep = np.flatnonzero(good)
        events = [events[i] for i in keep]
        ords, ts, dur = ords[keep], ts[keep], dur[keep]
    job.out.tables["events"] = {"ord": ords, "ts": ts, "dur": dur, **_fields(events, job)}


def _fields(events: list[Any], job: _Job) -> dict[str, Array]:
    cats = job.intern.column([e.cat for e in events])
    out = {
        "name": job.intern.column([e.name for e in events]),
        "cat": cats,
        "track": job.tracks.column(events),
    }
    out |= {k: np.full(len(events), -1, np.int64) for k in _INTEGERS}
    out |= {k: np.zeros(len(events), np.uint32) for k in _CODES}
    texts = list(job.intern)
    for cat in np.flatnonzero(np.bincount(cats)).tolist():
        rows = np.flatnonzero(cats == cat)
        some = events if len(rows) == len(events) else [events[i] for i in rows.tolist()]
        args = [e.args for e in some]
        for name in _WANTED.get(texts[cat], _ALL):
            out[name][rows] = _COLUMN[name](args, job)
    return out


def _external(args: list[Args], job: _Job) -> Array:
    """External id; Kineto of 2021 spelt it in lower case on runtime and device rows."""
    ids = integers([a.ext for a in args])
    old = integers([a.old_ext for a in args])
    return np.where(ids < 0, old, ids)


_COLUMN: dict[str, Callable[[list[Args], _Job], Array]] = {
    "device": lambda args, job: integers([a.device for a in args]),
    "stream": lambda args, job: integers([a.stream for a in args]),
    "corr": lambda args, job: integers([a.corr for a in args]),
    "ext": _external,
    "bytes": lambda args, job: integers([a.bytes for a in args]),
    "seq": lambda args, job: integers([a.seq for a in args]),
    "py_id": lambda args, job: integers([a.py_id for a in args]),
    "py_parent": lambda args, job: integers([a.py_parent for a in args]),
    "shape": lambda args, job: job.intern.json_column([a.dims for a in args]),
    "dtype": lambda args, job: job.intern.json_column([a.types for a in args]),
    "stack": lambda args, job: job.intern.column([a.stack for a in args]),
    "module": lambda args, job: job.intern.column([a.module for a in args]),
    "details": lambda args, job: job.intern.column([details(a) for a in args]),
}
_ALL = tuple(_COLUMN)
_CODES = ("shape", "dtype", "stack", "module", "details")
_INTEGERS = tuple(name for name in _ALL if name not in _CODES)
_HOST = ("ext", "seq", *_CODES)  # details: of record_param_comms
_DEVICE = ("device", "stream", "corr", "ext", "bytes")
#: Half of the columns are of no use to half of the categories; a category that is not here
#: (another vendor's, a future one) gets all of them.
_WANTED = {
    "cpu_op": _HOST, "user_annotation": _HOST, "Operator": _HOST,
    "cuda_runtime": ("corr", "ext", "bytes"), "cuda_driver": ("corr", "ext", "bytes"),
    "Runtime": ("corr", "ext", "bytes"), "python_function": ("py_id", "py_parent"),
    "kernel": (*_DEVICE, "details"), "gpu_memcpy": _DEVICE, "gpu_memset": _DEVICE,
    "Kernel": _DEVICE, "Memcpy": _DEVICE, "Memset": _DEVICE,
}  # fmt: skip


def _halves(events: list[Any], ords: Array, job: _Job) -> None:
    """ph B or E rows: joined to complete rows once all chunks are read."""
    ts, valid = times([e.ts for e in events], last=job.last)
    begins = np.full(len(events), bool(events and events[0].ph == "B"))
    columns = {"ord": ords, "ts": ts, "dur": np.zeros(len(ts), np.int64), "begin": begins}
    columns |= _fields(events, job)
    keep = np.flatnonzero(valid)
    part = {k: v[keep] for k, v in columns.items()}
    known = job.out.tables.get("open")
    job.out.tables["open"] = (
        {k: np.concatenate([known[k], v]) for k, v in part.items()} if known else part
    )


def _instants(events: list[Any], ords: Array, job: _Job) -> None:
    """ph i rows: only the allocator's are of use."""
    rows = [i for i, e in enumerate(events) if e.name == "[memory]"]
    if not rows:
        return
    events = [events[i] for i in rows]
    ts, valid = times([e.ts for e in events], last=job.last)
    args = [e.args for e in events]
    columns = {
        "ord": ords[np.array(rows)],
        "ts": ts,
        "track": job.tracks.column(events),
        "addr": integers([a.addr for a in args]).view(np.uint64),
        "bytes": integers([a.memory_bytes for a in args], 0),
        "device_type": integers([a.device_type for a in args]),
        "device": integers([a.device_id for a in args]),
        "allocated": integers([a.allocated for a in args]),
        "reserved": integers([a.reserved for a in args]),
    }
    keep = np.flatnonzero(valid)
    job.out.tables["memory"] = {k: v[keep] for k, v in columns.items()}


def _flows(events: list[Any], ords: Array, job: _Job) -> None:
    ts, valid = times([e.ts for e in events], last=job.last)
    ids = integers([e.id for e in events])
    odd = [i for i, e in enumerate(events) if ids[i] == -1 and isinstance(e.id, str)]
    for i in odd:  # ids that are text: their code, made negative so that it meets no integer
        ids[i] = -2 - int(job.intern.column([events[i].id])[0])
    phase = {"s": 0, "t": 1, "f": 2}[events[0].ph]
    columns = {
        "ts": ts,
        "id": ids,
        "ph": np.full(len(ts), phase, np.uint8),
        "cat": job.intern.column([e.cat for e in events]),
        "track": job.tracks.column(events),
    }
    keep = np.flatnonzero(valid)
    part = {k: v[keep] for k, v in columns.items()}
    known = job.out.tables.get("flows")
    job.out.tables["flows"] = (
        {k: np.concatenate([known[k], v]) for k, v in part.items()} if known else part
    )


def _metadata(events: list[Any], ords: Array, job: _Job) -> None:
    """ph M rows: names and labels of processes and threads."""
    for e in events:
        value = e.args.labels if e.name == "process_labels" else e.args.label
        if isinstance(e.name, str) and value is not None:
            job.out.metadata.append((text_of(e.pid), text_of(e.tid), e.name, text_of(value)))


_PHASES = {
    "X": _complete, "B": _halves, "E": _halves, "i": _instants, "I": _instants,
    "s": _flows, "t": _flows, "f": _flows, "M": _metadata,
}  # fmt: skip
