"""Two reports → what changed. Pure; made for runs, traces and folders of ranks alike.

Everything is per step, since the numbers of steps differ. Rows are matched by name and phase, and
by shapes or modules where both sides have them. A single pair of measurements is never called a
significant difference: that takes repetition (``timesink try``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from statistics import median
from typing import Any

from timesink.errors import BadUsage
from timesink.model.comparison import Comparison, OwnerPair, Pair, RowPair, Status, Unit
from timesink.model.owners import DEVICE_OWNERS, Owner
from timesink.model.report import Report
from timesink.model.results import Analysis
from timesink.model.run import Environment, LightSteps
from timesink.reproducibility.environment import diff

#: Calls and times that differ by less than this share are called the same.
_SAME = 0.005
Key = tuple[str, str]
Values = tuple[float, float]


def compare(before: Report, after: Report) -> Comparison:
    """Raises ``BadUsage`` where one side has no step to compare."""
    step, source = _step(before, after)
    a, b = before.analysis, after.analysis
    both = a is not None and b is not None and a.breakdown.steps and b.breakdown.steps
    return Comparison(
        before=before.title,
        after=after.title,
        step=step,
        step_source=source,
        spread=_spread(before.light, after.light),
        owners=_owners(a, b) if both and a and b else (),
        numbers=_numbers(before, after),
        ops=_rows(a, b, _ops),
        device_ops=_rows(a, b, _device_ops) if _device_known(a) and _device_known(b) else (),
        kernels=_rows(a, b, _kernels) if _device_known(a) and _device_known(b) else (),
        copies=_rows(a, b, _copies),
        environment=_environment(before, after),
        ranks=_ranks(before, after),
        notes=tuple(_notes(before, after)),
    )


# The step.


def _step(before: Report, after: Report) -> tuple[Pair, str]:
    light = [_steady(r.light) for r in (before, after)]
    if all(light):
        walls = [median(walls) for walls in light]
        return Pair("step_time", "time", walls[0], walls[1]), "median of all steady steps"
    means = [_mean_step(r.analysis) for r in (before, after)]
    for report, mean in zip((before, after), means, strict=True):
        if mean is None:
            raise BadUsage(
                f"{report.title} has no step that could be compared.",
                "Record a window: timesink run, or torch.profiler with .step().",
            )
    return Pair("step_time", "time", means[0], means[1]), "mean of the recorded steps"


def _steady(light: LightSteps | None) -> list[int]:
    return [light.wall_ns[i] for i in light.steady()] if light is not None else []


def _mean_step(a: Analysis | None) -> float | None:
    return a.breakdown.mean_step_ns if a is not None and a.breakdown.steps else None


def _spread(
    a: LightSteps | None, b: LightSteps | None
) -> tuple[tuple[float, float], tuple[float, float]] | None:
    one, two = sorted(_steady(a)), sorted(_steady(b))
    if len(one) < 10 or len(two) < 10:
        return None
    return _tails(one), _tails(two)


def _tails(walls: Sequence[int]) -> tuple[float, float]:
    last = len(walls) - 1
    return float(walls[round(0.05 * last)]), float(walls[round(0.95 * last)])


def _owners(a: Analysis, b: Analysis) -> tuple[OwnerPair, ...]:
    if not _comparable_owners(a, b):
        return ()
    counts = [len(x.breakdown.verdict_steps) for x in (a, b)]
    pairs = (
        OwnerPair(
            o, Fraction(a.breakdown.total(o), counts[0]), Fraction(b.breakdown.total(o), counts[1])
        )
        for o in Owner
    )
    return tuple(p for p in pairs if p.before or p.after)


def _comparable_owners(a: Analysis, b: Analysis) -> bool:
    """Where the device rows of one side are missing, its owners are not those of the other."""
    return a.breakdown.device_known and b.breakdown.device_known


# Single numbers.


def _numbers(before: Report, after: Report) -> tuple[Pair, ...]:
    pairs = [
        *(_owner_pair(o, before.analysis, after.analysis) for o in Owner),
        _pair("device_busy", "share", before, after, _busy),
        _pair("device_idle", "share", before, after, _idle),
        _pair("launches", "count", before, after, _launches),
        _pair("kernels", "count", before, after, lambda r: _calls(r, "kernels")),
        _pair("operators", "count", before, after, lambda r: _calls(r, "ops")),
        _pair("copies", "count", before, after, lambda r: _calls(r, "copies")),
        _pair("peak_memory", "bytes", before, after, _peak),
        _pair("peak_reserved", "bytes", before, after, _reserved),
        _pair("peak_rss", "bytes", before, after, _rss),
    ]
    return tuple(pairs)


def _pair(
    name: str, unit: Unit, before: Report, after: Report, read: Callable[[Report], float | None]
) -> Pair:
    return Pair(name, unit, read(before), read(after))


def slug(owner: Owner) -> str:
    """``data_loading``: an owner's name in ``--fail-if`` and in JSON."""
    return "".join(c if c.isalnum() else "_" for c in owner.value.lower())


def _owner_pair(owner: Owner, a: Analysis | None, b: Analysis | None) -> Pair:
    def read(x: Analysis | None) -> float | None:
        if x is None or not x.breakdown.steps:
            return None
        if not x.breakdown.device_known:
            return None
        return x.breakdown.total(owner) / len(x.breakdown.verdict_steps)

    return Pair(slug(owner), "time", read(a), read(b))


def _busy(r: Report) -> float | None:
    b = r.analysis.breakdown if r.analysis else None
    if b is None or not b.steps or not b.has_device or not b.device_known:
        return None
    return sum(b.share(o) for o in DEVICE_OWNERS)


def _idle(r: Report) -> float | None:
    busy = _busy(r)
    return None if busy is None else 1 - busy


def _launches(r: Report) -> float | None:
    """Launch calls within steps, per step; None for a trace without a device."""
    a = r.analysis
    if a is None or not a.steps_counted or not a.breakdown.has_device:
        return None
    kinds = ("launch", "graph launch")
    return sum(row.calls for row in a.runtime if row.kind in kinds) / a.steps_counted


def _calls(r: Report, table: str) -> float | None:
    a = r.analysis
    if a is None or not a.steps_counted:
        return None
    if table != "ops" and not _device_known(a):
        return None
    return float(sum(row.calls for row in getattr(a, table)) / a.steps_counted)


def _device_known(a: Analysis | None) -> bool:
    return a is not None and a.breakdown.has_device and a.breakdown.device_known


def _peak(r: Report) -> float | None:
    return (
        max((float(m.peak_allocated) for m in r.analysis.memory), default=None)
        if (r.analysis)
        else None
    )


def _reserved(r: Report) -> float | None:
    peaks = (
        [float(m.peak_reserved) for m in r.analysis.memory if any(m.reserved)]
        if (r.analysis)
        else []
    )
    return max(peaks, default=None)


def _rss(r: Report) -> float | None:
    return float(max(r.light.rss, default=0)) or None if r.light is not None else None


# Rows.


def _rows(
    a: Analysis | None,
    b: Analysis | None,
    read: Callable[[Analysis, bool], Iterable[tuple[Key, Values]]],
) -> tuple[RowPair, ...]:
    if a is None or b is None or not a.steps_counted or not b.steps_counted:
        return ()
    detailed = bool(a.info.record_shapes) == bool(b.info.record_shapes)
    left, right = _per_step(read(a, detailed), a), _per_step(read(b, detailed), b)
    rows = [_row(key, left.get(key), right.get(key)) for key in dict.fromkeys([*left, *right])]
    rows.sort(key=lambda r: (-abs(r.delta), r.name))
    return tuple(rows)


def _per_step(rows: Iterable[tuple[Key, Values]], a: Analysis) -> dict[Key, Values]:
    found: dict[Key, Values] = {}
    for key, (calls, ns) in rows:
        known = found.get(key, (0.0, 0.0))
        found[key] = (known[0] + calls / a.steps_counted, known[1] + ns / a.steps_counted)
    return found


def _row(key: Key, before: Values | None, after: Values | None) -> RowPair:
    status: Status = "changed"
    if before is None:
        status = "appeared"
    elif after is None:
        status = "vanished"
    elif all(_near(x, y) for x, y in zip(before, after, strict=True)):
        status = "same"
    calls, ns = zip(before or (0.0, 0.0), after or (0.0, 0.0), strict=True)
    return RowPair(*key, status, *calls, *ns)


def _near(a: float, b: float) -> bool:
    return abs(a - b) <= _SAME * max(abs(a), abs(b))


def _ops(a: Analysis, detailed: bool) -> Iterable[tuple[Key, Values]]:
    return (((r.name, _detail(r, detailed)), (r.calls, r.cpu_self_ns)) for r in a.ops)


def _device_ops(a: Analysis, detailed: bool) -> Iterable[tuple[Key, Values]]:
    rows = (r for r in a.ops if r.device_self_ns)
    return (((r.name, _detail(r, detailed)), (r.calls, r.device_self_ns)) for r in rows)


def _detail(row: Any, detailed: bool) -> str:
    parts = [row.phase.value, row.module]
    if detailed:
        parts.append(row.shape)
    return " ".join(p for p in parts if p)


def _kernels(a: Analysis, detailed: bool) -> Iterable[tuple[Key, Values]]:
    return (((k.name, k.kind), (k.calls, k.total_ns)) for k in a.kernels)


def _copies(a: Analysis, detailed: bool) -> Iterable[tuple[Key, Values]]:
    rows = a.copies if _device_known(a) else ()
    return (((c.kind, f"{c.source} → {c.target}"), (c.calls, c.total_ns)) for c in rows)


# Around the numbers.


def _environment(before: Report, after: Report) -> tuple[tuple[str, str, str], ...]:
    return diff(_fields(before), _fields(after))


def _fields(r: Report) -> Environment:
    fields: dict[str, str] = dict(r.run.environment.fields) if r.run is not None else {}
    if r.run is not None:
        fields["command"] = " ".join(r.run.command)
        fields["optimizers"] = ", ".join(r.run.optimizers)
        fields["loaders"] = ", ".join(
            f"{x.dataset}(workers={x.num_workers}, batch={x.batch_size}, pin={x.pin_memory})"
            for x in r.run.loaders
        )
    if r.analysis is not None:
        info = r.analysis.info
        fields["trace.vendor"] = info.vendor
        fields["trace.format"] = info.generation
        fields["trace.devices"] = ", ".join(dict.fromkeys(d.name for d in info.devices if d.name))
        fields["trace.world size"] = str(info.world_size or "")
        fields["trace.shapes"] = str(info.record_shapes)
        fields["trace.stacks"] = str(info.with_stack)
        fields.update((f"trace.{k}", v) for k, v in info.versions)
    return Environment(tuple(fields.items()))


def _ranks(before: Report, after: Report) -> tuple[Pair, ...]:
    """Mean step by rank, where at least one side has several."""
    left, right = _by_rank(before), _by_rank(after)
    if len(left) < 2 and len(right) < 2:
        return ()
    ranks = sorted({*left, *right})
    return tuple(Pair(f"rank {r}", "time", left.get(r), right.get(r)) for r in ranks)


def _by_rank(r: Report) -> dict[int, float | None]:
    analyses = [a for a in (r.analysis, *r.other_ranks) if a is not None]
    return {a.info.rank or 0: _mean_step(a) for a in analyses}


def _notes(before: Report, after: Report) -> Iterable[str]:
    yield (
        "One measurement of each: whether the difference is more than noise cannot be said from "
        "it. To know, repeat both in turn: timesink try --before … --after …"
    )
    a, b = before.analysis, after.analysis
    for report, other in ((before, after), (after, before)):
        if report.analysis is None and other.analysis is not None:
            yield f"{report.title} has no trace: only step times can be compared."
    if a is None or b is None:
        return
    for report, x in ((before, a), (after, b)):
        if x.breakdown.has_device and not x.breakdown.device_known:
            yield f"{report.title} has launches but no device rows: its device time is unknown."
    if a.breakdown.has_device != b.breakdown.has_device:
        yield "One side ran on a device and the other on the CPU only."
    if bool(a.info.with_stack) != bool(b.info.with_stack):
        yield "One side recorded Python stacks, which slows it down."
    if a.breakdown.source != b.breakdown.source:
        yield (
            f"Steps were found in two ways ({a.breakdown.source}, {b.breakdown.source}): a step "
            "may not be the same thing on both sides."
        )
