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


#: What is compared of one step, in the order in which a step makes it: "generators" before it,
#: "inputs" and "outputs" of modules, "loss", "gradients", "parameters" and "optimizer" after it.
SECTIONS = ("generators", "inputs", "outputs", "loss", "gradients", "parameters", "optimizer")


@dataclass(frozen=True, slots=True)
class StepPrints:
    """The fingerprints of one step: (section, path, fingerprint), as recorded."""

    step: int
    entries: tuple[tuple[str, str, str], ...] = ()

    def of(self, section: str) -> dict[str, str]:
        """Path → fingerprint of one section."""
        return {path: text for s, path, text in self.entries if s == section}


@dataclass(frozen=True, slots=True)
class StepDifference:
    """The first step in which two runs differ, with every section and path that does.

    ``where``: (section, path), in the order of a step, so the first is the cause's. A path that
    one run lacks differs. ``ended``: one run has no such step at all.
    """

    step: int
    where: tuple[tuple[str, str], ...] = ()
    ended: bool = False

    @property
    def section(self) -> str:
        """The earliest section that differs ("" if one run just ended earlier)."""
        return self.where[0][0] if self.where else ""


@dataclass(frozen=True, slots=True)
class OperatorCall:
    """One operator as called: the fingerprints of all it was given and all it made.

    ``inputs`` and ``outputs``: (name of the argument, fingerprint; plain values are readable).
    ``module``: qualified name, "" outside modules. ``line``: "file:number (function)" of the
    user's code; in the backward pass that of the forward operator, and ``backward`` is true.
    ``generator``: "" if no random numbers are drawn, else whose: "default cpu", "own cpu".
    ``unwritten``: names of inputs in memory that ``torch.empty`` and the like gave out, with the
    line that did; nothing or only a part of it was written since. ``made_by``: one entry per
    input, the index of the call that last wrote to its memory, -1 if that is not known.
    """

    step: int
    index: int
    name: str
    module: str = ""
    line: str = ""
    inputs: tuple[tuple[str, str], ...] = ()
    outputs: tuple[tuple[str, str], ...] = ()
    backward: bool = False
    device: str = "cpu"
    generator: str = ""
    generator_seed: int = 0
    generator_state: str = ""
    unwritten: tuple[tuple[str, str], ...] = ()
    made_by: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class OperatorRecord:
    """Every operator of a window of steps in one process, and what the causes are judged by."""

    calls: tuple[OperatorCall, ...] = ()
    pid: int = 0
    clock: float = 0.0  #: seconds since 1970 when the record began
    threads: int = 0
    deterministic: bool = False
    hash_seed: str = ""  #: PYTHONHASHSEED, "" if random
    compiled: bool = False  #: some of the work ran in torch.compile regions, unseen
    truncated: bool = False


Cause = Literal[
    "generator", "kernel", "threads", "uninitialised", "clock", "process id", "data", "order",
    "number", "entropy", "file order", "hash", "address",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class OperatorDifference:
    """The first operator in which two records part, and why.

    ``a`` and ``b``: the call in either run (None: that run made no such call). ``names``: the
    inputs that differ, none if only the outputs do. ``cause``, ``text``: one sentence; ``dial``:
    what fixes it ("seed", "deterministic", "threads", "PYTHONHASHSEED", "" if only the program
    can); ``advice``: one sentence.
    """

    a: OperatorCall | None
    b: OperatorCall | None
    names: tuple[str, ...]
    cause: Cause
    text: str
    dial: str = ""
    advice: str = ""


SourceKind = Literal[
    "clock", "process id", "entropy", "file order", "generator", "hash", "address",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class SourceUse:
    """A place of the program that takes something that differs from run to run: ``name`` of what
    was called, ``line`` as in :class:`OperatorCall`, how often, and whether in a forked process
    (a DataLoader worker)."""

    kind: SourceKind
    name: str
    line: str
    count: int = 1
    in_worker: bool = False
