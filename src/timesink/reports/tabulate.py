"""The result rows of an analysis as tables; times per step where a row is a sum over steps."""

from __future__ import annotations

from collections.abc import Sequence

from timesink.model.owners import DEVICE_OWNERS, Owner
from timesink.model.results import Analysis
from timesink.reports.document import Column, Table


def operator_table(a: Analysis) -> Table:
    """Operators by self time: on the device where there is any, else on the CPU."""
    device = any(r.device_self_ns for r in a.ops)
    steps = max(1, a.steps_counted)
    rows = sorted(a.ops, key=lambda r: -(r.device_self_ns if device else r.cpu_self_ns))
    columns = [
        Column("operator"),
        Column("phase"),
        Column("calls/step", "count"),
        Column("self CPU/step", "time"),
        Column("total CPU/step", "time"),
    ]
    if device:
        columns += [Column("self device/step", "time"), Column("total device/step", "time")]
    values = []
    for r in rows:
        row: list[object] = [
            r.name, r.phase.value, r.calls / steps, r.cpu_self_ns / steps, r.cpu_total_ns / steps,
        ]  # fmt: skip
        if device:
            row += [r.device_self_ns / steps, r.device_total_ns / steps]
        values.append(tuple(row))
    return Table("operators", tuple(columns), tuple(values))


def kernel_table(a: Analysis) -> Table | None:
    """Kernels by total time."""
    if not a.kernels:
        return None
    columns = (
        Column("kernel"), Column("class"), Column("calls", "count"), Column("total", "time"),
        Column("mean", "time"), Column("max", "time"), Column("share", "share"),
        Column("streams"), Column("launch delay", "time"), Column("launched by"),
    )  # fmt: skip
    rows = tuple(
        (
            r.name, r.kind, r.calls, r.total_ns, r.mean_ns, r.max_ns, r.share,
            ", ".join(map(str, r.streams)), r.delay_median_ns,
            r.op + (" (graph)" if r.graph else ""),
        )
        for r in a.kernels
    )  # fmt: skip
    return Table("kernels", columns, rows)


def copy_table(a: Analysis) -> Table | None:
    """Copies and memsets by kind and memory type."""
    if not a.copies:
        return None
    columns = (
        Column("copy"), Column("from"), Column("to"), Column("calls", "count"),
        Column("total", "time"), Column("exposed", "time"), Column("bytes", "bytes"),
    )  # fmt: skip
    rows = tuple(
        (c.kind, c.source, c.target, c.calls, c.total_ns, c.exposed_ns, c.bytes or None)
        for c in a.copies
    )
    return Table("copies", columns, rows)


def runtime_table(a: Analysis) -> Table | None:
    """Runtime and driver calls by caller."""
    if not a.runtime:
        return None
    columns = (
        Column("runtime call"), Column("kind"), Column("in operator"), Column("phase"),
        Column("calls", "count"), Column("total", "time"), Column("device idle", "time"),
        Column("line"),
    )  # fmt: skip
    rows = tuple(
        (r.name, r.kind, r.op, r.phase.value, r.calls, r.total_ns, r.idle_ns, r.line)
        for r in a.runtime
    )
    return Table("runtime", columns, rows)


def idle_table(a: Analysis) -> Table | None:
    """Idle time of each device by cause, over the whole trace."""
    if not a.idle:
        return None
    columns = (
        Column("device"), Column("cause"), Column("gaps", "count"), Column("time", "time"),
        Column("share of idle", "share"),
    )  # fmt: skip
    rows = tuple(
        (str(i.device), cause.value, gaps, ns, ns / i.total_ns if i.total_ns else 0.0)
        for i in a.idle
        for cause, ns, gaps in i.causes
    )
    return Table("idle", columns, rows)


def range_table(a: Analysis) -> Table | None:
    """The user's record_function ranges."""
    if not a.ranges:
        return None
    columns = (
        Column("range"), Column("calls", "count"), Column("total", "time"),
        Column("mean", "time"), Column("max", "time"), Column("device", "time"),
        Column("share of steps", "share"),
    )  # fmt: skip
    known = a.breakdown.device_known
    rows = tuple(
        (r.name, r.calls, r.total_ns, r.mean_ns, r.max_ns, r.device_ns if known else None, r.share)
        for r in a.ranges
    )
    return Table("ranges", columns, rows)


def rank_table(analyses: Sequence[Analysis]) -> Table:
    """One row per rank: step time and who owned it."""
    owners = (Owner.EXPOSED_COMMUNICATION, Owner.DATA_LOADING)
    columns = (
        Column("rank"), Column("step", "time"), Column("device busy", "share"),
        *(Column(o.value, "share") for o in owners),
    )  # fmt: skip
    rows = []
    for a in analyses:
        b = a.breakdown
        busy = sum(b.share(o) for o in DEVICE_OWNERS) if b.has_device and b.device_known else None
        rows.append((str(a.info.rank), b.mean_step_ns, busy, *(b.share(o) for o in owners)))
    rows.sort(key=lambda r: (len(str(r[0])), str(r[0])))
    return Table("ranks", columns, tuple(rows), brief=64)
