"""Reads a pickle of plain containers and nothing else.

A pickle is a program. This one may build dicts, lists, tuples, sets, text, bytes and numbers; every
global it asks for (a class, a function) is refused before it is looked up, and nothing is called.
Lengths are checked against the file before memory is taken. What remains dangerous is memory that
is asked for by index and stacks that are too deep for C: that is why :mod:`snapshot_worker` runs it
in a process of its own, with limits.
"""

from __future__ import annotations

import gc
import mmap
import pickle
from pathlib import Path
from typing import Any


class Refused(Exception):
    """The pickle asks for more than plain containers; the message says for what."""


class _Plain(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        raise Refused(f"it asks for {module}.{name}"[:200])

    def persistent_load(self, pid: Any) -> Any:
        raise Refused("it refers to objects outside the file")


class _Mapped:
    """A file that never gives more than it has: no length in the pickle makes memory."""

    def __init__(self, data: mmap.mmap) -> None:
        self._data = data

    def read(self, size: int) -> bytes:
        return self._data.read(min(size, len(self._data) - self._data.tell()))

    def readinto(self, buffer: Any) -> int:
        part = self.read(len(buffer))
        buffer[: len(part)] = part
        return len(part)

    def readline(self) -> bytes:
        return self._data.readline()

    def peek(self, size: int) -> bytes:
        at = self._data.tell()
        return self._data[at : at + min(size, len(self._data) - at)]


def load(path: Path) -> Any:
    """The value of the pickle. Raises :class:`Refused`, ``OSError``, or whatever a damaged pickle
    raises (``pickle.UnpicklingError``, ``EOFError``, ``ValueError``, ``MemoryError``, …)."""
    collecting = gc.isenabled()
    gc.disable()  # nothing here has cycles, and millions of new objects would be searched for them
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return _Plain(_Mapped(data), encoding="utf-8", errors="backslashreplace").load()
    finally:
        if collecting:
            gc.enable()
