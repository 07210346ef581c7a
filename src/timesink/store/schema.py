"""The columns of a trace's tables. Analyses may import this module of the store and no other.

Names, shapes, stacks and modules are interned: columns hold codes into ``Tables.strings`` (code 0
is the empty string, "absent"). Integers that are absent are -1. Times are integer ns on the
trace's own clock (``ts`` of the file times 1000, exact); absolute = ``TraceInfo.base_ns`` + ts.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import polars as pl

#: Raised whenever a column, a kind or the meaning of either changes: old caches are then ignored.
#: 1: first version. 2: ``details``.
SCHEMA_VERSION = 2


class Kind(IntEnum):
    """What a timed row is, from its category (all generations and vendors mapped to these)."""

    OTHER = 0
    CPU_OP = 1  #: cpu_op, Operator, legacy rows of CPU functions
    USER_ANNOTATION = 2  #: record_function, ProfilerStep#, Optimizer.step#, enumerate(DataLoader)#
    PYTHON = 3  #: python_function (with_stack=True)
    RUNTIME = 4  #: cuda_runtime, Runtime, mtia_runtime, mlu_runtime, xpu_runtime, enqueue/dequeue
    DRIVER = 5  #: cuda_driver
    KERNEL = 6  #: kernel, Kernel, mtia_ccp_events, Ascend hardware rows
    MEMCPY = 7
    MEMSET = 8
    DEVICE_ANNOTATION = 9  #: gpu_user_annotation: never device time
    SYNC = 10  #: cuda_sync rows (on the device track, not device time)
    OVERHEAD = 11  #: profiler overhead
    GC = 12  #: Python GC
    SPAN = 13  #: the "Trace" span and iteration spans, profiler's own


#: The kinds that are device time.
DEVICE_KINDS = (Kind.KERNEL, Kind.MEMCPY, Kind.MEMSET)
#: The kinds that live on host threads.
HOST_KINDS = (
    Kind.CPU_OP, Kind.USER_ANNOTATION, Kind.PYTHON, Kind.RUNTIME, Kind.DRIVER, Kind.GC,
)  # fmt: skip

#: Complete rows (ph X, and B/E pairs joined), sorted by (ts, -dur, ord).
EVENTS: dict[str, pl.DataType] = {
    "ord": pl.Int64(),  # position in traceEvents: the key for raw args on demand
    "ts": pl.Int64(),
    "dur": pl.Int64(),  # >= 0; unfinished rows are not in the table but in the quality notes
    "name": pl.UInt32(),  # code
    "cat": pl.UInt32(),  # code of the category as spelt in the file
    "kind": pl.UInt8(),  # Kind
    "track": pl.Int32(),  # row of Tables.tracks
    "device": pl.Int32(),  # trusted on device kinds only, else -1
    "stream": pl.Int64(),  # trusted on device kinds only, else -1; stream 0 is a stream
    "corr": pl.Int64(),  # correlation between a launch and its rows; -1 none (0 in file = none)
    "ext": pl.Int64(),  # External id
    "bytes": pl.Int64(),
    "seq": pl.Int64(),  # Sequence number (forward op and its backward share it)
    "shape": pl.UInt32(),  # code: compact JSON text of Input Dims
    "dtype": pl.UInt32(),  # code: compact JSON text of Input type
    "stack": pl.UInt32(),  # code: "Call stack" (old) text
    "module": pl.UInt32(),  # code: "Module Hierarchy" text
    "py_id": pl.Int64(),  # Python id (python_function rows)
    "py_parent": pl.Int64(),  # Python parent id
    "details": pl.UInt32(),  # code: JSON of a collective's or a synchronisation's own args, or ""
}

#: Allocator rows (ph i, name [memory]), sorted by ts.
MEMORY: dict[str, pl.DataType] = {
    "ord": pl.Int64(),
    "ts": pl.Int64(),
    "track": pl.Int32(),
    "addr": pl.UInt64(),
    "bytes": pl.Int64(),  # positive alloc, negative free
    "device_type": pl.Int32(),  # 0 CPU, 1 CUDA/HIP, ...
    "device": pl.Int32(),
    "allocated": pl.Int64(),  # Total Allocated after the event; -1 absent
    "reserved": pl.Int64(),  # Total Reserved; -1 absent
}

#: Flow points (ph s/t/f). ``id`` is the hash-free integer id, or a code of its text when not one.
FLOWS: dict[str, pl.DataType] = {
    "ts": pl.Int64(),
    "id": pl.Int64(),
    "ph": pl.UInt8(),  # 0 start, 1 step, 2 finish
    "cat": pl.UInt32(),
    "track": pl.Int32(),
}

#: Counters (ph C): one row per series and time.
COUNTERS: dict[str, pl.DataType] = {
    "ts": pl.Int64(),
    "name": pl.UInt32(),
    "series": pl.UInt32(),
    "track": pl.Int32(),
    "value": pl.Float64(),
}

#: One row per (pid, tid) pair in the file; the row number is the ``track`` code.
TRACKS: dict[str, pl.DataType] = {
    "pid": pl.String(),  # as spelt: may be text, may be empty
    "tid": pl.String(),
    "process_name": pl.String(),
    "thread_name": pl.String(),
    "labels": pl.String(),
    "is_device": pl.Boolean(),  # carries device rows
}


@dataclass(frozen=True, slots=True)
class Tables:
    """The tables of one trace. ``strings`` is the intern table: ``strings[code]`` is the text."""

    events: pl.DataFrame
    memory: pl.DataFrame
    flows: pl.DataFrame
    counters: pl.DataFrame
    tracks: pl.DataFrame
    strings: pl.Series

    def text(self, code: int) -> str:
        """The interned text of a code."""
        return str(self.strings[code])
