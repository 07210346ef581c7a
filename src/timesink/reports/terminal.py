"""The report on a terminal: plain when piped, readable at 80 columns, never a raw control byte."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from timesink.model.report import Report
from timesink.reports import units
from timesink.reports.cells import cell
from timesink.reports.document import (
    Bar,
    Block,
    Chart,
    Code,
    Distribution,
    Document,
    FindingBlock,
    Items,
    Paragraph,
    Section,
    Table,
    TimelineBlock,
)
from timesink.reports.palette import TERMINAL
from timesink.reports.sections import build
from timesink.reports.sparks import sparks

_MARGIN = 2
_NAME_MIN = 24
#: Columns that a narrow terminal can do without, least useful first.
_SPARE = (
    "launched by", "rows", "streams", "sum of rows", "mean call", "garbage collection", "rest",
    "graph launches", "longest delay", "compute", "communication", "class", "line", "max",
    "mean", "kind", "launch delay",
    "in operator", "device idle", "share of idle", "total device/step", "total CPU/step",
    "calls", "phase",
)  # fmt: skip


def print_report(report: Report, console: Console | None = None, *, verbose: bool = False) -> None:
    """Print everything a person wants first; ``verbose`` prints the rest and longer tables."""
    print_document(build(report), console or Console(), verbose=verbose)


def print_document(document: Document, console: Console, *, verbose: bool = False) -> None:
    """Print any document; ``detail`` sections and long tables only where ``verbose``."""
    console.print(_text(document.title, console, "bold"), highlight=False)
    if document.subtitle:
        console.print(_text(document.subtitle, console, "dim"), highlight=False)
    for section in document.sections:
        hidden = section.html_only or (section.detail and not verbose and not _brief(section))
        if not hidden and any(not isinstance(b, (Chart, TimelineBlock)) for b in section.blocks):
            _section(section, console, verbose)


def _brief(section: Section) -> bool:
    """Whether a detailed section has a sentence that belongs into a short report."""
    return any(isinstance(b, Paragraph) for b in section.blocks)


def _section(section: Section, console: Console, verbose: bool) -> None:
    console.print()
    console.print(
        _text(section.title, console, "bold underline" if console.is_terminal else "bold")
    )
    if not console.is_terminal:
        console.print("-" * len(section.title))
    for block in section.blocks:
        _block(block, console, verbose)


def _block(block: Block, console: Console, verbose: bool) -> None:
    if isinstance(block, Paragraph):
        console.print(_text(block.text, console, "bold" if block.strong else ""), highlight=False)
    elif isinstance(block, Bar):
        _bar(block, console)
    elif isinstance(block, Table):
        print_table(block, console, None if verbose else block.brief)
    elif isinstance(block, FindingBlock):
        _finding(block, console)
    elif isinstance(block, Distribution):
        for line in sparks(block) if _unicode(console) else ():
            console.print(_text(line, console), highlight=False, soft_wrap=True)
    elif isinstance(block, Code):
        for line in block.text.splitlines():
            code = Text.assemble("    ", _text(line, console, "green"))
            console.print(code, highlight=False, soft_wrap=True)
    elif isinstance(block, Items):
        for item in block.items:
            _hanging("- ", item, console)


def _text(text: str, console: Console, style: str = "") -> Text:
    """Text that can do nothing to the terminal and that the terminal can show."""
    clean = units.clean(text)
    return Text(clean if _unicode(console) else units.ascii_only(clean), style=style)


def _hanging(bullet: str, text: str, console: Console, style: str = "") -> None:
    """A paragraph with its later lines indented under the first."""
    lines = _text(text, console, style).wrap(console, max(20, console.width - len(bullet)))
    for i, line in enumerate(lines):
        line.rstrip()
        lead = bullet if i == 0 else " " * len(bullet)
        console.print(Text.assemble(lead, line), highlight=False, soft_wrap=True)


def _bar(bar: Bar, console: Console) -> None:
    """The split of a step: one coloured bar, then its legend with times."""
    unicode = _unicode(console)
    width = max(20, min(console.width - 2, 100))
    line, edge, done = Text(), 0.0, 0
    letters = _letters([p.label for p in bar.parts])
    for part in bar.parts:
        edge += part.share * width
        cells = round(edge) - done
        done += cells
        letter = "█" if unicode and console.color_system else letters[part.label]
        line.append(letter * cells, style=TERMINAL.get(part.label, "white"))
    console.print(line, highlight=False, no_wrap=True, overflow="crop")
    grid = Grid.grid(padding=(0, 2))
    for justify in ("left", "left", "right", "right"):
        grid.add_column(justify=justify)
    for part, share in zip(bar.parts, units.shares([p.share for p in bar.parts]), strict=True):
        mark = "■" if unicode and console.color_system else letters[part.label]
        grid.add_row(
            Text(mark, style=TERMINAL.get(part.label, "white")),
            _text(part.label, console),
            Text(share),
            _text(units.time(part.ns), console),
        )
    console.print(grid, highlight=False)


def _letters(labels: Sequence[str]) -> dict[str, str]:
    """A letter of its own for each label, from the label where possible: bars without colour."""
    used: dict[str, str] = {}
    for label in labels:
        free = [c.upper() for c in f"{label}*+=o#%&@" if c.isalpha() or not c.isalnum()]
        used[label] = next((c for c in free if c not in used.values() and c not in " /"), "?")
    return used


def _unicode(console: Console) -> bool:
    return (console.encoding or "").lower().replace("-", "") in ("utf8", "utf16")


def _finding(block: FindingBlock, console: Console) -> None:
    console.print()
    cost = f"at most {units.share(block.share)} of a step ({units.time(block.cost_ns)})"
    head = f"{block.title}: {block.claim or cost}"
    _hanging("* ", head, console, "bold yellow")
    for evidence in block.evidence:
        _hanging("    seen  ", evidence, console)
    _hanging("    try   ", block.advice, console)
    if block.command:
        # Never broken into lines, so that it can be copied.
        command = Text.assemble(" " * 10, _text(block.command, console, "green"))
        console.print(command, highlight=False, soft_wrap=True)
    if block.caveat:
        _hanging("    note  ", block.caveat, console, "dim")


def print_table(table: Table, console: Console, limit: int | None = 10) -> None:
    """A table that fits: names are shortened in the middle, spare columns left out if need be."""
    rows = table.rows if limit is None else table.rows[:limit]
    if not rows:
        return
    cells = [[cell(v, c) for v, c in zip(r, table.columns, strict=True)] for r in rows]
    kept = _fitting(table, cells, console.width)
    widths = _widths(table, cells, kept, console.width)
    grid = Grid(box=None, pad_edge=False, padding=(0, 1), header_style="dim", show_edge=False)
    for i in kept:
        right = table.columns[i].kind != "text"
        grid.add_column(table.columns[i].title, justify="right" if right else "left",
                        no_wrap=True, overflow="crop")  # fmt: skip
    shown = [units.distinct([row[i] for row in cells], widths[i]) for i in kept]
    for row in zip(*shown, strict=True):
        grid.add_row(*[_text(text, console) for text in row])
    console.print(grid, highlight=False)
    if len(rows) < len(table.rows):
        more = len(table.rows) - len(rows)
        console.print(_text(f"… {more:,} more", console, "dim"), highlight=False)


def _natural(table: Table, cells: Sequence[Sequence[str]], i: int) -> int:
    return max(len(table.columns[i].title), *(len(r[i]) for r in cells))


def _fitting(table: Table, cells: Sequence[Sequence[str]], width: int) -> list[int]:
    """Columns to show, so that the first still gets a readable width."""
    kept = list(range(len(table.columns)))
    for title in _SPARE:
        others = sum(_natural(table, cells, i) + _MARGIN for i in kept[1:])
        first = min(_natural(table, cells, 0), _NAME_MIN)
        if others + first <= width:
            break
        kept = [i for i in kept if i == 0 or table.columns[i].title != title]
    return kept


def _widths(
    table: Table, cells: Sequence[Sequence[str]], kept: list[int], width: int
) -> dict[int, int]:
    """Width of each shown column: all of what text and numbers need, the rest for the names."""
    widths = {i: _natural(table, cells, i) for i in kept}
    texts = [i for i in kept if table.columns[i].kind == "text"]
    spare = width - sum(widths.values()) - _MARGIN * len(kept)
    for i in sorted(texts, key=lambda i: -widths[i]):
        if spare >= 0:
            break
        floor = max(len(table.columns[i].title), _NAME_MIN if i == kept[0] else 10)
        cut = min(-spare, max(0, widths[i] - floor))
        widths[i] -= cut
        spare += cut
    return widths
