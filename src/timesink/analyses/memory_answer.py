"""From allocations to answers: the peak and what it is made of, what grows, single spikes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl

from timesink.analyses.allocations import CATEGORIES, PHASES, Allocations, Ints, categories, curve
from timesink.analyses.memory import thinned
from timesink.model.memory import (
    Category,
    Growth,
    Holder,
    MemoryAnswer,
    MemoryTimeline,
    Site,
)
from timesink.model.owners import Phase

POINTS = 1500  #: of a timeline
HOLDERS = 60  #: sites listed of the peak
_SPIKES = 10
#: Ends of steps from which growth can be told from chance.
_FEW = 3
_NOWHERE = Site()


def answer(a: Allocations, source: str, reserved: Ints | None = None) -> MemoryAnswer:
    """Everything that follows from the allocations alone; ``reserved`` bytes after each event go
    into the timeline, where they are known."""
    kinds = categories(a)
    live = a.live()
    peak = int(live.argmax()) if len(live) else -1
    done, undone = walked(a)
    at_peak = (a.start <= peak) & (a.end > peak)
    return MemoryAnswer(
        device=a.device,
        source=source,
        events=a.count,
        allocations=int((a.start >= 0).sum()),
        before=a.base + int(a.size[a.start < 0].sum()),
        peak=int(live[peak]) if peak >= 0 else a.base + int(a.size.sum()),
        peak_at=peak,
        peak_phase=PHASES[a.event_phase[peak]].value if peak >= 0 else "",
        peak_step=int(a.event_step[peak]) if peak >= 0 and a.event_step[peak] >= 0 else None,
        end=int(live[-1]) if len(live) else a.base + int(a.size.sum()),
        steps=len(a.ends),
        categories=_shares(a, kinds, at_peak),
        holders=_holders(a, kinds, at_peak)[:HOLDERS],
        growth=growth(a, kinds),
        spikes=spikes(a, kinds),
        relief=relief(a, kinds, at_peak),
        walked=done,
        idle_gradients=idle_gradients(a, kinds),
        unwalked=undone if a.unwalked is None else a.unwalked,
        timeline=timeline(a, kinds, reserved),
    )


def _shares(
    a: Allocations, kinds: Ints, chosen: np.ndarray
) -> tuple[tuple[Category, int, int], ...]:
    size = np.bincount(kinds[chosen], a.size[chosen], len(CATEGORIES)).astype(np.int64)
    count = np.bincount(kinds[chosen], minlength=len(CATEGORIES))
    size[CATEGORIES.index(Category.BEFORE)] += a.base
    rows = [(CATEGORIES[i], int(size[i]), int(count[i])) for i in np.argsort(-size) if size[i]]
    return tuple(rows)


def _holders(a: Allocations, kinds: Ints, chosen: np.ndarray) -> tuple[Holder, ...]:
    rows = (
        pl.DataFrame({"site": a.site[chosen], "kind": kinds[chosen], "size": a.size[chosen]})
        .group_by("site", "kind")
        .agg(total=pl.col("size").sum(), count=pl.len(), largest=pl.col("size").max())
        .sort(["total", "site", "kind"], descending=[True, False, False])
    )
    return tuple(
        Holder(_site(a, site), CATEGORIES[kind], total, count, largest)
        for site, kind, total, count, largest in rows.iter_rows()
    )


def _site(a: Allocations, code: int) -> Site:
    return a.sites[code] if 0 <= code < len(a.sites) else _NOWHERE


def growth(a: Allocations, kinds: Ints) -> tuple[Growth, ...]:
    """Sites whose live bytes never fall from one end of a step to the next and rise at half of
    them or more. The first step is left out: lazily made state appears in it."""
    ends = a.ends[1:] if len(a.ends) > _FEW else a.ends
    if len(ends) < _FEW:
        return ()
    first = np.searchsorted(ends, a.start)  # the first end at which it is live
    beyond = np.searchsorted(ends, a.end)  # the first at which it no longer is
    kept = np.flatnonzero((beyond > first) & (a.start >= 0))
    sites, dense = np.unique(a.site[kept], return_inverse=True)
    change = np.zeros((len(sites), len(ends) + 1), np.int64)
    np.add.at(change, (dense, first[kept]), a.size[kept])
    np.subtract.at(change, (dense, beyond[kept]), a.size[kept])
    series = np.cumsum(change, axis=1)[:, : len(ends)]
    steps = np.diff(series, axis=1)
    rising = (steps >= 0).all(axis=1) & (2 * (steps > 0).sum(axis=1) >= steps.shape[1])
    found = []
    for i in np.flatnonzero(rising):
        row = kept[dense == i]
        kind = CATEGORIES[int(np.bincount(kinds[row], a.size[row]).argmax())]
        rate = float(series[i, -1] - series[i, 0]) / (len(ends) - 1)
        values = tuple(series[i].tolist())
        found.append(Growth(_site(a, int(sites[i])), kind, rate, len(ends), values))
    return tuple(sorted(found, key=lambda g: -g.per_step))


def with_end(found: tuple[Growth, ...], room: int) -> tuple[Growth, ...]:
    """With the number of steps until ``room`` bytes are used up, all of them growing together."""
    total = sum(g.per_step for g in found)
    return tuple(replace(g, left=int(room / total)) for g in found) if total > 0 else found


def spikes(a: Allocations, kinds: Ints) -> tuple[Holder, ...]:
    """The largest single allocations that live only briefly: freed in the phase that made them."""
    brief = np.flatnonzero(kinds == CATEGORIES.index(Category.TEMPORARIES))
    order = brief[np.argsort(-a.size[brief], kind="stable")]
    best: dict[int, Holder] = {}
    for row in order[: 50 * _SPIKES].tolist():
        site = int(a.site[row])
        size = int(a.size[row])
        known = best.get(site)
        count = 1 if known is None else known.blocks + 1
        largest = size if known is None else known.largest
        best[site] = Holder(_site(a, site), Category.TEMPORARIES, largest, count, largest)
    return tuple(sorted(best.values(), key=lambda h: -h.largest)[:_SPIKES])


def relief(a: Allocations, kinds: Ints, at_peak: np.ndarray) -> tuple[tuple[str, int, Holder], ...]:
    """Per line with temporaries at the peak: by how much the peak would be lower without all of
    that line's temporaries; the most first."""
    brief = kinds == CATEGORIES.index(Category.TEMPORARIES)
    lines = np.array([*(s.line for s in a.sites), ""], object)[a.site]
    live, found = a.live(), []
    for line in sorted(set(lines[brief & at_peak].tolist()) - {""}):
        mine = brief & (lines == line)
        rest = live - curve(a.size[mine], a.start[mine], a.end[mine], a.count)
        saved = int(live.max()) - int(rest.max())
        there = np.flatnonzero(mine & at_peak)
        row = there[a.size[there].argmax()]
        size = int(a.size[row])
        holder = Holder(_site(a, int(a.site[row])), Category.TEMPORARIES, size, len(there), size)
        found.append((line, saved, holder))
    return tuple(sorted(found, key=lambda f: -f[1])[:_SPIKES])


def idle_gradients(a: Allocations, kinds: Ints) -> int:
    """By how much the peak would be lower if no gradient lived through a forward pass."""
    if not a.count:
        return 0
    mine = kinds == CATEGORIES.index(Category.GRADIENTS)
    level = curve(a.size[mine], a.start[mine], a.end[mine], a.count)
    live = a.live()
    idle = np.where(a.event_phase == PHASES.index(Phase.FORWARD), level, 0)
    return int(live.max()) - int((live - idle).max())


def walked(a: Allocations) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Lines with forward blocks: those of which a backward pass freed one, and the others."""
    forward, backward = PHASES.index(Phase.FORWARD), PHASES.index(Phase.BACKWARD)
    phase = np.append(a.event_phase, -1)
    freed = phase[np.where(a.end < a.count, a.end, a.count)] == backward
    made = (a.phase == forward) & (a.site >= 0)
    seen = {_site(a, s).line for s in np.unique(a.site[made]).tolist()} - {""}
    done = {_site(a, s).line for s in np.unique(a.site[made & freed]).tolist()} - {""}
    return tuple(sorted(done)), tuple(sorted(seen - done))


def timeline(a: Allocations, kinds: Ints, reserved: Ints | None = None) -> MemoryTimeline | None:
    """Live bytes by category, thinned."""
    if not a.count:
        return None
    kept = thinned(a.live(), POINTS)
    used = np.unique(kinds)
    base = CATEGORIES.index(Category.BEFORE)
    if a.base:
        used = np.union1d(used, [base])
    rows = []
    for kind in used:
        mine = kinds == kind
        level = curve(a.size[mine], a.start[mine], a.end[mine], a.count)
        rows.append(tuple((level[kept] + (a.base if kind == base else 0)).tolist()))
    return MemoryTimeline(
        tuple(kept.tolist()), tuple(a.ns[kept].tolist()), tuple(CATEGORIES[k] for k in used),
        tuple(rows), tuple(reserved[kept].tolist()) if reserved is not None else (),
    )  # fmt: skip
