"""Texts and tracks to small codes, local to one chunk."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np

from timesink.store.fields import NO_RAW, Array

_loose = msgspec.json.Decoder()
#: Pairs of process and thread codes up to which a table is faster than sorting.
_TABLE = 1 << 16


def text_of(value: Any) -> str:
    """A name or id as text; "" when absent."""
    if value is None:
        return ""
    return value if isinstance(value, str) else str(value)


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
            return np.array([self[text_of(v)] for v in values], np.uint32)

    def json_column(self, values: list[msgspec.Raw]) -> Array:
        """The codes of raw JSON values; equal bytes are the same text and are looked at once."""
        known = _JsonCodes(self)
        codes = [0 if v is NO_RAW else known[bytes(v)] for v in values]
        return np.array(codes, np.uint32)

    def strings(self) -> list[str]:
        """All texts in the order of their codes."""
        return [text_of(v) for v in self]


class _JsonCodes(dict[bytes, int]):
    def __init__(self, texts: Interner) -> None:
        super().__init__({b"": 0})
        self._texts = texts

    def __missing__(self, raw: bytes) -> int:
        value = _loose.decode(raw)
        text = "" if value is None else msgspec.json.encode(value).decode()
        code = self[raw] = self._texts[text]
        return code


class Tracks:
    """(pid, tid) pairs, as spelt, to small codes. ``pairs`` are texts, in the order of codes."""

    def __init__(self) -> None:
        self.pairs: dict[tuple[str, str], int] = {}
        self._pids, self._tids = Interner(), Interner()

    def code(self, pid: Any, tid: Any) -> int:
        """The code of one pair."""
        return self.pairs.setdefault((text_of(pid), text_of(tid)), len(self.pairs))

    def column(self, events: list[Any]) -> Array:
        """The code of every event's thread or stream.

        Pairs of small codes are far cheaper to tell apart than pairs of Python objects.
        """
        pids = self._pids.column([e.pid for e in events]).astype(np.int64)
        tids = self._tids.column([e.tid for e in events])
        width = len(self._tids)
        keys = pids * width + tids
        if len(self._pids) * width > _TABLE:
            seen, keys = np.unique(keys, return_inverse=True)
            table = np.zeros(len(seen), np.int32)
            places = np.arange(len(seen))
        else:
            table = np.zeros(len(self._pids) * width, np.int32)
            seen = places = np.flatnonzero(np.bincount(keys, minlength=len(table)))
        processes, threads = list(self._pids), list(self._tids)
        table[places] = [
            self.code(processes[k // width], threads[k % width]) for k in seen.tolist()
        ]
        return table[keys]
