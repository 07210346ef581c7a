"""Distributions as lines of text, for terminals and Markdown."""

from __future__ import annotations

from timesink.reports.cells import cell
from timesink.reports.document import Column, Distribution

_LEVELS = "▁▂▃▄▅▆▇█"


def sparks(d: Distribution) -> tuple[str, ...]:
    """One line per series, over one common axis, and the axis itself."""
    width = max((len(s.label) for s in d.series), default=0)
    top = max((max(s.values, default=0.0) for s in d.series), default=0.0) or 1.0
    lines = [f"{s.label:<{width}}  {''.join(_level(v / top) for v in s.values)}" for s in d.series]
    low, high = (cell(v, Column("", d.unit)) for v in (d.edges[0], d.edges[-1]))
    room = max(1, len(d.edges) - 1 - len(low) - len(high))
    lines.append(f"{'':<{width}}  {low}{' ' * room}{high}")
    return (*lines, *((d.beyond,) if d.beyond else ()))


def _level(height: float) -> str:
    if height <= 0:
        return " "
    return _LEVELS[min(len(_LEVELS) - 1, int(height * len(_LEVELS)))]
