"""The tables of a snapshot of the caching allocator. Analyses may import this module.

From ``torch.cuda.memory._dump_snapshot``: torch's own description is the docstring of
``torch.cuda.memory._snapshot`` (TypedDicts Snapshot, Segment, Block, TraceEntry, Frame). Sizes are
bytes, times µs since the epoch as torch writes them, absent integers -1. A stack is a code: a row
of ``Snapshot.stacks``, whose entries are rows of ``Snapshot.frames``, innermost first; -1 is none.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import polars as pl

from timesink.model.trace import QualityNote


class Action(IntEnum):
    """What an entry of the allocator's history says."""

    OTHER = 0
    ALLOC = 1
    FREE_REQUESTED = 2
    FREE_COMPLETED = 3
    SEGMENT_ALLOC = 4
    SEGMENT_FREE = 5
    SEGMENT_MAP = 6
    SEGMENT_UNMAP = 7
    OOM = 8
    SNAPSHOT = 9


class State(IntEnum):
    """Of a block: cached and free, held by a tensor, or waiting for another stream."""

    INACTIVE = 0
    ALLOCATED = 1
    AWAITING_FREE = 2


SEGMENTS: dict[str, pl.DataType] = {
    "device": pl.Int64(),
    "address": pl.UInt64(),
    "size": pl.Int64(),
    "stream": pl.Int64(),
    "kind": pl.String(),  # "small", "large"
    "pool": pl.String(),  # "0:0" the default one, else a private pool (CUDA graphs)
    "expandable": pl.Boolean(),
}
BLOCKS: dict[str, pl.DataType] = {
    "segment": pl.Int64(),  # row of segments
    "address": pl.UInt64(),
    "size": pl.Int64(),
    "requested": pl.Int64(),  # what the tensor asked for; at most ``size``
    "state": pl.Int64(),  # State
    "stack": pl.Int64(),
}
#: The history, in order, one device after the other.
EVENTS: dict[str, pl.DataType] = {
    "device": pl.Int64(),
    "action": pl.Int64(),  # Action
    "addr": pl.UInt64(),
    "size": pl.Int64(),  # as requested, for alloc and free; of the segment else
    "stream": pl.Int64(),
    "time_us": pl.Int64(),
    "device_free": pl.Int64(),  # oom only
    "stack": pl.Int64(),
}
FRAMES: dict[str, pl.DataType] = {
    "file": pl.String(),
    "line": pl.Int64(),
    "name": pl.String(),
}
STACKS: dict[str, pl.DataType] = {"frames": pl.List(pl.Int64())}
#: Ranges that the program marked (torch.profiler.record_function), where they were recorded.
ANNOTATIONS: dict[str, pl.DataType] = {
    "device": pl.Int64(),
    "time_us": pl.Int64(),
    "stage": pl.String(),  # "START", "END"
    "name": pl.String(),
}
TABLES = {
    "segments": SEGMENTS, "blocks": BLOCKS, "events": EVENTS, "frames": FRAMES, "stacks": STACKS,
    "annotations": ANNOTATIONS,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One snapshot, all devices. ``settings``: the allocator's, as text."""

    segments: pl.DataFrame
    blocks: pl.DataFrame
    events: pl.DataFrame
    frames: pl.DataFrame
    stacks: pl.DataFrame
    annotations: pl.DataFrame
    settings: tuple[tuple[str, str], ...] = ()
    notes: tuple[QualityNote, ...] = ()
