"""The result rows of an analysis as tables; times per step where a row is a sum over steps."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from timesink.model.owners import DEVICE_OWNERS, Owner
from timesink.model.results import Analysis
from timesink.model.run import LightSteps
from timesink.reports.charts import mark
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


def usage_table(a: Analysis) -> Table | None:
    """Each device over the whole trace, by union of intervals. Without rows nothing is known."""
    if not a.usage or not a.breakdown.device_known:
        return None
    columns = (
        Column("device"), Column("busy share", "share"), Column("busy", "time"),
        Column("idle", "time"), Column("compute", "time"), Column("communication", "time"),
        Column("exposed communication", "time"), Column("copies", "time"),
        Column("sum of rows", "time"), Column("streams", "count"), Column("rows", "count"),
    )  # fmt: skip
    rows = tuple(
        (
            str(u.device), u.busy_ns / u.span_ns if u.span_ns else None, u.busy_ns, u.idle_ns,
            u.compute_ns, u.communication_ns, u.exposed_communication_ns, u.copy_ns, u.sum_ns,
            u.streams, u.rows,
        )
        for u in a.usage
    )  # fmt: skip
    return Table("devices", columns, rows)


def launch_table(a: Analysis) -> Table | None:
    """Launches against the device rows they led to, over the whole trace."""
    n = a.launches
    if n is None or not (n.launches or n.graph_launches):
        return None
    linked = n.linked > 0
    columns = (
        Column("launches", "count"), Column("graph launches", "count"),
        Column("without a row", "count"), Column("median delay", "time"),
        Column("90 % within", "time"), Column("longest delay", "time"),
        Column("mean call", "time"), Column("mean kernel", "time"),
        Column("kernels < 10 µs", "count"), Column("met an empty queue", "count"),
    )  # fmt: skip
    row = (
        n.launches, n.graph_launches, n.lost, *(
            v if linked else None
            for v in (n.delay_median_ns, n.delay_p90_ns, n.delay_max_ns)
        ),
        n.launch_call_mean_ns,
        *(v if linked else None for v in (n.kernel_mean_ns, n.short, n.queue_empty)),
    )  # fmt: skip
    return Table("launches", columns, (row,))


def slow_steps_table(light: LightSteps) -> Table | None:
    """Steps that took more than twice the median of the steady ones, and why if that is known."""
    usual = median(light.wall_ns[i] for i in light.steady())
    slow = sorted(
        (i for i in range(len(light)) if light.wall_ns[i] > 2 * usual),
        key=lambda i: -light.wall_ns[i],
    )
    if not slow:
        return None
    columns = (
        Column("slow step"), Column("kind"), Column("wall", "time"), Column("data", "time"),
        Column("forward", "time"), Column("backward", "time"), Column("optimizer", "time"),
        Column("rest", "time"), Column("garbage collection", "time"), Column("mark"),
    )  # fmt: skip
    rows = tuple(
        (
            str(i), light.kind[i], light.wall_ns[i], light.data_ns[i], light.forward_ns[i],
            light.backward_ns[i], light.optimizer_ns[i], light.rest_ns(i), light.gc_ns[i],
            "first" if i == 0 else mark(light, i),
        )
        for i in slow
    )  # fmt: skip
    return Table("slow-steps", columns, rows, brief=5)


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
