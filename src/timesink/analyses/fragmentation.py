"""How the allocator's segments are filled, and what an allocation that failed would have needed."""

from __future__ import annotations

import numpy as np
import polars as pl

from timesink.analyses.snapshot_history import History
from timesink.model.memory import Fragmentation, OutOfMemory, SegmentRow, Site
from timesink.store.snapshot_schema import Snapshot, State

#: Segments kept with their blocks, the largest.
_ROWS = 400


def fragmentation(snapshot: Snapshot, device: int) -> Fragmentation | None:
    """The segments of one device as they were when the snapshot was taken."""
    mine = snapshot.segments.with_row_index("segment").filter(pl.col("device") == device)
    if not mine.height:
        return None
    blocks = snapshot.blocks.join(mine.select("segment"), on="segment", how="semi")
    held = blocks["state"].to_numpy() != State.INACTIVE
    size, asked = blocks["size"].to_numpy(), blocks["requested"].to_numpy()
    owner = blocks["segment"].to_numpy()
    partly = np.isin(owner, owner[held])
    free = size[~held]
    private = mine.filter(~pl.col("pool").is_in(["0:0", "", "0,0"]))["size"].sum()
    return Fragmentation(
        reserved=int(mine["size"].sum()),
        live=int(asked[held].sum()),
        rounding=int((size - asked)[held].sum()),
        free=int(free.sum()),
        stuck=int(size[~held & partly].sum()),
        largest_free=int(free.max()) if len(free) else 0,
        segments=mine.height,
        private_pools=int(private),
        rows=_rows(mine.sort("size", descending=True).head(_ROWS), blocks),
    )


def _rows(segments: pl.DataFrame, blocks: pl.DataFrame) -> tuple[SegmentRow, ...]:
    parts = blocks.partition_by("segment", as_dict=True)
    found = []
    for s in segments.iter_rows(named=True):
        part = parts.get((s["segment"],))
        cells = [] if part is None else [
            (address - s["address"], size, state) for address, size, state in
            part.select("address", "size", "state").sort("address").iter_rows()
        ]  # fmt: skip
        found.append(SegmentRow(
            s["address"], s["size"], s["stream"], s["kind"], s["pool"], s["expandable"],
            live=sum(size for _, size, state in cells if state),
            largest_free=max((size for _, size, state in cells if not state), default=0),
            blocks=tuple(cells),
        ))  # fmt: skip
    return tuple(found)


def out_of_memory(history: History, largest_free: int) -> OutOfMemory | None:
    """The last allocation of a history that failed."""
    if not history.ooms:
        return None
    at = history.ooms[-1]
    row = history.events.row(at, named=True)
    live, reserved = history.allocations.live(), history.reserved
    stack = row["stack"]
    site = history.allocations.sites[stack] if stack >= 0 else Site()
    free = row["device_free"]
    return OutOfMemory(
        asked=row["size"], live=int(live[at]), reserved=int(reserved[at]), device_free=free,
        largest_free=largest_free, site=site, capacity=int(reserved[at]) + max(free, 0),
        fits=max(largest_free, max(free, 0)),
    )  # fmt: skip
