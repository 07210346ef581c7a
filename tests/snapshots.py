"""A small caching allocator that writes snapshots in torch's format, for tests.

Written from the format (docstring of ``torch.cuda.memory._snapshot``): sizes are rounded up to 512
bytes, small blocks come from segments of 2 MiB, large ones from 20 MiB or from a segment of their
own; blocks split and merge; every action is an entry of the history.
"""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

MIB = 2**20
Frame = dict[str, Any]


def frame(name: str, line: int = 1, file: str = "/home/me/train.py") -> Frame:
    return {"filename": file, "line": line, "name": name}


_SITE = "/site-packages/torch"
#: Frames below the script's own, innermost first, of what torch does.
FORWARD = [frame("forward", 134, f"{_SITE}/nn/modules/linear.py"),
           frame("_call_impl", 1784, f"{_SITE}/nn/modules/module.py")]  # fmt: skip
BACKWARD = [frame("_engine_run_backward", 829, f"{_SITE}/autograd/graph.py"),
            frame("backward", 648, f"{_SITE}/_tensor.py")]  # fmt: skip
OPTIMIZER = [frame("_init_group", 148, f"{_SITE}/optim/adam.py"),
             frame("step", 226, f"{_SITE}/optim/adam.py"),
             frame("wrapper", 484, f"{_SITE}/optim/optimizer.py")]  # fmt: skip
MOVE = [frame("convert", 1341, f"{_SITE}/nn/modules/module.py"),
        frame("_apply", 915, f"{_SITE}/nn/modules/module.py"),
        frame("to", 1355, f"{_SITE}/nn/modules/module.py")]  # fmt: skip


def main(line: int, below: Sequence[Frame] = ()) -> list[Frame]:
    """A stack: what torch does, called from a line of the script."""
    return [*below, frame("main", line), frame("<module>", 99)]


@dataclass
class Block:
    address: int
    size: int
    requested: int = 0
    state: str = "inactive"
    frames: list[Frame] = field(default_factory=list)


@dataclass
class Segment:
    address: int
    size: int
    kind: str
    blocks: list[Block]


class Allocator:
    """``alloc`` returns an address, ``free`` takes one. ``capacity``: of the device in bytes."""

    def __init__(self, capacity: int = 2**40, record: bool = True) -> None:
        self.capacity, self.record = capacity, record
        self.segments: list[Segment] = []
        self.trace: list[dict[str, Any]] = []
        self.clock = 1_700_000_000_000_000
        self._next = 0x7F0000000000

    def alloc(self, size: int, frames: list[Frame] | None = None) -> int:
        """Raises ``MemoryError`` after writing an "oom" entry."""
        rounded = max(512, -(-size // 512) * 512)
        frames = frames or []
        segment, block = self._fitting(rounded) or self._more(rounded, size, frames)
        if block.size - rounded >= (512 if segment.kind == "small" else MIB):
            rest = Block(block.address + rounded, block.size - rounded)
            segment.blocks.insert(segment.blocks.index(block) + 1, rest)
            block.size = rounded
        block.state, block.requested, block.frames = "active_allocated", size, frames
        self._note("alloc", block.address, size, frames)
        return block.address

    def free(self, address: int, frames: list[Frame] | None = None) -> None:
        segment, block = next(
            (s, b) for s in self.segments for b in s.blocks
            if b.address == address and b.state != "inactive"
        )  # fmt: skip
        self._note("free_requested", address, block.requested, frames or [])
        self._note("free_completed", address, block.requested, frames or [])
        block.state, block.requested, block.frames = "inactive", 0, []
        merged: list[Block] = []
        for b in segment.blocks:
            if merged and merged[-1].state == b.state == "inactive":
                merged[-1].size += b.size
            else:
                merged.append(b)
        segment.blocks = merged

    def empty_cache(self) -> None:
        for segment in list(self.segments):
            if all(b.state == "inactive" for b in segment.blocks):
                self._note("segment_free", segment.address, segment.size, [])
                self.segments.remove(segment)

    @property
    def reserved(self) -> int:
        return sum(s.size for s in self.segments)

    def snapshot(self, entries: int | None = None) -> dict[str, Any]:
        """``entries``: only so many of the newest, as a ring buffer keeps."""
        self._note("snapshot", 0, 0, [])
        trace = self.trace if entries is None else self.trace[-entries:]
        return {
            "segments": [self._segment(s) for s in self.segments],
            "device_traces": [trace],
            "allocator_settings": {"PYTORCH_CUDA_ALLOC_CONF": "", "expandable_segments": False},
            "external_annotations": [],
        }

    def dump(self, path: Path, entries: int | None = None) -> Path:
        path.write_bytes(pickle.dumps(self.snapshot(entries)))
        return path

    def _fitting(self, size: int) -> tuple[Segment, Block] | None:
        kind = "small" if size <= MIB else "large"
        found = [
            (b.size, s, b) for s in self.segments if s.kind == kind for b in s.blocks
            if b.state == "inactive" and b.size >= size
        ]  # fmt: skip
        best = min(found, key=lambda f: (f[0], f[2].address), default=None)
        return (best[1], best[2]) if best else None

    def _more(self, rounded: int, size: int, frames: list[Frame]) -> tuple[Segment, Block]:
        kind = "small" if rounded <= MIB else "large"
        total = 2 * MIB if kind == "small" else 20 * MIB
        if rounded > 10 * MIB:
            total = -(-rounded // (2 * MIB)) * 2 * MIB
        if self.reserved + total > self.capacity:
            self.empty_cache()
        if self.reserved + total > self.capacity:
            entry = {"action": "oom", "size": size, "stream": 0, "frames": frames,
                     "device_free": self.capacity - self.reserved,
                     "time_us": self._tick()}  # fmt: skip
            self.trace.append(entry)
            raise MemoryError
        segment = Segment(self._next, total, kind, [Block(self._next, total)])
        self._next += total + 2 * MIB
        self.segments.append(segment)
        self._note("segment_alloc", segment.address, total, frames)
        return segment, segment.blocks[0]

    def _tick(self) -> int:
        self.clock += 10
        return self.clock

    def _note(self, action: str, addr: int, size: int, frames: list[Frame]) -> None:
        if self.record:
            self.trace.append({"action": action, "addr": addr, "size": size, "stream": 0,
                               "time_us": self._tick(), "frames": frames})  # fmt: skip

    def _segment(self, s: Segment) -> dict[str, Any]:
        active = sum(b.size for b in s.blocks if b.state != "inactive")
        return {
            "device": 0, "address": s.address, "total_size": s.size, "stream": 0,
            "segment_type": s.kind, "segment_pool_id": (0, 0), "is_expandable": False,
            "allocated_size": active, "active_size": active, "frames": [],
            "blocks": [
                {"address": b.address, "size": b.size, "requested_size": b.requested,
                 "state": b.state, "frames": b.frames} for b in s.blocks
            ],
        }  # fmt: skip
