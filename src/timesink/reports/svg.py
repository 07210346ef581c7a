"""Charts as plain SVG: no script needed, readable in print, a ``<title>`` on every mark."""

from __future__ import annotations

from markupsafe import Markup, escape

from timesink.reports import units
from timesink.reports.cells import cell
from timesink.reports.document import Chart, Column
from timesink.reports.palette import COLOURS

WIDTH, HEIGHT, LEFT, BOTTOM, TOP = 960, 220, 70, 30, 10


def css_name(label: str) -> str:
    """The class of a label's colour."""
    return "c-" + "".join(c if c.isalnum() else "-" for c in label.lower())


def colour_rules() -> tuple[str, str]:
    """Style rules of all colours for light and for dark."""
    light = "".join(f".{css_name(k)}{{--c:{a}}}" for k, (a, _) in COLOURS.items())
    dark = "".join(f".{css_name(k)}{{--c:{b}}}" for k, (_, b) in COLOURS.items())
    return light, dark


def chart(block: Chart) -> Markup:
    """One chart with its axes and legend."""
    if not block.x:
        return Markup("")
    top = _top(block)
    body = _line(block, top) if block.kind == "line" else _bars(block, top)
    title = escape(units.clean(block.name))
    return Markup(
        f'<figure class="chart" id="chart-{css_name(block.name)}"><svg viewBox="0 0 {WIDTH} '
        f'{HEIGHT}" role="img" aria-label="{title}">{_axes(block, top)}{body}</svg>'
        f"{_legend(block)}</figure>"
    )


def _top(block: Chart) -> float:
    """The largest value shown; far outliers are cut so that the usual steps stay visible."""
    if block.kind == "line":
        return max((max(s.values) for s in block.series), default=1.0) or 1.0
    totals = sorted(sum(s.values[i] for s in block.series) for i in range(len(block.x)))
    usual = totals[int(0.98 * (len(totals) - 1))]
    return min(totals[-1], 3 * usual if usual else totals[-1]) or 1.0


def _y(value: float, top: float) -> float:
    share = min(1.0, max(0.0, value / top))
    return TOP + (HEIGHT - BOTTOM - TOP) * (1 - share)


def _axes(block: Chart, top: float) -> str:
    column = Column("", block.unit)
    out = []
    for k in range(5):
        value = top * k / 4
        y = _y(value, top)
        out.append(
            f'<line class="grid" x1="{LEFT}" x2="{WIDTH}" y1="{y:.1f}" y2="{y:.1f}"/>'
            f'<text class="tick" x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">'
            f"{escape(cell(value, column))}</text>"
        )
    out.append(
        f'<text class="tick" x="{(LEFT + WIDTH) / 2}" y="{HEIGHT - 2}" text-anchor="middle">'
        f"{escape(block.x_label)} {block.x[0]:,.0f} to {block.x[-1]:,.0f}</text>"
    )
    return "".join(out)


def _bars(block: Chart, top: float) -> str:
    """Stacked bars, one per step; a dot above the unusual ones."""
    count = len(block.x)
    slot = (WIDTH - LEFT) / count
    gap = min(2.0, slot * 0.15) if slot > 2 else 0.0
    out = []
    for i, x in enumerate(block.x):
        left, base, parts = LEFT + i * slot, 0.0, []
        for s in block.series:
            value = s.values[i]
            if value <= 0:
                continue
            y1, y0 = _y(base + value, top), _y(base, top)
            base += value
            if y0 - y1 > 0.05:
                parts.append(
                    f'<rect class="{css_name(s.label)}" x="{left:.2f}" y="{y1:.1f}" '
                    f'width="{slot - gap:.2f}" height="{y0 - y1:.1f}"/>'
                )
        mark = block.marks[i] if block.marks else ""
        if mark:
            parts.append(
                f'<circle class="mark" cx="{left + slot / 2:.1f}" cy="{TOP - 4}" r="2.5"/>'
            )
        out.append(
            f"<g><title>{escape(_hover(block, i, x, base, mark))}</title>{''.join(parts)}</g>"
        )
    return "".join(out)


def _hover(block: Chart, i: int, x: float, total: float, mark: str) -> str:
    column = Column("", block.unit)
    parts = "\n".join(
        f"{s.label}: {cell(s.values[i], column)}" for s in block.series if s.values[i] > 0
    )
    return f"{block.x_label} {x:,.0f}: {cell(total, column)}{f' ({mark})' if mark else ''}\n{parts}"


def _line(block: Chart, top: float) -> str:
    """Step lines, since memory stays until the next event."""
    low, high = block.x[0], block.x[-1]
    span = (high - low) or 1.0
    out = []
    for s in block.series:
        points = [
            f"{LEFT + (WIDTH - LEFT) * (x - low) / span:.1f},{_y(v, top):.1f}"
            for x, v in zip(block.x, s.values, strict=True)
        ]
        title = escape(f"{s.label}: peak {cell(max(s.values), Column('', block.unit))}")
        out.append(
            f'<polyline class="line {css_name(s.label)}" points="{" ".join(points)}">'
            f"<title>{title}</title></polyline>"
        )
    return "".join(out)


def _legend(block: Chart) -> str:
    entries = "".join(
        f'<span class="key"><i class="{css_name(s.label)}"></i>{escape(s.label)}</span>'
        for s in block.series
        if any(s.values)
    )
    kinds = ", ".join(dict.fromkeys(m for m in block.marks if m))
    dots = f'<span class="key"><b class="dot"></b>{escape(kinds)}</span>' if kinds else ""
    return f"<figcaption>{entries}{dots}</figcaption>"
