"""Experiments: what was changed, what each process showed, and what follows from it.

Plain frozen values: ``experiments`` fills them, ``reports`` prints them, the ledger stores them as
JSON. Times are in ns, memory in bytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

#: What a change may do to the numbers that training computes.
#: exact: nothing; rounding: the order of additions; reduced: a narrower number format;
#: training: another training (a larger batch), whose losses cannot be compared.
Numerics = Literal["exact", "rounding", "reduced", "training"]
#: typical: median over blocks of steps; mean: all steps, with epoch starts and validation.
Measure = Literal["typical", "mean"]
Purpose = Literal["check", "timed", "profile"]
Arm = Literal["A", "B"]


@dataclass(frozen=True, slots=True)
class Effect:
    """What one change did in one process. ``count`` of things changed: 0 says that it did not take
    effect, None that it cannot be known. ``scale``: samples in a step, relative to before."""

    name: str
    count: int | None
    text: str
    scale: float = 1.0


@dataclass(frozen=True, slots=True)
class Observation:
    """One process of an experiment, as measured.

    ``steps`` train steps were seen, of which the first ``warmup`` do not count. ``typical_ns``:
    median over blocks of consecutive steady steps of the block's mean; ``median_ns`` of the same
    steps; ``mean_ns`` over everything after the warm-up. ``block_ns``: the blocks. ``compile_ns``:
    what the steps in which a compiler ran took beyond a typical one. ``losses``: the tensor that
    backward was called on, in order; ``grad_norms`` at each optimizer step and ``inputs``
    (fingerprints of what the outermost module was given) in check runs only. ``epochs``: how often
    the loader that was iterated most began. ``others``: cores that
    other programs kept busy meanwhile, None where unknown. ``error``: how it ended if not well.
    """

    name: str
    arm: Arm
    purpose: Purpose
    steps: int = 0
    warmup: int = 0
    typical_ns: float = 0.0
    median_ns: float = 0.0
    mean_ns: float = 0.0
    compile_ns: float = 0.0
    block_ns: tuple[float, ...] = ()
    step_ns: tuple[int, ...] = ()
    losses: tuple[float, ...] = ()
    grad_norms: tuple[float, ...] = ()
    inputs: tuple[str, ...] = ()
    effects: tuple[Effect, ...] = ()
    peak_rss: int = 0
    device_allocated: int = 0
    device_reserved: int = 0
    seconds: float = 0.0
    others: float | None = None
    exit_code: int | None = None
    error: str = ""
    notes: tuple[str, ...] = ()
    epochs: int = 0


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate with its 95 % confidence interval."""

    estimate: float
    low: float
    high: float

    @property
    def half(self) -> float:
        """Half of its width, relative to the estimate."""
        return (self.high - self.low) / 2 / self.estimate if self.estimate else 0.0


Outcome = Literal["faster", "slower", "no difference", "too noisy", "not applied", "failed"]


@dataclass(frozen=True, slots=True)
class Speed:
    """How the step times compare. ``ratio`` > 1: the candidate is faster (per sample, where the
    batch size changed). ``itself``: the script against itself (odd against even processes), the
    noise floor. ``pairs`` of processes were compared."""

    outcome: Outcome
    text: str
    ratio: Interval | None = None
    itself: Interval | None = None
    pairs: int = 0
    before_ns: float = 0.0
    after_ns: float = 0.0


Sameness = Literal["bit-identical", "within tolerance", "diverges", "not comparable", "unknown"]


@dataclass(frozen=True, slots=True)
class Equivalence:
    """Whether training does the same. ``step``: index of the first backward that differs beyond
    the tolerance; ``compared``: how many were compared; ``expected``: a difference that the change
    explains (random numbers drawn elsewhere) and no error."""

    verdict: Sameness
    text: str
    compared: int = 0
    step: int | None = None
    worst: float = 0.0
    tolerance: float = 0.0
    expected: bool = True


@dataclass(frozen=True, slots=True)
class Change:
    """What is tried: one candidate, of one or more changes.

    ``interventions`` as typed ("num-workers=2"); ``patch``: a file of the user's. ``may_change``:
    what it may alter, in sentences; ``code``: the lines that make it permanent.
    """

    label: str
    interventions: tuple[str, ...] = ()
    patch: str = ""
    numerics: Numerics = "exact"
    measure: Measure = "typical"
    may_change: tuple[str, ...] = ()
    code: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Command:
    """A script or module with its arguments, as typed."""

    words: tuple[str, ...]
    module: bool = False


@dataclass(frozen=True, slots=True)
class Design:
    """Everything that fixes an experiment before it runs, so that it can be resumed.

    ``base``: interventions that both arms have (what ``tune`` has kept so far). ``steps`` 0: chosen
    by the first process. ``precision``: stop when the half width of the interval is below it.
    """

    before: Command
    after: Command
    change: Change
    base: tuple[str, ...] = ()
    seed: int = 0
    steps: int = 0
    seconds: float = 3.0
    budget_s: float = 300.0
    min_pairs: int = 4
    max_pairs: int = 12
    precision: float = 0.02
    timeout_s: float = 600.0
    profile: bool = True


@dataclass(frozen=True, slots=True)
class Experiment:
    """One experiment with all that is known of it so far.

    ``status``: "done", "interrupted" (can be resumed) or "running". ``prediction``: the finding of
    the profiled run that named this change: (title, upper bound as a share of the step).
    """

    name: str
    started: str
    design: Design
    observations: tuple[Observation, ...] = ()
    speed: Speed | None = None
    equivalence: Equivalence | None = None
    environment: tuple[tuple[str, str], ...] = ()
    diff: str = ""
    prediction: tuple[str, float] | None = None
    status: Literal["running", "interrupted", "done"] = "running"
    spent_s: float = 0.0
    notes: tuple[str, ...] = ()
    schema_version: int = 1

    def of(self, arm: Arm, purpose: Purpose) -> tuple[Observation, ...]:
        """The processes of one arm and purpose, in the order they ran."""
        return tuple(o for o in self.observations if o.arm == arm and o.purpose == purpose)


@dataclass(frozen=True, slots=True)
class Tuning:
    """What ``tune`` did: the verdict of the first profiled run, every experiment in order, what was
    kept, and the experiment of everything kept against the unchanged script (the last one, where a
    single change was kept). ``by_hand``: findings that only the user can act on."""

    name: str
    started: str
    command: Command
    headline: str
    tries: tuple[Experiment, ...] = ()
    kept: tuple[str, ...] = ()
    code: tuple[str, ...] = ()
    final: Experiment | None = None
    by_hand: tuple[str, ...] = ()
    untried: tuple[str, ...] = ()
    schema_version: int = 1
