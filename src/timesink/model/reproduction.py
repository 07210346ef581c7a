"""One check of reproducibility: what was run, where the runs parted, what was tried to fix it.

Plain frozen values: ``experiments.reproduction`` fills and keeps them, ``reports`` prints
them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from timesink.model.experiments import Command
from timesink.model.reproducibility import OperatorDifference, SourceUse, StepDifference

#: What timesink can turn from outside of a script.
SwitchName = Literal["seed", "PYTHONHASHSEED", "deterministic", "threads"]


@dataclass(frozen=True, slots=True)
class ReproProcess:
    """One process, with its folder's ``name``. ``operators``: its operators were hashed from step
    ``first`` to ``last``, else only fingerprints of each step were taken. ``error``: how it ended
    if not well."""

    name: str
    switches: tuple[SwitchName, ...] = ()
    operators: bool = False
    first: int = 0
    last: int = 0
    steps: int = 0
    seconds: float = 0.0
    exit_code: int | None = None
    error: str = ""


@dataclass(frozen=True, slots=True)
class Located:
    """Why two runs part. ``operator`` None: no operator on the training thread differs, ``note``
    says what that means. ``code``: the source line. ``sources``: the places of the program that may
    have let the difference in, the likeliest first; ``generators``: the global ones drawn from in
    this step whose states differ. ``candidates``: switches worth trying, in this order."""

    operator: OperatorDifference | None = None
    code: str = ""
    sources: tuple[SourceUse, ...] = ()
    generators: tuple[str, ...] = ()
    candidates: tuple[SwitchName, ...] = ()
    note: str = ""


@dataclass(frozen=True, slots=True)
class Round:
    """Runs with the same switches turned. ``steps`` were compared; ``difference`` None: all agree
    bit for bit. ``error``: the script fails with these switches."""

    switches: tuple[SwitchName, ...]
    steps: int = 0
    difference: StepDifference | None = None
    located: Located | None = None
    error: str = ""

    @property
    def same(self) -> bool:
        """Whether the runs agree."""
        return self.difference is None and not self.error


@dataclass(frozen=True, slots=True)
class Against:
    """The comparison with a saved fingerprint: of which run, where it differs, and the fields of
    the environment that differ (name, then, now)."""

    file: str
    started: str
    steps: int
    difference: StepDifference | None
    environment: tuple[tuple[str, str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Reproduction:
    """A whole check. ``rounds[0]`` is the script as asked for; later ones turn one switch more each
    to see whether it helps. ``steps``: wanted (0: to the end of the script)."""

    name: str
    started: str
    command: Command
    runs: int = 2
    steps: int = 0
    seed: int = 0
    timeout_s: float = 600.0
    switches: tuple[SwitchName, ...] = ()
    processes: tuple[ReproProcess, ...] = ()
    rounds: tuple[Round, ...] = ()
    against: Against | None = None
    saved: str = ""
    environment: tuple[tuple[str, str], ...] = ()
    status: Literal["running", "interrupted", "done"] = "running"
    spent_s: float = 0.0
    notes: tuple[str, ...] = ()
    schema_version: int = 1

    @property
    def reproducible(self) -> bool:
        """Whether the script as asked for gave the same bits each time (and those saved)."""
        agrees = self.against is None or self.against.difference is None
        return bool(self.rounds) and self.rounds[0].same and agrees

    @property
    def fixed_by(self) -> Round | None:
        """The round in which turning switches made the runs agree, if one did."""
        return next((r for r in self.rounds[1:] if r.same), None)
