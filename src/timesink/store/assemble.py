"""Chunks of columns with local codes → frames with the trace's own codes.

Kept small per chunk: only the intern table and the tracks grow with the trace.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from timesink.store import kinds
from timesink.store.columns import Columns
from timesink.store.fields import Array
from timesink.store.schema import COUNTERS, DEVICE_KINDS, EVENTS, FLOWS, MEMORY, Kind

SCHEMAS: Mapping[str, Mapping[str, pl.DataType]] = {
    "events": EVENTS,
    "memory": MEMORY,
    "flows": FLOWS,
    "counters": COUNTERS,
}
_CODED = ("name", "cat", "shape", "dtype", "stack", "module", "series", "details")
#: ns. A trace whose other rows all begin later than this has no rows at time 0.
_EPOCH_SCALE = 10**12


@dataclass(frozen=True, slots=True)
class _Local:
    """One chunk's codes → the trace's codes (``codes``, ``tracks``) and what they stand for."""

    texts: list[str]
    codes: Array
    tracks: Array
    annotation: Array  # per local text
    place: Array  # per local track: the numbers in (pid, tid)


class Assembler:
    """Interns across chunks. ``strings`` and ``tracks`` are complete when all chunks are in.

    The work per chunk does not grow with the trace: only dictionaries do.
    """

    def __init__(self) -> None:
        self.strings: dict[str, int] = {"": 0}
        self.tracks: dict[tuple[str, str], int] = {}
        self.device_tracks: set[int] = set()
        self.kind_counts: dict[int, int] = {}
        self.categories: dict[str, int] = {}
        self.ordinal = 0
        self.range: tuple[int, int] | None = None
        self._zero: list[pl.DataFrame] = []

    @property
    def bare(self) -> bool:
        """Whether some rows have no category."""
        return "" in self.categories

    def frames(self, columns: Columns) -> dict[str, pl.DataFrame]:
        """The tables of one chunk ("events", "memory", "flows", "counters", "open")."""
        local = self._local(columns)
        out = {}
        for name, table in columns.tables.items():
            data = dict(table)
            if "ord" in data:
                data["ord"] = data["ord"] + self.ordinal
            if name in ("events", "open"):
                out[name] = self._events(data, local, name)
            else:
                if name == "flows":
                    data["id"] = _flow_ids(data["id"], local.codes)
                out[name] = _frame(name, _global(data, local))
        self.ordinal += columns.elements
        return out

    def timeless(self) -> tuple[int, pl.DataFrame | None]:
        """The device rows at time 0, once all chunks are in.

        Among epoch-scale times they have no time: their number and None. Otherwise the trace
        simply begins at 0: 0 and the rows, which belong to the events.
        """
        if not self._zero:
            return 0, None
        rows = pl.concat(self._zero)
        if self.range and self.range[0] >= _EPOCH_SCALE:
            return rows.height, None
        low, high = int(rows["ts"].min() or 0), int((rows["ts"] + rows["dur"]).max() or 0)  # type: ignore[arg-type]
        self._extend(low, high)
        return 0, rows

    def _local(self, columns: Columns) -> _Local:
        known = self.strings
        texts, pairs = columns.strings, columns.tracks
        codes = [known.setdefault(text, len(known)) for text in texts]
        tracks = [self.tracks.setdefault(pair, len(self.tracks)) for pair in pairs]
        return _Local(
            texts,
            np.array(codes, np.uint32),
            np.array(tracks, np.int32),
            np.array([kinds.is_annotation(t) for t in texts], bool),
            np.array([(_number(p), _number(t)) for p, t in pairs] or [(-1, -1)], np.int64),
        )

    def _events(self, data: dict[str, Array], local: _Local, name: str) -> pl.DataFrame:
        kind = self._kinds(data, local)
        data["kind"] = kind
        device = np.isin(kind, DEVICE_KINDS)
        for column, part in (("device", 0), ("stream", 1)):
            given = data[column]
            value = np.where(given < 0, local.place[data["track"], part], given)
            data[column] = np.where(device & (value < 2**31), value, -1)
        data["corr"] = np.where(data["corr"] == 0, -1, data["corr"])
        self.device_tracks.update(local.tracks[np.unique(data["track"][device])].tolist())
        data = _global(data, local)
        zero = device & (data["ts"] <= 0)
        self._span(data, kind, zero)
        if name == "open":
            return _frame("events", data).with_columns(pl.Series("begin", data["begin"]))
        if zero.any():
            self._zero.append(_frame("events", {k: v[zero] for k, v in data.items()}))
            data = {k: v[~zero] for k, v in data.items()}
        return _frame("events", data)

    def _kinds(self, data: dict[str, Array], local: _Local) -> Array:
        """The kind of every row; counts kinds and categories on the way."""
        counts = np.bincount(data["cat"], minlength=len(local.texts))
        of_text = np.zeros(len(local.texts), np.uint8)
        for cat in np.flatnonzero(counts).tolist():
            text = local.texts[cat]
            of_text[cat] = kinds.kind_of_category(text)
            self.categories[text] = self.categories.get(text, 0) + int(counts[cat])
        kind: Array = of_text[data["cat"]]
        kind[local.annotation[data["name"]] & (kind == Kind.CPU_OP)] = Kind.USER_ANNOTATION
        for number, count in enumerate(np.bincount(kind).tolist()):
            if count:
                self.kind_counts[number] = self.kind_counts.get(number, 0) + count
        return kind

    def _span(self, data: dict[str, Array], kind: Array, zero: Array) -> None:
        timed = ~(np.isin(kind, (Kind.SPAN, Kind.OTHER, Kind.OVERHEAD)) | zero)
        if timed.any():
            starts = data["ts"][timed]
            self._extend(int(starts.min()), int((starts + data["dur"][timed]).max()))

    def _extend(self, low: int, high: int) -> None:
        old = self.range or (low, high)
        self.range = (min(old[0], low), max(old[1], high))


def _global(data: dict[str, Array], local: _Local) -> dict[str, Array]:
    out = {k: local.codes[v] if k in _CODED else v for k, v in data.items()}
    out["track"] = local.tracks[data["track"]]
    return out


def _flow_ids(ids: Array, codes: Array) -> Array:
    """Ids that are text are -2 - code, so that they meet no integer id."""
    if not (ids < -1).any():
        return ids
    local = np.clip(-2 - ids, 0, len(codes) - 1)
    return np.where(ids < -1, -2 - codes.astype(np.int64)[local], ids)


def _number(text: str) -> int:
    """The integer in "7", "stream 7" or "GPU 0"; -1 where there is none."""
    digits = text.rsplit(" ", 1)[-1]
    return int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 18 else -1


def _frame(name: str, data: dict[str, Array]) -> pl.DataFrame:
    schema = SCHEMAS[name]
    return pl.DataFrame({k: _cast(pl.Series(k, data[k]), t) for k, t in schema.items()})


def _cast(values: pl.Series, to: Any) -> pl.Series:
    """An id too large for its column is as unknown as one that is no number."""
    out = values.cast(to, strict=False)
    return out.fill_null(-1) if out.null_count() else out
