"""Labels and nesting levels of the timeline's lanes."""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from timesink.analyses.prepare import Prepared


def levels(starts: Sequence[int], spans: Sequence[int]) -> list[int]:
    """Nesting level of each bar of a thread; bars sorted by start, outer before inner."""
    open_ends: list[int] = []
    found = []
    for start, span in zip(starts, spans, strict=True):
        while open_ends and open_ends[-1] <= start:
            open_ends.pop()
        found.append(len(open_ends))
        if span > 0:
            open_ends.append(start + span)
    return found


def slots(starts: Sequence[int], spans: Sequence[int]) -> list[int]:
    """Level of each bar of a stream, whose rows may overlap: the lowest that is free."""
    busy: list[tuple[int, int]] = []
    free: list[int] = []
    found, count = [], 0
    for start, span in zip(starts, spans, strict=True):
        while busy and busy[0][0] <= start:
            heapq.heappush(free, heapq.heappop(busy)[1])
        if free:
            slot = heapq.heappop(free)
        else:
            slot, count = count, count + 1
        heapq.heappush(busy, (start + span, slot))
        found.append(slot)
    return found


def host_label(p: Prepared, bar: Mapping[str, Any]) -> str:
    """ "python · thread 1234 (name)", as far as the trace names them."""
    track = p.tables.tracks.row(bar["track"], named=True)
    thread = track["thread_name"] or f"thread {track['tid']}"
    several = p.tables.tracks.filter(~p.tables.tracks["is_device"])["pid"].n_unique() > 1
    process = f"{track['process_name'] or 'process'} {track['pid']}".strip()
    return f"{process} · {thread}" if several else str(thread)


def stream_label(p: Prepared, device: int, stream: int) -> str:
    """ "NVIDIA A100 (device 0) · stream 7", as far as the trace names them."""
    names = {d.id: d.name for d in p.info.devices}
    name = names.get(device, "")
    number = f"device {device}" if device >= 0 else "device"
    where = f"{name} ({number})" if name else number
    return f"{where} · stream {stream}" if stream >= 0 else where
