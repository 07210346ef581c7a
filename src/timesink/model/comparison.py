"""Two reports side by side: what changed, matched by name. Times are in ns *per step*."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from timesink.model.owners import Owner

Status = Literal["changed", "appeared", "vanished", "same"]
Unit = Literal["time", "bytes", "count", "share"]


@dataclass(frozen=True, slots=True)
class Pair:
    """One number before and after; None is unknown, which is never 0."""

    name: str
    unit: Unit
    before: float | None
    after: float | None

    @property
    def delta(self) -> float | None:
        """After minus before; None where one is unknown."""
        if self.before is None or self.after is None:
            return None
        return self.after - self.before

    @property
    def change(self) -> float | None:
        """Relative change, 0.05 for 5 % more; None where it cannot be said."""
        delta = self.delta
        return delta / self.before if delta is not None and self.before else None


@dataclass(frozen=True, slots=True)
class OwnerPair:
    """One owner's share of the step. ``delta`` is exact: the deltas of all owners sum to that of
    the step."""

    owner: Owner
    before: Fraction
    after: Fraction

    @property
    def delta(self) -> Fraction:
        """After minus before."""
        return self.after - self.before


@dataclass(frozen=True, slots=True)
class RowPair:
    """One operator, kernel or kind of copy. ``calls`` and times are per step; ``detail``: phase,
    shapes or memory kinds that it was matched by."""

    name: str
    detail: str
    status: Status
    calls_before: float
    calls_after: float
    ns_before: float
    ns_after: float

    @property
    def delta(self) -> float:
        """After minus before, ns per step."""
        return self.ns_after - self.ns_before


@dataclass(frozen=True, slots=True)
class Comparison:
    """``step``: the step time that is compared, ``step_source`` how it was measured; ``spread``:
    (5 %, 95 %) of single steps of each side, where both are runs. ``numbers``: everything else
    that is one number. ``ops`` by self CPU time, ``device_ops`` by self device time. ``ranks``:
    mean step per rank. ``notes``: what a reader has to know, the most important first."""

    before: str
    after: str
    step: Pair
    step_source: str
    spread: tuple[tuple[float, float], tuple[float, float]] | None = None
    owners: tuple[OwnerPair, ...] = ()
    numbers: tuple[Pair, ...] = ()
    ops: tuple[RowPair, ...] = ()
    device_ops: tuple[RowPair, ...] = ()
    kernels: tuple[RowPair, ...] = ()
    copies: tuple[RowPair, ...] = ()
    environment: tuple[tuple[str, str, str], ...] = ()
    ranks: tuple[Pair, ...] = ()
    notes: tuple[str, ...] = ()

    def find(self, name: str) -> Pair | None:
        """The step time or another number by its name."""
        return next((p for p in (self.step, *self.numbers) if p.name == name), None)
