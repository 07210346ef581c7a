"""What memory is made of, as a document."""

from __future__ import annotations

from timesink.model.memory import (
    Fragmentation,
    Growth,
    Holder,
    MemoryAnswer,
    MemoryFinding,
    MemoryReport,
    OutOfMemory,
)
from timesink.reports.document import (
    Block,
    Chart,
    Column,
    Document,
    FindingBlock,
    Items,
    Paragraph,
    Section,
    Series,
    Table,
)
from timesink.reports.units import share as share_text
from timesink.reports.units import size as size_text

#: Bars of a timeline, and segments drawn.
_BARS, _SEGMENTS = 300, 80


def build(report: MemoryReport) -> Document:
    """The whole document."""
    sections = [_verdict(report), _findings(report)]
    for answer in report.answers:
        sections += _device(answer, several=len(report.answers) > 1)
    sections.append(_settings(report))
    subtitle = ", ".join(f"{a.device}: {a.events:,} events" for a in report.answers)
    return Document(f"Memory: {report.title}", subtitle, tuple(s for s in sections if s))


def _verdict(report: MemoryReport) -> Section:
    blocks: list[Block] = [Paragraph(report.headline, strong=True)]
    for answer in report.answers:
        if answer.oom is not None:
            blocks.append(Items(_oom(answer.oom, answer.device)))
    if not report.findings and not any(a.oom for a in report.answers):
        blocks.append(Paragraph("Nothing stands out: nothing grows and no part is odd."))
    notes = [*report.notes, *(n for a in report.answers for n in a.notes)]
    if notes:
        blocks.append(Items(tuple(notes)))
    return Section("Verdict", tuple(blocks))


def _oom(oom: OutOfMemory, device: str) -> tuple[str, ...]:
    """The sentence of torch, decoded."""
    found = [
        f"asked for: {size_text(oom.asked)}",
        f"held by tensors: {size_text(oom.live)}",
        f"reserved by torch: {size_text(oom.reserved)}, of which unused: "
        f"{size_text(oom.reserved - oom.live)}, in pieces of at most {size_text(oom.largest_free)}",
    ]
    if oom.device_free >= 0:
        found.append(f"free on {device} outside torch: {size_text(oom.device_free)}")
    found.append(f"the largest request that would have fitted: {size_text(oom.fits)}")
    return tuple(found)


def _findings(report: MemoryReport) -> Section | None:
    blocks = tuple(_finding(f) for f in report.findings)
    return Section("Findings", blocks) if blocks else None


def _finding(f: MemoryFinding) -> FindingBlock:
    claim = f"{size_text(f.size)}, {share_text(f.share)} of the peak"
    caveat = f"At {f.line}." if f.line else ""
    return FindingBlock(f.title, f.rule, f.share, 0.0, f.evidence, f.advice, "", caveat, claim)


def _device(a: MemoryAnswer, several: bool) -> list[Section | None]:
    suffix = f" ({a.device})" if several else ""
    parts: list[Block] = [
        Table(
            "categories", (Column("made of"), Column("bytes", "bytes"), Column("share", "share"),
                           Column("blocks", "count")),
            tuple((c.value, size, size / a.peak if a.peak else None, count)
                  for c, size, count in a.categories),
        )
    ]  # fmt: skip
    if a.timeline is not None:
        parts.append(_timeline(a))
    return [
        Section(f"The peak{suffix}", (Paragraph(_about(a)), *parts)),
        _holders(f"Who holds it at the peak{suffix}", "holders", a.holders),
        _growth(a, suffix),
        _holders(f"Largest temporaries{suffix}", "temporaries", a.spikes, detail=True),
        _fragmentation(a.fragmentation, suffix) if a.fragmentation else None,
    ]


def _about(a: MemoryAnswer) -> str:
    text = f"{size_text(a.peak)} were live at event {a.peak_at:,} of {a.events:,}"
    text += f", in {a.peak_phase}" if a.peak_phase else ""
    text += f" of step {a.peak_step}" if a.peak_step is not None else ""
    text += f"; {size_text(a.before)} of them before recording" if a.before else ""
    if a.peak_reserved:
        text += f". At most {size_text(a.peak_reserved)} were reserved"
    if a.agrees:
        text += ". Live bytes rebuilt from the history equal the blocks' own sum"
    return text + "."


def _timeline(a: MemoryAnswer) -> Chart:
    t = a.timeline
    assert t is not None
    # Of each bin the moment with the most bytes, so that the peak stays.
    whole = [sum(column) for column in zip(*t.live, strict=True)] if t.live else []
    step = max(1, -(-len(whole) // _BARS))
    bins = range(0, len(whole), step)
    kept = [max(range(i, min(i + step, len(whole))), key=whole.__getitem__) for i in bins]
    series = tuple(
        Series(c.value, tuple(float(row[i]) for i in kept))
        for c, row in zip(t.categories, t.live, strict=True)
    )
    x = tuple(float(t.at[i]) for i in kept)
    return Chart(f"live bytes on {a.device}", "stack", x, series, "bytes", "event")


def _holders(
    title: str, name: str, held: tuple[Holder, ...], detail: bool = False
) -> Section | None:
    if not held:
        return None
    columns = (
        Column("line"), Column("operator"), Column("what"), Column("bytes", "bytes"),
        Column("blocks", "count"), Column("module"),
    )  # fmt: skip
    rows = tuple(
        (h.site.line or "unknown", h.site.operator, h.category.value, h.size, h.blocks,
         h.site.module) for h in held
    )  # fmt: skip
    return Section(title, (Table(name, columns, rows, brief=8),), detail=detail)


def _growth(a: MemoryAnswer, suffix: str) -> Section | None:
    grown: tuple[Growth, ...] = tuple(g for g in a.growth if g.per_step > 0)
    if not grown:
        return None
    columns = (Column("line"), Column("operator"), Column("bytes a step", "bytes"),
               Column("kept so far", "bytes"), Column("steps", "count"))  # fmt: skip
    rows = tuple(
        (g.site.line or "unknown", g.site.operator, g.per_step, g.series[-1] - g.series[0], g.steps)
        for g in grown
    )
    shown = [g for g in grown[:5] if len(g.series) == len(grown[0].series)]
    chart = Chart(
        f"what grows on {a.device}", "line", tuple(map(float, range(len(grown[0].series)))),
        tuple(Series(f"{g.site.line} {g.site.operator}".strip(), tuple(map(float, g.series)))
              for g in shown), "bytes", "end of step",
    )  # fmt: skip
    return Section(f"What grows{suffix}", (Table("growth", columns, rows), chart))


def _fragmentation(f: Fragmentation, suffix: str) -> Section:
    rows = (
        ("live", f.live), ("rounding", f.rounding), ("free, returnable", f.free - f.stuck),
        ("free, stuck between live blocks", f.stuck), ("reserved", f.reserved),
        ("largest free piece", f.largest_free), ("in private pools", f.private_pools),
    )  # fmt: skip
    table = Table("reserved", (Column("reserved"), Column("bytes", "bytes")), rows)
    drawn = f.rows[:_SEGMENTS]
    chart = Chart(
        "segments, the largest first", "stack", tuple(map(float, range(len(drawn)))),
        (Series("live", tuple(float(s.live) for s in drawn)),
         Series("free", tuple(float(s.size - s.live) for s in drawn))), "bytes", "segment",
        thinned=f"{f.segments} segments: {_SEGMENTS} are shown." if len(f.rows) > _SEGMENTS else "",
    )  # fmt: skip
    title = f"What the allocator reserved when the snapshot was taken{suffix}"
    return Section(title, (table, chart))


def _settings(report: MemoryReport) -> Section | None:
    if not report.settings:
        return None
    columns = (Column("setting"), Column("value"))
    return Section(
        "Allocator settings", (Table("settings", columns, report.settings),), detail=True
    )
