"""Charts as plain SVG with hover titles, drawn here so that the page needs no chart library.

The plot stretches with the page, so it holds no text: labels stand around it as HTML. The view box
is 1000 wide and 1000 high whatever the chart.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from markupsafe import Markup

from timesink.reports import units
from timesink.reports.cells import cell
from timesink.reports.document import Chart, Column, Kind
from timesink.reports.palette import slug

_SIZE = 1000.0
#: A bar this many times the median is cut off at half of that height, and the chart says so.
_OUTLIER = 8.0
#: Places with a hover text along a line.
_HOVERS = 400


@dataclass(frozen=True, slots=True)
class Drawn:
    """A chart ready for the page.

    ``ticks``: (label, percent from the bottom); ``x_ticks``: (label, percent from the left);
    ``legend``: (label, colour class); ``description``: the chart in words.
    """

    name: str
    svg: Markup
    ticks: tuple[tuple[str, float], ...]
    x_ticks: tuple[tuple[str, float], ...]
    x_label: str
    legend: tuple[tuple[str, str], ...]
    marks: tuple[str, ...]
    note: str
    description: str


def draw(chart: Chart) -> Drawn:
    """Any chart."""
    line = chart.kind == "line"
    heights = [max(v) if line else sum(v) for v in zip(*_values(chart), strict=True)]
    top = _top(heights, cut=not line)
    body = _lines(chart, top) if line else _bars(chart, top)
    frame = Markup('<svg viewBox="0 0 1000 1000" preserveAspectRatio="none">{}</svg>')
    return Drawn(
        chart.name,
        frame.format(body),
        _ticks(top, chart.unit),
        _x_ticks(chart),
        chart.x_label,
        tuple((s.label, slug(s.label)) for s in chart.series if any(s.values)),
        tuple(dict.fromkeys(m for m in chart.marks if m)),
        _note(chart, heights, top),
        _description(chart, heights),
    )


def _values(chart: Chart) -> list[tuple[float, ...]]:
    return [s.values for s in chart.series]


def _top(heights: Sequence[float], cut: bool) -> float:
    if not heights or max(heights) <= 0:
        return 1.0
    typical = median(heights)
    if cut and typical > 0 and max(heights) > _OUTLIER * typical:
        return typical * _OUTLIER / 2
    return max(heights) * 1.05


def _note(chart: Chart, heights: Sequence[float], top: float) -> str:
    notes = []
    cut = sum(h > top for h in heights)
    if cut:
        what = "bar is" if cut == 1 else "bars are"
        highest = cell(max(heights), Column("", chart.unit))
        notes.append(f"{cut} {what} taller than the chart (up to {highest}).")
    if chart.thinned:
        notes.append(chart.thinned)
    return " ".join(notes)


def _description(chart: Chart, heights: Sequence[float]) -> str:
    if not heights:
        return "No values."
    low, middle, high = (
        cell(v, Column("", chart.unit)) for v in (min(heights), median(heights), max(heights))
    )
    return (
        f"{chart.name}: {len(heights):,} values by {chart.x_label}; "
        f"lowest {low}, median {middle}, highest {high}."
    )


def _bars(chart: Chart, top: float) -> Markup:
    """Stacked bars, one path per layer; marks at the top edge; a hover field over each bar."""
    count = len(chart.x)
    width = _SIZE / max(1, count)
    gap = min(width * 0.15, 4.0)
    below = [0.0] * count
    parts = []
    for series in chart.series:
        path = []
        for i, value in enumerate(series.values):
            low = min(_SIZE, below[i] / top * _SIZE)
            below[i] += value
            high = min(_SIZE, below[i] / top * _SIZE)
            if high - low > 0.05:
                corner = f"M{i * width + gap / 2:.2f} {_SIZE - low:.1f}"
                path.append(f"{corner}v{low - high:.1f}h{width - gap:.2f}v{high - low:.1f}z")
        parts.append(_path("".join(path), f"fill {slug(series.label)}"))
    for i, mark in enumerate(chart.marks):
        if mark:
            parts.append(_mark(mark, i * width + gap / 2, width - gap))
    parts += [_hover(i * width, width, _bar_title(chart, i, below[i])) for i in range(count)]
    return Markup("").join(parts)


def _mark(mark: str, x: float, width: float) -> Markup:
    shape = Markup('<rect class="mark m-{}" x="{:.2f}" y="-34" width="{:.2f}" height="26"/>')
    return shape.format("-".join(mark.split()), x, max(width, 1.0))


def _bar_title(chart: Chart, i: int, total: float) -> str:
    column = Column("", chart.unit)
    mark = f" ({chart.marks[i]})" if chart.marks and chart.marks[i] else ""
    lines = [f"{chart.x_label} {units.number(chart.x[i])}{mark}: {cell(total, column)}"]
    lines += [f"{s.label}: {cell(s.values[i], column)}" for s in chart.series if s.values[i]]
    return "\n".join(lines)


def _lines(chart: Chart, top: float) -> Markup:
    """Lines with steps, since a total holds until the next event."""
    if not chart.x:
        return Markup("")
    first, last = chart.x[0], chart.x[-1]
    scale = _SIZE / (last - first) if last > first else 0.0
    places = [(x - first) * scale for x in chart.x]
    parts = []
    for series in chart.series:
        ys = [_SIZE - max(0.0, min(_SIZE, v / top * _SIZE)) for v in series.values]
        steps = (f"H{x:.2f}V{y:.1f}" for x, y in zip(places[1:], ys[1:], strict=True))
        line = f"M{places[0]:.2f} {ys[0]:.1f}{''.join(steps)}H{_SIZE:.0f}"
        parts.append(_path(f"{line}V{_SIZE:.0f}H{places[0]:.2f}z", f"area {slug(series.label)}"))
        parts.append(_path(line, f"line {slug(series.label)}"))
    chosen = range(0, len(places), max(1, math.ceil(len(places) / _HOVERS)))
    edges = [places[i] for i in chosen] + [_SIZE]
    for (left, right), i in zip(pairwise(edges), chosen, strict=True):
        parts.append(_hover(left, right - left, _point_title(chart, i)))
    return Markup("").join(parts)


def _point_title(chart: Chart, i: int) -> str:
    column = Column("", chart.unit)
    lines = [f"{s.label}: {cell(s.values[i], column)}" for s in chart.series]
    return "\n".join([f"{chart.x[i]:,.3f} {chart.x_label}", *lines])


def _path(data: str, kind: str) -> Markup:
    return Markup('<path class="{}" d="{}"/>').format(kind, data) if data else Markup("")


def _hover(x: float, width: float, title: str) -> Markup:
    shape = Markup(
        '<rect class="hover" x="{:.2f}" y="0" width="{:.2f}" height="1000"><title>{}</title></rect>'
    )
    clean = "\n".join(units.clean(line) for line in title.split("\n"))
    return shape.format(x, max(width, 0.5), clean)


def _ticks(top: float, unit: Kind) -> tuple[tuple[str, float], ...]:
    step = _nice(top / 4, powers_of_two=unit == "bytes")
    column = Column("", unit)
    return tuple(
        (cell(i * step, column) if i else "0", 100 * i * step / top)
        for i in range(int(top / step) + 1)
    )


def _nice(rough: float, *, powers_of_two: bool) -> float:
    """The next of 1, 2, 5 times a power of ten, or the next power of two for bytes."""
    if powers_of_two:
        return float(2 ** math.ceil(math.log2(max(rough, 1.0))))
    power = 10.0 ** math.floor(math.log10(rough))
    return next((power * m for m in (1, 2, 5) if power * m >= rough), power * 10)


def _x_ticks(chart: Chart) -> tuple[tuple[str, float], ...]:
    count = len(chart.x)
    if not count:
        return ()
    if chart.kind == "line":
        first, last = chart.x[0], chart.x[-1]
        if last == first:
            return ((f"{first:,.1f}", 0.0),)
        return tuple((f"{first + f * (last - first):,.1f}", 100.0 * f) for f in (0, 0.5, 1))
    chosen = sorted({round(k * (count - 1) / 5) for k in range(6)})
    return tuple((units.number(chart.x[i]), 100 * (i + 0.5) / count) for i in chosen)
