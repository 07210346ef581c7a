"""The caching allocator's history of a run on CUDA: dumped when memory runs out and at the end.

Recorded from ``import torch`` on, so that parameters have their stack too; the history is a ring of
:data:`ENTRIES`. The observer is called while the allocation fails: the script's own exception
comes after it and is as it was.
"""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

#: Entries kept: about 100 MB with their stacks, and some hundred steps of a usual model.
ENTRIES = 200_000


class MemoryHistory:
    """``notes`` receives what went wrong; nothing is ever raised into the script."""

    def __init__(self, file: Path, notes: list[str]) -> None:
        self.file, self._notes = file, notes
        self._recording = self._failed = False

    def start(self) -> None:
        """Record, where torch has CUDA."""
        import torch

        if not torch.cuda.is_available():
            return
        try:
            torch.cuda.memory._record_memory_history(max_entries=ENTRIES, stacks="all")
            self._recording = True
            torch._C._cuda_attach_out_of_memory_observer(self._out_of_memory)
        except Exception as error:
            self._notes.append(f"The allocator's history was not recorded: {error}")

    def finish(self) -> None:
        """At the end of the run; the snapshot of an allocation that failed is worth more."""
        import torch

        if self._recording and not self._failed and torch.cuda.is_initialized():
            self._dump()

    def _out_of_memory(self, device: int, asked: int, total: int, free: int) -> None:
        if not self._failed:  # of several, the first: a script that retries may have changed since
            self._failed = True
            self._dump()

    def _dump(self) -> None:
        import torch

        temporary: Any = self.file.with_name(f".{self.file.name}.tmp")
        try:
            torch.cuda.memory._dump_snapshot(str(temporary))
            temporary.replace(self.file)
        except Exception as error:  # a full disk, say
            self._notes.append(f"The memory snapshot could not be written: {error}")
            with contextlib.suppress(OSError):
                temporary.unlink()
