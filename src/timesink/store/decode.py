"""A run of trace events (JSON text) to columns: typed decode, then one pass per column.

No polars here, so that a worker process starts fast.
"""

from __future__ import annotations

import contextlib
from typing import Any

import msgspec
import numpy as np

from timesink.store.columns import Columns, columns_of
from timesink.store.fields import NO_ARGS, Args, Event, ExactEvent, NeedsText, nanoseconds
from timesink.store.intern import Interner, Tracks, text_of

_fast = msgspec.json.Decoder(list[Event])
_exact = msgspec.json.Decoder(list[ExactEvent])
_loose = msgspec.json.Decoder()


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
        out = columns_of(events, first_ord)
    except NeedsText:
        with contextlib.suppress(msgspec.ValidationError):
            events = list(_exact.decode(text))
        out = columns_of(events, first_ord, last=True)
    if "C" in out.phases:
        _counters(_loose.decode(text), out)
    return out


def _counters(values: list[Any], out: Columns) -> None:
    """ph C rows have free-form args: decoded once more, as they are rare."""
    intern, tracks = Interner(), Tracks()
    intern.update({text: i for i, text in enumerate(out.strings)})
    tracks.pairs.update({pair: i for i, pair in enumerate(out.tracks)})
    rows = []
    for value in values:
        if not isinstance(value, dict) or value.get("ph") != "C":
            continue
        ts, args = nanoseconds(value.get("ts")), value.get("args")
        if ts is None or not isinstance(args, dict):
            continue
        track = tracks.code(value.get("pid"), value.get("tid"))
        for series, number in args.items():
            if isinstance(number, (int, float)):
                rows.append((ts, text_of(value.get("name")), series, track, float(number)))
    ts_, names, series_, track_, numbers = zip(*rows, strict=True) if rows else ((),) * 5
    out.tables["counters"] = {
        "ts": np.array(ts_, np.int64),
        "name": intern.column(list(names)),
        "series": intern.column(list(series_)),
        "track": np.array(track_, np.int32),
        "value": np.array(numbers, np.float64),
    }
    out.strings, out.tracks = intern.strings(), list(tracks.pairs)


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
