"""Allocations of one device, whoever recorded them, in one form.

A snapshot's history and a trace's ``[memory]`` rows both say when blocks came and went. Here they
become rows with a beginning and an end, counted in events: a block is live after event k when
``start <= k < end``. What existed before the first event starts at -1; what is alive at the end,
ends at :data:`ALIVE`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from timesink.model.memory import Category, Site
from timesink.model.owners import Phase

Ints = npt.NDArray[np.int64]
ALIVE = np.iinfo(np.int64).max
PHASES = list(Phase)
CATEGORIES = list(Category)


@dataclass(frozen=True, slots=True)
class Allocations:
    """One row per allocation; ``site`` codes ``sites``, ``phase`` the phase that allocated.

    ``count`` events in all, with ``ns`` since the first. ``event_phase`` and ``event_step`` say for
    every event in which phase (index of ``list(Phase)``) and step (-1: none) it was. ``ends``: the
    last event of each whole step. ``base``: bytes live at the beginning that are no rows.
    """

    device: str
    size: Ints
    start: Ints
    end: Ints
    site: Ints
    sites: tuple[Site, ...]
    phase: Ints
    count: int
    ns: Ints
    event_phase: Ints
    event_step: Ints
    ends: Ints
    base: int = 0
    unwalked: tuple[str, ...] | None = None  #: lines whose graph no backward walked, if known

    def live(self) -> Ints:
        """Bytes after each event; exact."""
        return self.base + curve(self.size, self.start, self.end, self.count)


def curve(size: Ints, start: Ints, end: Ints, count: int) -> Ints:
    """Live bytes after each of ``count`` events."""
    change = np.zeros(count + 1, np.int64)
    np.add.at(change, np.maximum(start, 0), size)
    ended = end < count
    np.subtract.at(change, end[ended], size[ended])
    return np.cumsum(change)[:count]


def lifetimes(addr: npt.NDArray[np.uint64], comes: npt.NDArray[np.bool_]) -> tuple[Ints, Ints]:
    """Pair what comes and goes at one address: (start, end) events of each block, in order of
    address and time. A block that goes without having come was there before (start -1); one that
    never goes is alive. One that comes twice in a row ended when its successor came."""
    count = len(addr)
    if not count:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    order = np.lexsort((np.arange(count), addr))
    came, place = comes[order], addr[order]
    follows = np.zeros(count, bool)  # the same address as the row before
    follows[1:] = place[1:] == place[:-1]
    following = np.append(np.where(follows[1:], order[1:], ALIVE), ALIVE)
    early = ~came & ~(follows & np.append(False, came[:-1]))
    start = np.concatenate([order[came], np.full(int(early.sum()), -1)])
    end = np.concatenate([following[came], order[early]])
    return start, end


def categories(a: Allocations) -> Ints:
    """Per allocation: an index into ``list(Category)``; see :class:`Category` for the rules."""
    phase = np.array([PHASES.index(p) for p in (Phase.FORWARD, Phase.BACKWARD, Phase.OPTIMIZER,
                                                Phase.DATA)])  # fmt: skip
    forward, backward, optimizer, data = (a.phase == p for p in phase)
    at_start = np.maximum(a.start, 0)
    steps = np.append(a.event_step, -2)
    ends = np.append(a.event_phase, -1)
    last = np.where(a.end < a.count, a.end, a.count)
    stayed = steps[last] == steps[at_start] if a.count else np.zeros(len(a.size), bool)
    same = stayed & (ends[last] == a.phase) & (a.start >= 0)
    found = np.full(len(a.size), CATEGORIES.index(Category.UNKNOWN))
    for rows, category in (
        (a.start < 0, Category.BEFORE),
        (forward, Category.ACTIVATIONS),
        (backward, Category.GRADIENTS),
        (optimizer, Category.OPTIMIZER),
        (data, Category.INPUTS),
        (same & (forward | backward | optimizer), Category.TEMPORARIES),
    ):
        found[rows] = CATEGORIES.index(category)
    made = np.array([s.phase == Category.PARAMETERS.value for s in a.sites] or [False], bool)
    if len(a.sites):
        found[made[a.site] & (a.site >= 0)] = CATEGORIES.index(Category.PARAMETERS)
    return found
