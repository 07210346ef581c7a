"""What memory is made of: answers from a snapshot of the allocator or from a trace's memory rows.

Frozen values; bytes, and ns where a time is meant. *Live* is what tensors asked for and have not
given back (``requested_size``; rounding and cached blocks are the allocator's own). *Reserved* is
what the allocator holds of the device.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Category(str, Enum):
    """What an allocation is for, by where it was made and when it was freed.

    parameters: made by moving or making modules; gradients: made in backward and alive after it;
    optimizer state: made in ``Optimizer.step`` and alive after it; activations: made in forward and
    alive in backward; inputs: made by data loading; temporaries: freed in the part of the step that
    made them; before: there already when recording began, of unknown origin; unknown: the rest.
    """

    PARAMETERS = "parameters"
    GRADIENTS = "gradients"
    OPTIMIZER = "optimizer state"
    ACTIVATIONS = "activations"
    INPUTS = "inputs"
    TEMPORARIES = "temporaries"
    BEFORE = "before recording"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Site:
    """A place that allocates. ``line``: innermost line of the user's ("train.py(31): step"), else
    of anybody; ``stack`` innermost first, joined by ``;``; "" what is not known."""

    line: str = ""
    operator: str = ""
    module: str = ""
    stack: str = ""
    phase: str = ""


@dataclass(frozen=True, slots=True)
class Holder:
    """What one site holds at one moment."""

    site: Site
    category: Category
    size: int
    blocks: int
    largest: int


@dataclass(frozen=True, slots=True)
class Growth:
    """A site whose live bytes rise from step to step, compared at the ends of steps.

    ``per_step`` bytes over ``steps`` steps; ``series`` at each end. ``left``: steps until the
    device's memory is used up at that rate, None where its size is unknown.
    """

    site: Site
    category: Category
    per_step: float
    steps: int
    series: tuple[int, ...]
    left: int | None = None


@dataclass(frozen=True, slots=True)
class MemoryTimeline:
    """Live bytes by category. ``at``: event positions; ``ns`` their times since the first;
    ``categories[i]`` names ``live[i]``; ``reserved`` empty where it is unknown. Thinned, peaks
    kept."""

    at: tuple[int, ...]
    ns: tuple[int, ...]
    categories: tuple[Category, ...]
    live: tuple[tuple[int, ...], ...]
    reserved: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class SegmentRow:
    """One segment with its blocks as (offset, size, state): 0 free, 1 live, 2 awaiting free."""

    address: int
    size: int
    stream: int
    kind: str
    pool: str
    expandable: bool
    live: int
    largest_free: int
    blocks: tuple[tuple[int, int, int], ...]


@dataclass(frozen=True, slots=True)
class Fragmentation:
    """``reserved`` = ``live`` + ``rounding`` (asked for less than the block) + ``free``; of the
    free bytes ``stuck`` lie in segments that also hold live blocks and cannot be returned."""

    reserved: int
    live: int
    rounding: int
    free: int
    stuck: int
    largest_free: int
    segments: int
    private_pools: int = 0  #: bytes reserved by pools other than the default one
    rows: tuple[SegmentRow, ...] = ()


@dataclass(frozen=True, slots=True)
class OutOfMemory:
    """An allocation that failed. ``device_free`` -1 where not said. ``message``: torch's own."""

    asked: int
    live: int
    reserved: int
    device_free: int
    largest_free: int
    site: Site
    capacity: int = 0
    message: str = ""
    fits: int = 0  #: the largest request that would have succeeded


@dataclass(frozen=True, slots=True)
class MemoryAnswer:
    """Everything known about one device.

    ``source`` "snapshot" or "trace". ``before``: bytes live when recording began. ``peak``: highest
    live bytes, at event ``peak_at``; ``peak_phase`` the part of the step that allocated last then.
    ``end``: live at the end; ``agrees``: whether that equals the blocks' own sum (snapshots).
    ``spikes``: the largest single temporaries. ``relief``: lines, and by how many bytes the peak
    would be lower without their temporaries. ``unwalked``: lines of forward passes whose graph no
    backward walked; ``walked``: those of which backward freed a block. ``idle_gradients``: by
    how much the peak would be lower without gradients in forward. ``capacity`` of the device, 0
    unknown.
    """

    device: str
    source: str
    events: int = 0
    allocations: int = 0
    before: int = 0
    peak: int = 0
    peak_at: int = -1
    peak_phase: str = ""
    peak_step: int | None = None
    peak_reserved: int = 0
    end: int = 0
    agrees: bool | None = None
    steps: int = 0
    capacity: int = 0
    categories: tuple[tuple[Category, int, int], ...] = ()  #: at the peak: bytes, blocks
    holders: tuple[Holder, ...] = ()  #: at the peak, largest first
    growth: tuple[Growth, ...] = ()
    spikes: tuple[Holder, ...] = ()
    relief: tuple[tuple[str, int, Holder], ...] = ()
    unwalked: tuple[str, ...] = ()
    walked: tuple[str, ...] = ()
    idle_gradients: int = 0
    timeline: MemoryTimeline | None = None
    fragmentation: Fragmentation | None = None
    oom: OutOfMemory | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MemoryFinding:
    """One diagnosis of memory. ``size`` bytes are at stake, ``share`` of the peak."""

    rule: str
    number: str  #: row of the catalogue, "m1"
    title: str
    size: int
    share: float
    evidence: tuple[str, ...]
    advice: str
    line: str = ""


@dataclass(frozen=True, slots=True)
class MemoryReport:
    """The answers of one file or run, and what follows."""

    title: str
    headline: str
    answers: tuple[MemoryAnswer, ...]
    findings: tuple[MemoryFinding, ...] = ()
    settings: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()
    schema_version: int = 1


@dataclass(frozen=True, slots=True)
class FitRun:
    """What one measured run holds at its peak: bytes by category, parameters included."""

    categories: tuple[tuple[Category, int], ...]

    @property
    def total(self) -> int:
        """All of them."""
        return sum(size for _, size in self.categories)


@dataclass(frozen=True, slots=True)
class Fit:
    """Peak live bytes as ``fixed + per_sample * batch``, from two runs. ``largest``: the largest
    batch that fits into ``capacity``, None where that cannot be said."""

    capacity: int
    batch: int
    once: FitRun
    twice: FitRun | None
    fixed: int
    per_sample: float
    largest: int | None
    notes: tuple[str, ...] = ()
    schema_version: int = 1

    def at(self, batch: int) -> int:
        """Predicted peak of another batch size."""
        return self.fixed + round(self.per_sample * batch)
