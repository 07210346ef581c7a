"""Two reports → what changed. Pure; made for runs, traces and folders of ranks alike.

Everything is per step, since the numbers of steps differ. Rows are matched by name and phase, and
by shapes or modules where both sides have them. A single pair of measurements is never called a
significant difference: that takes repetition (``timesink try``).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from statistics import median

from timesink.errors import BadUsage
from timesink.experiments import matching
from timesink.experiments.numbers import device_known, numbers
from timesink.model.comparison import Comparison, OwnerPair, Pair
from timesink.model.owners import Owner
from timesink.model.report import Report
from timesink.model.results import Analysis
from timesink.model.run import Environment, LightSteps
from timesink.reproducibility.environment import diff


def compare(before: Report, after: Report) -> Comparison:
    """Raises ``BadUsage`` where one side has no step to compare."""
    step, source = _step(before, after)
    a, b = before.analysis, after.analysis
    devices = device_known(a) and device_known(b)
    return Comparison(
        before=before.title,
        after=after.title,
        step=step,
        step_source=source,
        spread=_spread(before.light, after.light),
        owners=_owners(a, b) if a and b else (),
        numbers=numbers(before, after),
        ops=matching.rows(a, b, matching.ops),
        device_ops=matching.rows(a, b, matching.device_ops) if devices else (),
        kernels=matching.rows(a, b, matching.kernels) if devices else (),
        copies=matching.rows(a, b, matching.copies) if devices else (),
        environment=_environment(before, after),
        ranks=_ranks(before, after),
        notes=tuple(_notes(before, after)),
    )


# The step.


def _step(before: Report, after: Report) -> tuple[Pair, str]:
    light = [_steady(r.light) for r in (before, after)]
    if all(light):
        walls = [median(walls) for walls in light]
        return Pair(
            "step_time", "time", walls[0], walls[1]
        ), f"median of {len(light[0]):,} and {len(light[1]):,} steps"
    means = [_mean_step(r.analysis) for r in (before, after)]
    for report, mean in zip((before, after), means, strict=True):
        if mean is None:
            raise BadUsage(
                f"{report.title} has no step that could be compared.",
                "Record a window: timesink run, or torch.profiler with .step().",
            )
    counts = [len(r.analysis.breakdown.verdict_steps) for r in (before, after) if r.analysis]
    source = f"mean of {counts[0]:,} and {counts[1]:,} recorded steps"
    return Pair("step_time", "time", means[0], means[1]), source


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
    """None where the device rows of one side are missing: its owners are not those of the other."""
    if not all(x.breakdown.steps and x.breakdown.device_known for x in (a, b)):
        return ()
    counts = [len(x.breakdown.verdict_steps) for x in (a, b)]
    pairs = (
        OwnerPair(
            o, Fraction(a.breakdown.total(o), counts[0]), Fraction(b.breakdown.total(o), counts[1])
        )
        for o in Owner
    )
    return tuple(p for p in pairs if p.before or p.after)


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
        for name, value in (("shapes", info.record_shapes), ("stacks", info.with_stack)):
            if value is not None:
                fields[f"trace.{name}"] = "yes" if value else "no"
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
    if a.breakdown.source == b.breakdown.source == "window":
        yield "Neither trace has step marks: their whole windows are compared, each as one step."
    if a.breakdown.source != b.breakdown.source:
        yield (
            f"Steps were found in two ways ({a.breakdown.source}, {b.breakdown.source}): a step "
            "may not be the same thing on both sides."
        )
