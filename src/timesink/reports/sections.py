"""From a ``Report`` to the sections of its document: verdict first, data quality last."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from statistics import median

from timesink.model.findings import Finding
from timesink.model.owners import DEVICE_OWNERS, Owner
from timesink.model.report import Report
from timesink.model.results import Analysis, LongestEvent
from timesink.model.run import LightSteps
from timesink.reports import units
from timesink.reports.charts import breakdown_chart, memory_chart, steps_chart
from timesink.reports.document import (
    Bar,
    Block,
    Column,
    Document,
    FindingBlock,
    Items,
    Paragraph,
    Part,
    Section,
    Table,
    TimelineBlock,
)
from timesink.reports.tabulate import (
    copy_table,
    idle_table,
    kernel_table,
    launch_table,
    operator_table,
    range_table,
    rank_table,
    runtime_table,
    slow_steps_table,
    usage_table,
)


def build(report: Report) -> Document:
    """The whole document."""
    made = [
        _verdict(report),
        _findings(report),
        _steps(report),
        *(_analysis(report.analysis) if report.analysis is not None else ()),
        _timeline(report),
        _ranks(report),
        _quality(report),
        _environment(report),
        _files(report),
    ]
    return Document(report.title, _subtitle(report), tuple(s for s in made if s is not None))


def _subtitle(report: Report) -> str:
    parts = []
    if report.run is not None:
        parts.append("python " + shlex.join(report.run.command))
        parts.append(_ending(report.run.exit_code))
    elif report.analysis is not None:
        info = report.analysis.info
        devices = ", ".join(dict.fromkeys(d.name for d in info.devices if d.name))
        parts.append(f"{info.event_count:,} events, {info.vendor}, format {info.generation}")
        if devices:
            parts.append(devices)
    return " · ".join(p for p in parts if p)


def _ending(code: int | None) -> str:
    if code is None:
        return "has not ended"
    if code < 0:
        return f"killed by signal {-code}"
    return "" if code == 0 else f"exit code {code}"


def _verdict(report: Report) -> Section:
    verdict = report.diagnosis.verdict
    rest = verdict.text.removeprefix(verdict.headline).strip()
    blocks: list[Block] = [Paragraph(verdict.headline, strong=True)]
    if rest:
        blocks.append(Paragraph(rest))
    bar = _bar(report.analysis)
    if bar is not None:
        blocks.append(bar)
    return Section("Verdict", tuple(blocks))


def _bar(a: Analysis | None) -> Bar | None:
    if a is None or not a.breakdown.steps:
        return None
    b = a.breakdown
    hidden = DEVICE_OWNERS if b.has_device and not b.device_known else ()
    count = max(1, len(b.verdict_steps))
    parts = [
        Part(o.value, b.share(o), b.total(o) / count)
        for o in Owner
        if b.total(o) and o not in hidden
    ]
    return Bar(tuple(parts))


def _findings(report: Report) -> Section | None:
    found = report.diagnosis.findings
    if not found:
        return None
    return Section("Findings", tuple(_finding(f, report) for f in found))


def _finding(found: Finding, report: Report) -> FindingBlock:
    script = shlex.join(report.run.command) if report.run is not None else "train.py"
    change = shlex.quote(found.intervention)
    command = f"timesink try --with {change} {script}" if found.intervention else ""
    return FindingBlock(
        found.title,
        found.rule,
        found.share,
        found.cost_ns,
        tuple(e.text for e in found.evidence if e.text),
        found.advice,
        command,
        found.caveat,
    )


def _steps(report: Report) -> Section | None:
    blocks: list[Block] = []
    if report.light is not None and len(report.light):
        blocks.append(Paragraph(_about_steps(report.light)))
        blocks.append(steps_chart(report.light))
        slow = slow_steps_table(report.light)
        blocks += [slow] if slow is not None else []
    if report.analysis is not None and len(report.analysis.breakdown.steps) > 1:
        blocks.append(breakdown_chart(report.analysis.breakdown))
    return Section("Steps", tuple(blocks), detail=True) if blocks else None


def _about_steps(light: LightSteps) -> str:
    steady = [light.wall_ns[i] for i in light.steady()]
    kinds = {k: light.kind.count(k) for k in ("train", "eval", "other")}
    seen = ", ".join(f"{n:,} {k}" for k, n in kinds.items() if n)
    ordered = sorted(steady)
    tail = ordered[int(0.95 * (len(ordered) - 1))]
    return (
        f"{len(light):,} steps ({seen}); a steady one takes {units.time(median(steady))} "
        f"(median of {len(steady):,}), 5 % take more than {units.time(tail)}."
    )


def _analysis(a: Analysis) -> list[Section | None]:
    sections: list[Section | None] = [
        _tables("Operators", [operator_table(a)]),
        _tables("Kernels", [kernel_table(a)]),
        _tables(
            "Copies, launches and runtime calls",
            [copy_table(a), launch_table(a), runtime_table(a)],
            detail=True,
        ),
        _tables("Device use", [usage_table(a), idle_table(a)], detail=True),
        _tables("Your own ranges", [range_table(a)]),
        _longest(a),
        _memory(a),
    ]
    return sections


def _tables(title: str, tables: Sequence[Table | None], detail: bool = False) -> Section | None:
    kept = tuple(t for t in tables if t is not None and t.rows)
    return Section(title, kept, detail=detail) if kept else None


def _longest(a: Analysis) -> Section | None:
    lines = []
    for label, event in (
        ("Longest CPU operator", a.longest_op),
        ("Longest self time of an operator", a.longest_self_op),
        ("Longest device operation", a.longest_device),
    ):
        if event is not None:
            lines.append(f"{label}: {_event(event)}")
    if a.breakdown.has_device and not a.breakdown.device_known:
        lines.append("Longest device operation: unknown (no device rows)")
    return Section("Longest operations", (Items(tuple(lines)),)) if lines else None


def _event(event: LongestEvent) -> str:
    where = f" in step {event.step}" if event.step is not None else ""
    shape = f", shapes {event.shape}" if event.shape not in ("", "[]") else ""
    line = f", from {event.line}" if event.line else ""
    return f"{event.name}, {units.time(event.dur_ns)}{where}{shape}{line}"


def _memory(a: Analysis) -> Section | None:
    if not a.memory:
        return None
    rows = tuple(
        (m.device, m.rows, m.peak_allocated, m.peak_reserved or None, m.window_delta)
        for m in a.memory
    )
    table = Table(
        "memory",
        (
            Column("device"),
            Column("allocator events", "count"),
            Column("peak allocated", "bytes"),
            Column("peak reserved", "bytes"),
            Column("kept by the window", "bytes"),
        ),
        rows,
    )
    charts = tuple(memory_chart(m, a.info.start_ns) for m in a.memory)
    return Section("Memory", (table, *charts))


def _timeline(report: Report) -> Section | None:
    if report.timeline is None or not report.timeline.lanes:
        return None
    return Section("Timeline", (TimelineBlock(),), html_only=True)


def _ranks(report: Report) -> Section | None:
    if report.analysis is None or not report.other_ranks:
        return None
    return Section("Ranks", (rank_table((report.analysis, *report.other_ranks)),))


def _quality(report: Report) -> Section:
    lines = []
    if report.analysis is not None:
        lines += [n.message for n in report.analysis.quality]
    if report.run is not None:
        lines += report.run.notes
    if report.light is not None:
        lines += report.light.notes
    lines += report.diagnosis.missing
    text = tuple(_sentence(line) for line in dict.fromkeys(lines))
    return Section("Data quality", (Items(text or ("Nothing was dropped or repaired.",)),))


def _sentence(text: str) -> str:
    text = text[:1].upper() + text[1:]
    return text if text.endswith((".", "!", "?", "`")) else f"{text}."


def _environment(report: Report) -> Section | None:
    if report.run is None or not report.run.environment.fields:
        return None
    table = Table(
        "environment", (Column("field"), Column("value")), report.run.environment.fields, brief=0
    )
    return Section("Environment", (table,), detail=True)


def _files(report: Report) -> Section | None:
    lines = tuple(f"{label}: {path}" for label, path in report.artifacts)
    return Section("Files", (Items(lines),)) if lines else None
