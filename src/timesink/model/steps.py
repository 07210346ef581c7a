"""Steps of the profiled window and who owned their time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from timesink.model.owners import Owner

StepSource = Literal["ProfilerStep", "marks", "window"]


@dataclass(frozen=True, slots=True)
class Step:
    """One step of the window: wall time is ``[start_ns, end_ns)`` of its mark.

    ``number`` is the N of ``ProfilerStep#N`` (or the position). ``first`` marks the first recorded
    step (profiler start-up), ``compiled`` a step in which a compiler ran; both are kept out of
    verdicts (``in_verdict`` False) unless nothing else is left. ``device_ns`` sums the device rows
    (kernel, memcpy, memset) launched by this step wherever they ran; None: device time unknown.
    """

    number: int
    start_ns: int
    end_ns: int
    first: bool = False
    compiled: bool = False
    in_verdict: bool = True
    device_ns: int | None = None
    device_rows: int = 0
    launches: int = 0

    @property
    def wall_ns(self) -> int:
        """Wall time in ns."""
        return self.end_ns - self.start_ns


@dataclass(frozen=True, slots=True)
class StepBreakdown:
    """One step: ``owner_ns`` is aligned with ``Owner`` and sums to the wall time."""

    step: Step
    owner_ns: tuple[int, ...]

    def of(self, owner: Owner) -> int:
        """Nanoseconds owned by ``owner``."""
        return self.owner_ns[list(Owner).index(owner)]


@dataclass(frozen=True, slots=True)
class Breakdown:
    """All recorded steps.

    ``source`` says how the steps were found ("window": no marks, one step spanning everything).
    ``tail_ns`` is device work after the end of the last step, in no step's wall time.
    ``device_known`` is False where launches exist but no device rows were recorded: device owners
    are then 0 because they are *unknown*, and must never be printed as "0 % busy".
    ``has_device`` is False for a trace of a CPU-only job.
    """

    steps: tuple[StepBreakdown, ...]
    source: StepSource
    has_device: bool = False
    device_known: bool = True
    tail_ns: int = 0

    @property
    def verdict_steps(self) -> tuple[StepBreakdown, ...]:
        """The steps that verdicts are made from; all of them if every one is marked."""
        return tuple(s for s in self.steps if s.step.in_verdict) or self.steps

    @property
    def wall_ns(self) -> int:
        """Summed wall time of the verdict steps."""
        return sum(s.step.wall_ns for s in self.verdict_steps)

    def total(self, owner: Owner) -> int:
        """Nanoseconds of ``owner`` over the verdict steps."""
        return sum(s.of(owner) for s in self.verdict_steps)

    def share(self, owner: Owner) -> float:
        """Share of the verdict steps' wall time, 0..1."""
        wall = self.wall_ns
        return self.total(owner) / wall if wall else 0.0

    @property
    def mean_step_ns(self) -> float:
        """Mean wall time of a verdict step in ns (0.0 when there is none)."""
        steps = self.verdict_steps
        return self.wall_ns / len(steps) if steps else 0.0
