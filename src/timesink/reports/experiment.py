"""An experiment as a document: the answer first, then what it rests on, then how to repeat it."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from statistics import median

from timesink.model.experiments import Command, Experiment, Interval, Observation
from timesink.reports import units
from timesink.reports.document import (
    Block,
    Code,
    Column,
    Distribution,
    Document,
    Items,
    Kind,
    Paragraph,
    Section,
    Series,
    Table,
)

_BINS = 60
#: The distribution is cut where this share of all steps has been shown.
_SHOWN = 0.98
_DIFF_LINES = 400


def build(e: Experiment, why: Sequence[Section] = ()) -> Document:
    """The whole document; ``why`` are the sections of the comparison of the profiled runs."""
    made = [
        _verdict(e),
        numbers(e),
        distribution(e),
        _sameness(e),
        _permanent(e),
        *why,
        _processes(e),
        _repeat(e),
        _environment(e),
    ]
    subtitle = f"{command(e.design.before)} · {e.started} · {_status(e)}"
    title = f"Experiment: {e.design.change.label}"
    return Document(title, subtitle, tuple(s for s in made if s is not None))


def command(c: Command) -> str:
    """As typed after ``python``."""
    return "python " + ("-m " if c.module else "") + shlex.join(c.words)


def _status(e: Experiment) -> str:
    count = f"{len(e.observations)} processes in {units.time(e.spent_s * 1e9)}"
    return count if e.status == "done" else f"{e.status} after {count}"


def headline(e: Experiment) -> str:
    """The one sentence to read: ``num-workers=2: 1.31× faster [1.27, 1.36]``."""
    if e.speed is None:
        return f"{e.design.change.label}: nothing measured yet"
    return f"{e.design.change.label}: {e.speed.text}"


def _verdict(e: Experiment) -> Section:
    blocks: list[Block] = [Paragraph(headline(e), strong=True)]
    if e.equivalence is not None:
        blocks.append(Paragraph(e.equivalence.text))
    lines = []
    if e.prediction is not None and e.speed is not None and e.speed.ratio is not None:
        lines.append(_prediction(e))
    floor = e.speed.itself if e.speed is not None else None
    if floor is not None:
        lines.append(
            f"Noise floor: the script against itself came out as {_times(floor.estimate)} "
            f"{_span(floor)}."
        )
    broken = _break_even(e)
    lines += [broken] if broken else []
    lines += [*e.notes, *(f"May change: {m}" for m in e.design.change.may_change)]
    if lines:
        blocks.append(Items(tuple(lines)))
    return Section("Verdict", tuple(blocks))


def _prediction(e: Experiment) -> str:
    assert e.prediction is not None
    assert e.speed is not None
    assert e.speed.ratio is not None
    title, share = e.prediction
    saved = 1 - 1 / e.speed.ratio.estimate
    measured = f"saved {units.share(saved)}" if saved >= 0 else f"cost {units.share(-saved)} more"
    return f"Predicted by “{title}”: at most {units.share(share)} of a step. Measured: {measured}."


def _break_even(e: Experiment) -> str:
    """After how many steps the time spent on compiling has been saved."""
    if not e.of("A", "check") or not e.of("B", "check") or e.speed is None:
        return ""
    spent = e.of("B", "check")[0].compile_ns - e.of("A", "check")[0].compile_ns
    if spent < 1e8:
        return ""
    saved = e.speed.before_ns - e.speed.after_ns
    text = f"Compiling took {units.time(spent)} once, not counted in the step time"
    if e.speed.outcome != "faster" or saved <= 0:
        return f"{text}."
    return f"{text}: saved again after {spent / saved:,.0f} steps."


def numbers(e: Experiment) -> Section | None:
    """Step times and peak memory, before and after."""
    before, after = e.of("A", "timed"), e.of("B", "timed")
    if not before or not after:
        return None
    times = [
        ("typical step (median over blocks)", "typical_ns", 1.0),
        ("median step", "median_ns", 1.0),
        ("mean step, epoch starts included", "mean_ns", 1.0),
    ]
    scale = _scale(e)
    if scale != 1:
        times.append(("typical step, for as many samples", "typical_ns", scale))
    memory = [
        ("peak resident memory", "peak_rss", 1.0),
        ("peak allocated on the device", "device_allocated", 1.0),
        ("peak reserved on the device", "device_reserved", 1.0),
    ]
    tables = (
        _table("before-after", "time", before, after, times),
        _table("peak-memory", "bytes", before, after, memory),
    )
    return Section("Before and after", tuple(t for t in tables if t.rows))


def _table(
    name: str,
    kind: Kind,
    before: Sequence[Observation],
    after: Sequence[Observation],
    fields: Sequence[tuple[str, str, float]],
) -> Table:
    """Medians over processes; what is 0 on both sides was not measured."""
    rows = []
    for label, field, scale in fields:
        a, b = _middle(before, field), _middle(after, field) / scale
        if a or b:
            rows.append((label, a, b, _times(a / b) if b else units.UNKNOWN))
    columns = (Column(""), Column("before", kind), Column("after", kind), Column("before/after"))
    return Table(name, columns, tuple(rows))


def _middle(observations: Sequence[Observation], field: str) -> float:
    return float(median(getattr(o, field) for o in observations))


def _scale(e: Experiment) -> float:
    scale = 1.0
    for effect in e.of("B", "timed")[0].effects:
        scale *= effect.scale
    return scale


def _times(value: float) -> str:
    return f"{value:.3f}×" if abs(value - 1) < 0.05 else f"{value:.2f}×"


def _span(i: Interval) -> str:
    return f"[{i.low:.3f}, {i.high:.3f}]"


def distribution(e: Experiment) -> Section | None:
    """How long the steps of both arms took."""
    before = sorted(ns for o in e.of("A", "timed") for ns in o.step_ns)
    after = sorted(ns for o in e.of("B", "timed") for ns in o.step_ns)
    if not before or not after:
        return None
    everything = sorted([*before, *after])
    low = everything[0]
    high = max(everything[int(_SHOWN * (len(everything) - 1))], low + 1)
    width = (high - low) / _BINS
    edges = tuple(low + width * i for i in range(_BINS + 1))
    series = tuple(
        Series(label, _shares(values, low, width))
        for label, values in (("before", before), ("after", after))
    )
    cut = sum(v > high for v in everything)
    beyond = f"{cut:,} of {len(everything):,} steps took longer." if cut else ""
    drawn = Distribution("step times of all timed processes", edges, series, "time", beyond)
    return Section("Step times", (drawn,))


def _shares(values: Sequence[int], low: float, width: float) -> tuple[float, ...]:
    counts = [0] * _BINS
    for value in values:
        place = int((value - low) / width)
        if place <= _BINS:
            counts[min(_BINS - 1, place)] += 1
    return tuple(c / len(values) for c in counts)


def _sameness(e: Experiment) -> Section | None:
    checks = e.of("A", "check")[:1] + e.of("B", "check")[:1]
    if len(checks) < 2 or not checks[0].losses or not checks[1].losses:
        return None
    before, after = checks
    count = min(len(before.losses), len(after.losses))
    norms = [*before.grad_norms, *[None] * count], [*after.grad_norms, *[None] * count]
    rows = tuple(
        (
            str(i), f"{before.losses[i]:.8g}", f"{after.losses[i]:.8g}",
            _number(norms[0][i]), _number(norms[1][i]),
        )
        for i in range(count)
    )  # fmt: skip
    columns = tuple(
        Column(c)
        for c in ("backward", "loss before", "loss after", "gradients before", "gradients after")
    )
    return Section("Losses", (Table("losses", columns, rows, brief=5),), detail=True)


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.8g}"


def _permanent(e: Experiment) -> Section | None:
    if not e.design.change.code or e.speed is None or e.speed.outcome != "faster":
        return None
    return Section("To make it permanent", (Code("\n".join(e.design.change.code)),))


def _processes(e: Experiment) -> Section:
    columns = (
        Column("process"), Column("steps", "count"), Column("warm-up", "count"),
        Column("typical step", "time"), Column("mean step", "time"), Column("compiling", "time"),
        Column("RSS", "bytes"), Column("took", "time"), Column("effect"),
    )  # fmt: skip
    rows = tuple(
        (
            o.name, o.steps, o.warmup, o.typical_ns, o.mean_ns, o.compile_ns, o.peak_rss,
            o.seconds * 1e9, o.error or "; ".join(f"{f.name}: {f.text}" for f in o.effects),
        )
        for o in e.observations
    )  # fmt: skip
    return Section("Processes", (Table("processes", columns, rows, brief=40),), detail=True)


def _repeat(e: Experiment) -> Section:
    d = e.design
    blocks: list[Block] = [
        Paragraph(
            f"Seed {d.seed}; every process was started afresh, in random order, A B B A. Warm-up "
            "and compiling steps are not counted. The interval is at 95 %."
        ),
        Code(again(e)),
    ]
    if e.diff:
        lines = e.diff.splitlines()
        more = [f"… {len(lines) - _DIFF_LINES} more lines"] if len(lines) > _DIFF_LINES else []
        blocks += [
            Paragraph("Uncommitted changes when it was started:"),
            Code("\n".join(lines[:_DIFF_LINES] + more)),
        ]
    return Section("To repeat it", tuple(blocks), detail=True)


def again(e: Experiment) -> str:
    """The command that repeats the experiment."""
    d = e.design
    words = ["timesink", "try", "--seed", str(d.seed), "--budget", f"{d.budget_s:.0f}s"]
    words += ["--runs", str(d.max_pairs), "--seconds", f"{d.seconds:g}"]
    if d.steps:
        words += ["--steps", str(d.steps)]
    for text in d.base:
        words += ["--base", text]
    for text in d.change.interventions:
        words += ["--with", text]
    if d.change.patch:
        words += ["--patch", d.change.patch]
    if d.before != d.after:
        return shlex.join([*words, "--before", command(d.before), "--after", command(d.after)])
    return shlex.join([*words, *(["-m"] if d.before.module else []), *d.before.words])


def _environment(e: Experiment) -> Section | None:
    if not e.environment:
        return None
    table = Table("environment", (Column("field"), Column("value")), e.environment, brief=0)
    return Section("Environment", (table,), detail=True)
