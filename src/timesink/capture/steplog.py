"""The light recorder's file: one fixed-size record per step, appended, torn tails tolerated.

Written with plain ``os.write`` at least once a second, so that ``os._exit``, a signal or the OOM
killer cost at most the last second of steps.
"""

from __future__ import annotations

import os
import struct
import time
from dataclasses import dataclass
from pathlib import Path

from timesink.model.run import LightSteps, StepKind

MAGIC = b"timesink-steps-1\n"
_RECORD = struct.Struct("<BBqqqqqqqqq")
_KINDS: tuple[StepKind, ...] = ("train", "eval", "other")
_PROFILED, _COMPILED, _BOUNDARY = 1, 2, 4
_FLUSH_SECONDS = 1.0
_FLUSH_STEPS = 64


@dataclass(slots=True)
class StepRow:
    """One step; times in ns of ``time.perf_counter_ns``, memory in bytes (0: not sampled)."""

    kind: StepKind
    start_ns: int
    wall_ns: int
    data_ns: int = 0
    forward_ns: int = 0
    backward_ns: int = 0
    optimizer_ns: int = 0
    gc_ns: int = 0
    rss: int = 0
    device_bytes: int = 0
    profiled: bool = False
    compiled: bool = False
    boundary: bool = False


class StepLog:
    """Appends rows; a disk that is full ends the log with a note, not the script."""

    def __init__(self, path: Path) -> None:
        self._handle = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o644)
        self._pending = bytearray(MAGIC)
        self._rows = 0
        self._flushed = time.monotonic()
        self.failed = ""

    def append(self, row: StepRow) -> None:
        """Add one step."""
        flags = _PROFILED * row.profiled | _COMPILED * row.compiled | _BOUNDARY * row.boundary
        self._pending += _RECORD.pack(
            _KINDS.index(row.kind), flags, row.start_ns, row.wall_ns, row.data_ns, row.forward_ns,
            row.backward_ns, row.optimizer_ns, row.gc_ns, row.rss, row.device_bytes,
        )  # fmt: skip
        self._rows += 1
        if self._rows >= _FLUSH_STEPS or time.monotonic() - self._flushed > _FLUSH_SECONDS:
            self.flush()

    def flush(self) -> None:
        """Hand everything to the operating system."""
        self._flushed, self._rows = time.monotonic(), 0
        if self.failed:
            return
        try:
            os.write(self._handle, self._pending)
        except OSError as error:
            self.failed = error.strerror or str(error)
        self._pending = bytearray()


def read_steps(path: Path) -> LightSteps:
    """All whole records of a log; an unknown or empty file gives no steps and a note."""
    try:
        data = path.read_bytes()
    except OSError as error:
        return LightSteps(notes=(f"the step log cannot be read: {error.strerror}",))
    if not data.startswith(MAGIC):
        return LightSteps(notes=("the step log is empty or of another version",) if data else ())
    body = data[len(MAGIC) :]
    whole = len(body) // _RECORD.size * _RECORD.size
    rows = list(_RECORD.iter_unpack(body[:whole]))
    columns = list(zip(*rows, strict=True)) if rows else [()] * 11
    flags = columns[1]
    return LightSteps(
        kind=tuple(_KINDS[k] if k < len(_KINDS) else "other" for k in columns[0]),
        start_ns=columns[2],
        wall_ns=columns[3],
        data_ns=columns[4],
        forward_ns=columns[5],
        backward_ns=columns[6],
        optimizer_ns=columns[7],
        gc_ns=columns[8],
        rss=columns[9],
        device_bytes=columns[10],
        profiled=tuple(bool(f & _PROFILED) for f in flags),
        compiled=tuple(bool(f & _COMPILED) for f in flags),
        boundary=tuple(bool(f & _BOUNDARY) for f in flags),
    )
