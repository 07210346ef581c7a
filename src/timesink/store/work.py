"""One chunk's work: decode it, or salvage it; the same in this process and in a worker."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import msgspec
import numpy as np

from timesink.model.trace import QualityNote
from timesink.store.columns import Columns
from timesink.store.decode import decode
from timesink.store.repair import Salvaged, salvage

#: Duplicate keys are looked for at the start of a file only: a writer that makes them makes them
#: everywhere, and searching costs a tenth of the decoding.
_DUPLICATES_WITHIN = 8 << 20
_DUPLICABLE = (b'"args"', b'"dur"', b'"ts"')


def work(data: bytes, offset: int, key: bytes) -> Columns:
    """The columns of one chunk of events, whatever its state; never raises for bad bytes."""
    try:
        out = decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        saved = salvage(data, offset, key)
        data, out = b",".join(saved.events), _salvaged(saved)
    if offset < _DUPLICATES_WITHIN:
        _say_duplicates(data, out)
    return out


def _say_duplicates(data: bytes, out: Columns) -> None:
    spare = max(data.count(name) for name in _DUPLICABLE) - out.elements
    if spare > 0 and data.count(b'"ph"') <= out.elements:
        message = "events with the same key twice: the last value counts"
        out.notes.append(QualityNote("duplicate-key", message, spare))


def _salvaged(saved: Salvaged) -> Columns:
    try:
        out = decode(b",".join(saved.events))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        out = _one_by_one(saved.events)
    out.notes += saved.notes
    out.ended, out.rest = saved.ended, saved.rest
    return out


def _one_by_one(events: tuple[bytes, ...]) -> Columns:
    """Pieces that decode alone but not typed: keep those that do."""
    good = []
    for event in events:
        try:
            decode(event)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            continue
        good.append(event)
    out = decode(b",".join(good))
    lost = len(events) - len(good)
    out.notes.append(QualityNote("unreadable-event", f"{lost} events unreadable", lost, "error"))
    return out


def pack(columns: Columns) -> bytes:
    """Columns as bytes for a pipe: arrays as (dtype, raw)."""
    tables = {
        name: {k: (v.dtype.str, v.tobytes()) for k, v in table.items()}
        for name, table in columns.tables.items()
    }
    plain: dict[str, Any] = {
        "tables": tables,
        "strings": columns.strings,
        "tracks": columns.tracks,
        "metadata": columns.metadata,
        "counts": columns.counts,
        "phases": columns.phases,
        "elements": columns.elements,
        "notes": [asdict(n) for n in columns.notes],
        "ended": columns.ended,
        "rest": columns.rest,
    }
    return msgspec.msgpack.encode(plain)


def unpack(data: bytes) -> Columns:
    """The inverse of :func:`pack`."""
    plain = msgspec.msgpack.decode(data)
    plain["tables"] = {
        name: {k: np.frombuffer(raw, dtype) for k, (dtype, raw) in table.items()}
        for name, table in plain["tables"].items()
    }
    plain["notes"] = [QualityNote(**n) for n in plain["notes"]]
    plain["tracks"] = [tuple(t) for t in plain["tracks"]]
    plain["metadata"] = [tuple(m) for m in plain["metadata"]]
    return Columns(**plain)
