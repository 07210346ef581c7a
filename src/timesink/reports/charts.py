"""Charts as values: step times, the breakdown per step, memory over the window."""

from __future__ import annotations

from itertools import pairwise

from timesink.model.owners import Owner
from timesink.model.results import MemoryCurve
from timesink.model.run import LightSteps
from timesink.model.steps import Breakdown
from timesink.reports.document import Chart, Distribution, Series

#: More steps than this are thinned by taking the slowest of each bin: outliers stay visible.
POINTS = 1200


def steps_chart(light: LightSteps) -> Chart:
    """Wall time of all steps, with the parts of each and a mark on unusual ones."""
    chosen = _thinned(light.wall_ns)
    rest = [light.rest_ns(i) for i in chosen]
    series = (
        Series("data loading", tuple(float(light.data_ns[i]) for i in chosen)),
        Series("forward", tuple(float(light.forward_ns[i]) for i in chosen)),
        Series("backward", tuple(float(light.backward_ns[i]) for i in chosen)),
        Series("optimizer", tuple(float(light.optimizer_ns[i]) for i in chosen)),
        Series("other Python", tuple(float(r) for r in rest)),
    )
    marks = tuple(mark(light, i) for i in chosen)
    thinned = ""
    if len(chosen) < len(light):
        thinned = (
            f"{len(light):,} steps do not fit: of every {len(light) / len(chosen):.1f} steps "
            "the slowest is shown."
        )
    x = tuple(map(float, chosen))
    return Chart("wall time of each step", "steps", x, series, "time", "step", marks, thinned)


def mark(light: LightSteps, i: int) -> str:
    """What sets a step apart, in a word; empty for a usual one."""
    if light.compiled[i]:
        return "compiled"
    if light.profiled[i]:
        return "profiled"
    if light.kind[i] != "train":
        return light.kind[i]
    return "epoch start" if light.boundary[i] else ""


def _thinned(walls: tuple[int, ...]) -> list[int]:
    if len(walls) <= POINTS:
        return list(range(len(walls)))
    edges = [round(k * len(walls) / POINTS) for k in range(POINTS + 1)]
    return [max(range(a, b), key=walls.__getitem__) for a, b in pairwise(edges) if b > a]


def breakdown_chart(b: Breakdown) -> Chart:
    """Owners of each recorded step, stacked."""
    used = [o for o in Owner if any(s.of(o) for s in b.steps)]
    series = tuple(Series(o.value, tuple(float(s.of(o)) for s in b.steps)) for o in used)
    marks = tuple(
        "compiled" if s.step.compiled else "first" if s.step.first else "" for s in b.steps
    )
    x = tuple(float(s.step.number) for s in b.steps)
    return Chart(
        "breakdown of each recorded step", "stack", x, series, "time", "recorded step", marks
    )


def memory_chart(m: MemoryCurve, origin: int) -> Chart:
    """Allocated and reserved bytes over the window (x in ms)."""
    x = tuple((t - origin) / 1e6 for t in m.ts_ns)
    series = [Series("allocated", tuple(map(float, m.allocated)))]
    if any(m.reserved):
        series.append(Series("reserved", tuple(map(float, m.reserved))))
    return Chart(f"memory {m.device}", "line", x, tuple(series), "bytes", "ms into the window")


def distribution_chart(d: Distribution) -> Chart:
    """A distribution as a line chart: x in ms where it is of times."""
    scale = 1e6 if d.unit == "time" else 1.0
    x = tuple(edge / scale for edge in d.edges)
    series = tuple(Series(s.label, (*s.values, 0.0)) for s in d.series)
    label = "ms" if d.unit == "time" else ""
    return Chart(d.name, "line", x, series, "share", label, (), d.beyond)
