"""Chunks of columns with local codes → frames with the trace's own codes.

Kept small per chunk: only the intern table and the tracks grow with the trace.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

from timesink.store import kinds
from timesink.store.decode import Columns
from timesink.store.fields import Array
from timesink.store.schema import COUNTERS, DEVICE_KINDS, EVENTS, FLOWS, MEMORY, Kind

SCHEMAS: Mapping[str, Mapping[str, pl.DataType]] = {
    "events": EVENTS,
    "memory": MEMORY,
    "flows": FLOWS,
    "counters": COUNTERS,
}
_CODED = ("name", "cat", "shape", "dtype", "stack", "module", "series")
_FRESH = 10**12  # ns: times of a chunk beyond this mean that a time of 0 is no time


class Assembler:
    """Interns across chunks. ``strings`` and ``tracks`` are complete when all chunks are in."""

    def __init__(self) -> None:
        self.strings: dict[str, int] = {"": 0}
        self.tracks: dict[tuple[str, str], int] = {}
        self.device_tracks: set[int] = set()
        self.kind_counts: dict[int, int] = {}
        self.categories: dict[str, int] = {}
        self.ordinal = 0
        self.timeless = 0
        self.range: tuple[int, int] | None = None
        self._kind_of: list[int] = [int(Kind.OTHER)]
        self._annotation: list[bool] = [False]
        self._place: list[tuple[int, int]] = []

    @property
    def bare(self) -> bool:
        """Whether some rows have no category."""
        return "" in self.categories

    def frames(self, columns: Columns) -> dict[str, pl.DataFrame]:
        """The tables of one chunk ("events", "memory", "flows", "counters", "open")."""
        codes = self._codes(columns.strings)
        tracks = self._track_codes(columns.tracks)
        out = {}
        for name, table in columns.tables.items():
            data = {k: codes[v] if k in _CODED else v for k, v in table.items()}
            data["track"] = tracks[data["track"]]
            if "ord" in data:
                data["ord"] = data["ord"] + self.ordinal
            if name == "flows":
                local = np.clip(-2 - data["id"], 0, len(codes) - 1)
                mapped = -2 - codes.astype(np.int64)[local]
                data["id"] = np.where(data["id"] < -1, mapped, data["id"])
            out[name] = self._events(data) if name in ("events", "open") else _frame(name, data)
        self.ordinal += columns.elements
        return out

    def _codes(self, texts: list[str]) -> Array:
        codes = np.empty(len(texts), np.uint32)
        for i, text in enumerate(texts):
            code = self.strings.get(text)
            if code is None:
                code = self.strings[text] = len(self.strings)
                self._kind_of.append(int(kinds.kind_of_category(text)))
                self._annotation.append(kinds.is_annotation(text))
            codes[i] = code
        return codes

    def _track_codes(self, pairs: list[tuple[str, str]]) -> Array:
        codes = np.empty(len(pairs), np.int32)
        for i, pair in enumerate(pairs):
            code = self.tracks.setdefault(pair, len(self.tracks))
            if code == len(self._place):
                self._place.append((_number(pair[0]), _number(pair[1])))
            codes[i] = code
        return codes

    def _events(self, data: dict[str, Array]) -> pl.DataFrame:
        kind = np.array(self._kind_of, np.uint8)[data["cat"]]
        annotation = np.array(self._annotation, bool)[data["name"]]
        kind[annotation & (kind == Kind.CPU_OP)] = Kind.USER_ANNOTATION
        data["kind"] = kind
        device = np.isin(kind, DEVICE_KINDS)
        self._locate(data, device)
        data["corr"] = np.where(data["corr"] == 0, -1, data["corr"])
        keep = self._with_time(data, device)
        if keep is not None:
            data = {k: v[keep] for k, v in data.items()}
        self._count(data)
        begin = data.pop("begin", None)
        frame = _frame("events", data)
        return frame if begin is None else frame.with_columns(pl.Series("begin", begin))

    def _locate(self, data: dict[str, Array], device: Array) -> None:
        """Device and stream of device rows: from the args, else from pid and tid; -1 elsewhere."""
        place = np.array(self._place or [(-1, -1)], np.int64)
        for name, column in (("device", 0), ("stream", 1)):
            given = data[name]
            fallback = place[data["track"], column]
            value = np.where(given < 0, fallback, given)
            data[name] = np.where(device & (value < 2**31), value, -1)

    def _with_time(self, data: dict[str, Array], device: Array) -> Array | None:
        """Device rows at time 0 among epoch-scale times have no time: left out and counted."""
        zero = device & (data["ts"] <= 0)
        if not zero.any():
            return None
        others = data["ts"][~zero]
        if len(others) == 0 or int(np.median(others)) < _FRESH:
            return None
        self.timeless += int(zero.sum())
        return ~zero

    def _count(self, data: dict[str, Array]) -> None:
        found, counts = np.unique(data["kind"], return_counts=True)
        for kind, count in zip(found.tolist(), counts.tolist(), strict=True):
            self.kind_counts[kind] = self.kind_counts.get(kind, 0) + count
        texts = None
        cats, counts = np.unique(data["cat"], return_counts=True)
        for cat, count in zip(cats.tolist(), counts.tolist(), strict=True):
            texts = texts or list(self.strings)
            self.categories[texts[cat]] = self.categories.get(texts[cat], 0) + count
        self.device_tracks.update(
            np.unique(data["track"][np.isin(data["kind"], DEVICE_KINDS)]).tolist()
        )
        timed = ~np.isin(data["kind"], (Kind.SPAN, Kind.OTHER, Kind.OVERHEAD))
        if timed.any():
            low = int(data["ts"][timed].min())
            high = int((data["ts"] + data["dur"])[timed].max())
            old = self.range or (low, high)
            self.range = (min(old[0], low), max(old[1], high))


def _number(text: str) -> int:
    """The integer in "7", "stream 7" or "GPU 0"; -1 where there is none."""
    digits = text.rsplit(" ", 1)[-1]
    return int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 18 else -1


def _frame(name: str, data: dict[str, Array]) -> pl.DataFrame:
    schema = SCHEMAS[name]
    return pl.DataFrame({k: pl.Series(k, data[k]).cast(t) for k, t in schema.items()})
