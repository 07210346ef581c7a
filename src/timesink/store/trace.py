"""A trace that has been read: its tables, what is known of it, and raw args on demand."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import polars as pl

from timesink.errors import UnreadableFile
from timesink.model.trace import QualityNote, TraceInfo
from timesink.store.inflate import open_stream
from timesink.store.repair import salvage
from timesink.store.schema import COUNTERS, EVENTS, FLOWS, MEMORY, Tables

_loose = msgspec.json.Decoder()
_raws = msgspec.json.Decoder(list[msgspec.Raw])
#: (first ordinal, offset, bytes) of every chunk, to find an event's text again.
Index = Sequence[tuple[int, int, int]]


class Trace:
    """One trace file. Build it with :func:`timesink.read_trace`.

    ``frames`` maps a table to its parts: frames in memory or Parquet files of the cache.
    """

    def __init__(
        self,
        info: TraceInfo,
        quality: tuple[QualityNote, ...],
        frames: dict[str, list[pl.DataFrame]] | Sequence[Path],
        tracks: pl.DataFrame,
        strings: pl.Series,
        index: Index,
        key: bytes,
    ) -> None:
        self.info = info
        self.quality = quality
        self.strings = strings
        self.tracks = tracks
        self._frames = frames
        self.index = index
        self.key = key

    def __repr__(self) -> str:
        return (
            f"<Trace {self.info.path} ({self.info.generation}, {self.info.event_count:,} events)>"
        )

    @cached_property
    def tables(self) -> Tables:
        """All tables in memory; events sorted by (ts, -dur, ord), the others by ts."""
        events = self._table("events", EVENTS).sort(
            ["ts", "dur", "ord"], descending=[False, True, False]
        )
        return Tables(
            events=events,
            memory=self._table("memory", MEMORY).sort("ts", "ord"),
            flows=self._table("flows", FLOWS).sort("ts"),
            counters=self._table("counters", COUNTERS).sort("ts"),
            tracks=self.tracks,
            strings=self.strings,
        )

    def scan_events(self) -> pl.LazyFrame:
        """The events as a lazy frame, unsorted: with ``collect(engine="streaming")`` an aggregate
        needs memory for a few parts and not for the file."""
        parts = self._parts("events")
        return pl.scan_parquet(parts) if parts else self._table("events", EVENTS).lazy()

    def _table(self, name: str, schema: dict[str, pl.DataType]) -> pl.DataFrame:
        if not isinstance(self._frames, dict):
            parts = self._parts(name)
            try:
                return pl.read_parquet(parts) if parts else pl.DataFrame(schema=schema)
            except OSError as error:
                raise UnreadableFile(
                    f"The cache of {self.info.path} was removed while it was in use.",
                    "Open the trace again.",
                ) from error
        frames = self._frames.get(name, [])
        return pl.concat(frames) if frames else pl.DataFrame(schema=schema)

    def _parts(self, name: str) -> list[Path]:
        if isinstance(self._frames, dict):
            return []
        return [p for p in self._frames if p.name.startswith(f"{name}-")]

    def raw_event(self, ordinal: int) -> dict[str, Any]:
        """One event as in the file, by its ``ord``."""
        return self._raw([ordinal]).get(ordinal, {})

    def raw_args(self, ordinals: Sequence[int]) -> dict[int, dict[str, Any]]:
        """The ``args`` of events by their ``ord``; reads again those parts of the file."""
        found = {o: e.get("args") for o, e in self._raw(ordinals).items()}
        return {o: args if isinstance(args, dict) else {} for o, args in found.items()}

    def _raw(self, ordinals: Iterable[int]) -> dict[int, dict[str, Any]]:
        wanted = np.unique(np.fromiter(ordinals, np.int64))
        firsts = np.array([first for first, _, _ in self.index], np.int64)
        chunks = np.searchsorted(firsts, wanted, side="right") - 1
        out: dict[int, dict[str, Any]] = {}
        stream = open_stream(Path(self.info.path))
        try:
            position, held = 0, b""
            for chunk in np.unique(chunks[chunks >= 0]).tolist():
                first, offset, size = self.index[chunk]
                held, position = _advance(stream, held, position, offset, size)
                texts = self._texts(held[:size])
                for ordinal in wanted[chunks == chunk].tolist():
                    if ordinal - first < len(texts):
                        value = _loose.decode(texts[ordinal - first])
                        if isinstance(value, dict):
                            out[ordinal] = value
        finally:
            stream.close()
        return out

    def _texts(self, data: bytes) -> Sequence[bytes | msgspec.Raw]:
        """The JSON text of every event of a chunk."""
        try:
            texts = _raws.decode(b"[" + data + b"]")
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return salvage(data, 0, self.key).events
        return texts


def _advance(stream: Any, held: bytes, position: int, offset: int, size: int) -> tuple[bytes, int]:
    """Bytes of the stream from ``offset`` on, at least ``size`` of them where there are."""
    if offset >= position + len(held) and not stream.compressed:
        stream.seek(offset)
        held, position = b"", offset
    parts, have = [held], len(held)
    while position + have < offset + size:
        data = stream.read(4 << 20)
        if not data:
            break
        parts.append(data)
        have += len(data)
        if position + have < offset:
            position, parts, have = position + have, [], 0
    joined = b"".join(parts)
    return joined[offset - position :], offset
