"""Reproducibility: what was seeded, what a step's numbers were, and where two runs part.

Plain frozen values: ``reproducibility`` fills them, ``reports`` prints them, JSON stores them.
Fingerprints are hexadecimal text: equal text means equal bits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

#: set: done now; later: will be done when the library is imported; as it was: recorded, not
#: touched; not set: should have been and could not be, ``why`` says so; not there: does not apply.
DialState = Literal["set", "later", "as it was", "not set", "not there"]


@dataclass(frozen=True, slots=True)
class Dial:
    """One thing that decides whether two runs compute the same: its value and what was done."""

    name: str
    state: DialState
    value: str = ""
    why: str = ""

    def __str__(self) -> str:
        value = f" = {self.value}" if self.value else ""
        return f"{self.name}{value}: {self.state}" + (f" ({self.why})" if self.why else "")


@dataclass(frozen=True, slots=True)
class SeedRecord:
    """What :func:`timesink.seed_everything` did. ``remains``: sentences on what stays free to
    differ between two runs all the same."""

    seed: int
    deterministic: bool
    dials: tuple[Dial, ...] = ()
    remains: tuple[str, ...] = ()

    def of(self, *states: DialState) -> tuple[Dial, ...]:
        """The dials in one of these states."""
        return tuple(d for d in self.dials if d.state in states)

    def get(self, name: str) -> Dial | None:
        """One dial by its name."""
        return next((d for d in self.dials if d.name == name), None)

    def __str__(self) -> str:
        head = f"seed {self.seed}" + (", deterministic algorithms" if self.deterministic else "")
        remains = [f"  remains: {r}" for r in self.remains]
        return "\n".join([head, *(f"  {d}" for d in self.dials), *remains])
