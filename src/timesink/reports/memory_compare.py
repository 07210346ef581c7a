"""Two memory reports side by side, as a document."""

from __future__ import annotations

from collections import Counter

from timesink.model.memory import MemoryAnswer, MemoryReport
from timesink.reports.document import Column, Document, Items, Paragraph, Section, Table
from timesink.reports.units import share, size

_BYTES = (Column("before", "bytes"), Column("after", "bytes"), Column("change", "bytes"))
Row = tuple[object, ...]


def build(before: MemoryReport, after: MemoryReport) -> Document:
    """The whole document: devices that both have, by name."""
    others = {a.device: a for a in after.answers}
    pairs = [(a, others[a.device]) for a in before.answers if a.device in others]
    sections = [s for a, b in pairs for s in _device(a, b, several=len(pairs) > 1)]
    if not pairs:
        sections = [Section("Verdict", (Paragraph("The two have no device in common."),))]
    sections.append(_findings(before, after))
    title = f"Memory: {before.title} → {after.title}"
    return Document(title, "one recording of each: what differs", tuple(sections))


def _device(a: MemoryAnswer, b: MemoryAnswer, several: bool) -> list[Section]:
    suffix = f" ({a.device})" if several else ""
    changed = f"{size(a.peak)} → {size(b.peak)}"
    ratio = f" ({share(b.peak / a.peak - 1)})" if a.peak else ""
    numbers: list[tuple[str, int, int]] = [
        ("peak live", a.peak, b.peak),
        ("peak reserved", a.peak_reserved, b.peak_reserved),
        ("live before recording", a.before, b.before),
        ("live at the end", a.end, b.end),
        ("grows a step", _rate(a), _rate(b)),
    ]
    rows = tuple(_row((name,), x, y) for name, x, y in numbers if x or y)
    return [
        Section(f"Verdict{suffix}", (
            Paragraph(f"Peak on {a.device}: {changed}{ratio}.", strong=True),
            Table("numbers", (Column(""), *_BYTES), rows),
        )),
        Section(f"What the peaks are made of{suffix}", (
            Table("categories", (Column("made of"), *_BYTES), _matched(_made(a), _made(b))),
        )),
        Section(f"Who holds them{suffix}", (
            Table("holders", (Column("line"), Column("operator"), Column("what"), *_BYTES),
                  _matched(_held(a), _held(b))),
        )),
    ]  # fmt: skip


def _rate(a: MemoryAnswer) -> int:
    return round(sum(g.per_step for g in a.growth))


def _made(a: MemoryAnswer) -> Counter[tuple[str, ...]]:
    return Counter({(c.value,): n for c, n, _ in a.categories})


def _held(a: MemoryAnswer) -> Counter[tuple[str, ...]]:
    found: Counter[tuple[str, ...]] = Counter()
    for h in a.holders:
        found[h.site.line or "unknown", h.site.operator, h.category.value] += h.size
    return found


def _matched(a: Counter[tuple[str, ...]], b: Counter[tuple[str, ...]]) -> tuple[Row, ...]:
    """Rows of both by name, the largest change first."""
    rows = [_row(key, a[key], b[key]) for key in {**a, **b}]
    return tuple(sorted(rows, key=lambda r: (-abs(int(str(r[-1]))), str(r[0]))))


def _row(key: tuple[str, ...], before: int, after: int) -> Row:
    return (*key, before, after, after - before)


def _findings(before: MemoryReport, after: MemoryReport) -> Section:
    old, new = ({(f.title, f.line) for f in r.findings} for r in (before, after))
    lines = [f"gone: {_told(f)}" for f in sorted(old - new)]
    lines += [f"new: {_told(f)}" for f in sorted(new - old)]
    lines += [f"still there: {_told(f)}" for f in sorted(old & new)]
    return Section("Findings", (Items(tuple(lines or ["none in either"])),))


def _told(found: tuple[str, str]) -> str:
    title, line = found
    return f"{title}, at {line}" if line else title
