"""A run of trace events (JSON text) to columns: typed decode, then one pass per column.

No polars here, so that a worker process starts fast.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from typing import Any

import msgspec
import numpy as np

from timesink.model.trace import QualityNote
from timesink.store.fields import (
    NO_ARGS,
    NO_RAW,
    Args,
    Array,
    Event,
    ExactEvent,
    NeedsText,
    integers,
    nanoseconds,
    times,
)

_fast = msgspec.json.Decoder(list[Event])
_exact = msgspec.json.Decoder(list[ExactEvent])
_one = msgspec.json.Decoder(Event)
_loose = msgspec.json.Decoder()


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


class Interner(dict[Any, int]):
    """Texts to small codes; 0 is the empty string. A known text costs one look-up in C."""

    def __init__(self) -> None:
        super().__init__({"": 0})

    def __missing__(self, key: Any) -> int:
        code = self[key] = len(self)
        return code

    def column(self, values: list[Any]) -> Array:
        """The codes of a list of texts (anything that is not text counts as its ``str``)."""
        try:
            return np.fromiter(map(self.__getitem__, values), np.uint32, len(values))
        except TypeError:  # unhashable: a name that is a list, say
            return np.array([self[_text(v)] for v in values], np.uint32)

    def json_column(self, values: list[msgspec.Raw]) -> Array:
        """The codes of raw JSON values; equal bytes are the same text and are looked at once."""
        known = _JsonCodes(self)
        codes = [0 if v is NO_RAW else known[bytes(v)] for v in values]
        return np.array(codes, np.uint32)

    def strings(self) -> list[str]:
        """All texts in the order of their codes."""
        return [_text(v) for v in self]


class _JsonCodes(dict[bytes, int]):
    def __init__(self, texts: Interner) -> None:
        super().__init__({b"": 0})
        self._texts = texts

    def __missing__(self, raw: bytes) -> int:
        value = _loose.decode(raw)
        text = "" if value is None else msgspec.json.encode(value).decode()
        code = self[raw] = self._texts[text]
        return code


class Tracks(dict[Any, int]):
    """(pid, tid) pairs, as spelt, to small codes."""

    def __missing__(self, key: Any) -> int:
        code = self[key] = len(self)
        return code

    def column(self, events: list[Any]) -> Array:
        """The code of every event's thread or stream."""
        try:
            return np.array([self[e.pid, e.tid] for e in events], np.int32)
        except TypeError:
            return np.array([self[_text(e.pid), _text(e.tid)] for e in events], np.int32)


def decode(chunk: bytes, first_ord: int = 0) -> Columns:
    """Columns of a chunk: comma-separated JSON objects without the brackets of their list.

    Raises ``msgspec.DecodeError`` when the chunk is not that; see ``repair.salvage``.
    """
    text = b"[" + chunk + b"]"
    try:
        events: list[Any] = _fast.decode(text)
    except msgspec.ValidationError:
        events = _tolerant(text)
    try:
        out = _columns(events, first_ord)
    except NeedsText:
        with contextlib.suppress(msgspec.ValidationError):
            events = list(_exact.decode(text))
        out = _columns(events, first_ord, last=True)
    if "C" in out.phases:
        _counters(_loose.decode(text), out)
    return out


def _counters(values: list[Any], out: Columns) -> None:
    """ph C rows have free-form args: decoded once more, as they are rare."""
    intern, tracks = Interner(), Tracks()
    intern.update({text: i for i, text in enumerate(out.strings)})
    tracks.update({pair: i for i, pair in enumerate(out.tracks)})
    rows = []
    for value in values:
        if not isinstance(value, dict) or value.get("ph") != "C":
            continue
        ts, args = nanoseconds(value.get("ts")), value.get("args")
        if ts is None or not isinstance(args, dict):
            continue
        pair = (_text(value.get("pid")), _text(value.get("tid")))
        track = tracks[pair]
        for series, number in args.items():
            if isinstance(number, (int, float)):
                rows.append((ts, _text(value.get("name")), series, track, float(number)))
    ts_, names, series_, track_, numbers = zip(*rows, strict=True) if rows else ((),) * 5
    out.tables["counters"] = {
        "ts": np.array(ts_, np.int64),
        "name": intern.column(list(names)),
        "series": intern.column(list(series_)),
        "track": np.array(track_, np.int32),
        "value": np.array(numbers, np.float64),
    }
    out.strings, out.tracks = intern.strings(), list(tracks)


def _tolerant(text: bytes) -> list[Any]:
    """Valid JSON of unexpected shape: what is not an object with an args object gets none."""
    events = []
    for value in _loose.decode(text):
        if not isinstance(value, dict):
            events.append(Event())
            continue
        args = value.get("args")
        known = msgspec.convert(args, Args, strict=False) if _plain_args(args) else NO_ARGS
        parts = {k: value.get(k) for k in ("ph", "cat", "name", "pid", "tid", "ts", "dur", "id")}
        events.append(Event(**parts, args=known))
    return events


def _plain_args(args: Any) -> bool:
    if not isinstance(args, dict):
        return False
    args.pop("Input Dims", None)
    args.pop("Input type", None)
    return True


@dataclass(frozen=True, slots=True)
class _Job:
    """What the columns of one chunk share. ``last``: times are text already, if they had to be."""

    out: Columns
    intern: Interner
    tracks: Tracks
    last: bool


def _columns(events: list[Any], first: int, *, last: bool = False) -> Columns:
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
    out.tracks = [(_text(p), _text(t)) for p, t in job.tracks]
    return out


def _text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else str(value)


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
    args = [e.args for e in events]
    return {
        "name": job.intern.column([e.name for e in events]),
        "cat": job.intern.column([e.cat for e in events]),
        "track": job.tracks.column(events),
        "device": integers([a.device for a in args]),
        "stream": integers([a.stream for a in args]),
        "corr": integers([a.corr for a in args]),
        "ext": _external(args),
        "bytes": integers([a.bytes for a in args]),
        "seq": integers([a.seq for a in args]),
        "shape": job.intern.json_column([a.dims for a in args]),
        "dtype": job.intern.json_column([a.types for a in args]),
        "stack": job.intern.column([a.stack for a in args]),
        "module": job.intern.column([a.module for a in args]),
        "py_id": integers([a.py_id for a in args]),
        "py_parent": integers([a.py_parent for a in args]),
    }


def _external(args: list[Args]) -> Array:
    """External id; Kineto of 2021 spelt it in lower case on runtime and device rows."""
    ids = integers([a.ext for a in args])
    old = integers([a.old_ext for a in args])
    return np.where(ids < 0, old, ids)


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
            job.out.metadata.append((_text(e.pid), _text(e.tid), e.name, _text(value)))


_PHASES = {
    "X": _complete, "B": _halves, "E": _halves, "i": _instants, "I": _instants,
    "s": _flows, "t": _flows, "f": _flows, "M": _metadata,
}  # fmt: skip
