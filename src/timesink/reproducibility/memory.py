"""Which tensors lie in memory that was given out without being written, and who wrote the rest.

Importing this module imports torch. Storages are held by weak reference, so that an address that
is used again is not taken for the old one.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.multiprocessing.reductions import StorageWeakRef

_TIDY = 1024  # births between two clean-ups


class Unwritten:
    """Storages from ``torch.empty`` and its like, the line that made them, and whether anything
    was written to them since."""

    def __init__(self) -> None:
        self._born: dict[int, tuple[StorageWeakRef, str]] = {}
        self._touched: set[int] = set()

    def born(self, named: list[tuple[str, Any]], line: str) -> None:
        """These were just given out."""
        if len(self._born) % _TIDY == _TIDY - 1:
            self._born = {k: v for k, v in self._born.items() if not v[0].expired()}
            self._touched &= set(self._born)
        for _, tensor in named:
            key = _storage(tensor)
            if key is not None and tensor.numel():
                self._born[key] = (StorageWeakRef(tensor.untyped_storage()), line)
                self._touched.discard(key)

    def wrote(self, named: list[tuple[str, Any]]) -> None:
        """These were written to; a tensor that covers all of its storage is initialised by it."""
        for _, tensor in named:
            key = _storage(tensor)
            if key in self._born:
                self._touched.add(key)
                if tensor.numel() * tensor.element_size() >= tensor.untyped_storage().nbytes():
                    del self._born[key]

    def untouched(self, tensor: Any) -> bool:
        """Whether nothing at all was written to the tensor's memory since it was given out."""
        key = _storage(tensor) if self._born else None
        return key in self._born and key not in self._touched

    def among(self, named: list[tuple[str, Any]]) -> tuple[tuple[str, str], ...]:
        """(name, line that gave it out) of those with memory that is not written or in part."""
        if not self._born:
            return ()
        keys = [(name, _storage(value)) for name, value in named]
        return tuple((n, self._born[k][1]) for n, k in keys if k is not None and k in self._born)


class Writers:
    """The call that last wrote to each storage."""

    def __init__(self) -> None:
        self._last: dict[int, tuple[StorageWeakRef, int]] = {}

    def wrote(self, named: list[tuple[str, Any]], index: int) -> None:
        """Call ``index`` made or changed these."""
        if index % _TIDY == _TIDY - 1:
            self._last = {k: v for k, v in self._last.items() if not v[0].expired()}
        for _, tensor in named:
            key = _storage(tensor)
            if key is not None:
                self._last[key] = (StorageWeakRef(tensor.untyped_storage()), index)

    def of(self, named: list[tuple[str, Any]]) -> tuple[int, ...]:
        """For each of these the call that wrote it last, or -1."""
        found = (self._last.get(_storage(value) or -1) for _, value in named)
        return tuple(-1 if f is None or f[0].expired() else f[1] for f in found)


def _storage(value: Any) -> int | None:
    if not isinstance(value, torch.Tensor):
        return None
    try:
        key: int = value.untyped_storage()._cdata
    except (RuntimeError, NotImplementedError):  # sparse and other tensors without one storage
        return None
    return key
