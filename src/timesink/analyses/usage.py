"""Busy and idle time of each device over the whole trace, by union of intervals.

Sums of durations stand beside it: on streams whose rows overlap (concurrent kernels, programmatic
dependent launch, firmware time stamps) they exceed what a clock would show.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from timesink.analyses.classify import COMMUNICATION, COPY
from timesink.analyses.intervals import Intervals, measure, overlapping, subtract, union
from timesink.analyses.prepare import Prepared
from timesink.model.results import DeviceUsage


def usage(p: Prepared) -> tuple[DeviceUsage, ...]:
    """One entry per device that has rows, by device number."""
    parts = p.device.partition_by("device", maintain_order=True) if p.device.height else []
    return tuple(_one(part) for part in parts)


def _one(rows: pl.DataFrame) -> DeviceUsage:
    starts, ends = rows["ts"].to_numpy(), rows["end"].to_numpy()
    klass, device, stream = (rows[c].to_numpy() for c in ("klass", "device", "stream"))
    communication, copies = klass == COMMUNICATION, klass == COPY

    def of(mask: np.typing.NDArray[np.bool_]) -> Intervals:
        return union(starts[mask], ends[mask])

    compute = of(~communication & ~copies)
    transfers = of(communication)
    moves = of(copies)
    span = int(ends.max() - starts.min())
    busy = measure(union(starts, ends))
    return DeviceUsage(
        device=int(device[0]),
        rows=rows.height,
        streams=rows["stream"].n_unique(),
        span_ns=span,
        busy_ns=busy,
        idle_ns=span - busy,
        sum_ns=int(rows["dur"].sum()),
        compute_ns=measure(compute),
        communication_ns=measure(transfers),
        copy_ns=measure(moves),
        exposed_communication_ns=measure(subtract(transfers, compute)),
        exposed_copy_ns=measure(subtract(moves, of(~copies))),
        overlaps=int(overlapping(device, stream, starts, ends).sum()),
    )
