"""Every single number of two reports side by side. Pure; times are ns per step."""

from __future__ import annotations

from collections.abc import Callable

from timesink.model.comparison import Pair, Unit
from timesink.model.owners import DEVICE_OWNERS, Owner
from timesink.model.report import Report
from timesink.model.results import Analysis


def numbers(before: Report, after: Report) -> tuple[Pair, ...]:
    """All of them, also those that are unknown on a side."""
    pairs = [
        *(_owner_pair(o, before.analysis, after.analysis) for o in Owner),
        _pair("device_busy", "share", before, after, _busy),
        _pair("device_idle", "share", before, after, _idle),
        _pair("launches", "count", before, after, _launches),
        _pair("kernels", "count", before, after, lambda r: _calls(r, "kernels")),
        _pair("operators", "count", before, after, lambda r: _calls(r, "ops")),
        _pair("copies", "count", before, after, lambda r: _calls(r, "copies")),
        _pair("peak_memory", "bytes", before, after, _peak),
        _pair("peak_reserved", "bytes", before, after, _reserved),
        _pair("peak_rss", "bytes", before, after, _rss),
    ]
    return tuple(pairs)


def _pair(
    name: str, unit: Unit, before: Report, after: Report, read: Callable[[Report], float | None]
) -> Pair:
    return Pair(name, unit, read(before), read(after))


def _owner_pair(owner: Owner, a: Analysis | None, b: Analysis | None) -> Pair:
    def read(x: Analysis | None) -> float | None:
        if x is None or not x.breakdown.steps:
            return None
        if not x.breakdown.device_known:
            return None
        return x.breakdown.total(owner) / len(x.breakdown.verdict_steps)

    return Pair(owner.slug, "time", read(a), read(b))


def _busy(r: Report) -> float | None:
    b = r.analysis.breakdown if r.analysis else None
    if b is None or not b.steps or not b.has_device or not b.device_known:
        return None
    return sum(b.share(o) for o in DEVICE_OWNERS)


def _idle(r: Report) -> float | None:
    busy = _busy(r)
    return None if busy is None else 1 - busy


def _launches(r: Report) -> float | None:
    """Launch calls within steps, per step; None for a trace without a device."""
    a = r.analysis
    if a is None or not a.steps_counted or not a.breakdown.has_device:
        return None
    kinds = ("launch", "graph launch")
    return sum(row.calls for row in a.runtime if row.kind in kinds) / a.steps_counted


def _calls(r: Report, table: str) -> float | None:
    a = r.analysis
    if a is None or not a.steps_counted:
        return None
    if table != "ops" and not device_known(a):
        return None
    return float(sum(row.calls for row in getattr(a, table)) / a.steps_counted)


def device_known(a: Analysis | None) -> bool:
    """Whether it ran on a device and its device rows are there."""
    return a is not None and a.breakdown.has_device and a.breakdown.device_known


def _peak(r: Report) -> float | None:
    curves = r.analysis.memory if r.analysis else ()
    return max((float(m.peak_allocated) for m in curves), default=None)


def _reserved(r: Report) -> float | None:
    """Allocators that report no reserved memory have an unknown one, not none."""
    curves = r.analysis.memory if r.analysis else ()
    return max((float(m.peak_reserved) for m in curves if any(m.reserved)), default=None)


def _rss(r: Report) -> float | None:
    return float(max(r.light.rss, default=0)) or None if r.light is not None else None
