"""Runs one process of a check and reads back what it recorded."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

from timesink.capture.options import RunOptions
from timesink.capture.supervise import run_detached
from timesink.experiments.process import OUTPUT, ending
from timesink.experiments.reproduction.inside import (
    EXTENSION,
    OPERATORS,
    SOURCES,
    STEPS,
    Orders,
)
from timesink.model.reproducibility import OperatorRecord, SourceUse, StepPrints
from timesink.model.reproduction import Reproduction, ReproProcess, SwitchName
from timesink.model.run import Schedule
from timesink.reproducibility import storing
from timesink.reproducibility.seeding import environment_for

_LIGHT = Schedule(0, 0, 0)


def run_process(
    r: Reproduction,
    folder: Path,
    switches: tuple[SwitchName, ...],
    window: tuple[int, int] | None = None,
) -> ReproProcess:
    """One process, in a folder of its own inside the check's. ``window``: the steps whose operators
    are hashed, after which it ends."""
    own = _own(folder, f"{len(r.processes) + 1:02d}-{'operators' if window else 'fingerprints'}")
    first, last = window or (0, -1)
    orders = Orders(switches, r.seed, r.steps, first, last)
    options = RunOptions(
        script=r.command.words[0],
        argv=r.command.words[1:],
        module=r.command.module,
        schedule=_LIGHT,
        folder=str(own.resolve()),
        window=False,
        extension=EXTENSION,
        extension_data=orders.dump(),
    )
    began, code, error = time.monotonic(), None, ""
    try:
        outcome = run_detached(
            options,
            variables=_variables(r, switches),
            log=own / OUTPUT,
            seconds=r.timeout_s,
        )
        code = outcome.exit_code
        error = ending(code, own / OUTPUT)
    except TimeoutError as late:
        error = f"{late} Raise --timeout or take fewer --steps."
    seconds = time.monotonic() - began
    count = len(prints(own))
    return ReproProcess(
        own.name, switches, window is not None, max(first, 0), max(last, 0), count, seconds, code,
        error,
    )  # fmt: skip


def _own(folder: Path, name: str) -> Path:
    own = folder / name
    own.mkdir(parents=True)
    return own


def _variables(r: Reproduction, switches: tuple[SwitchName, ...]) -> dict[str, str]:
    wanted = environment_for(r.seed, deterministic="deterministic" in switches)
    found = {k: v for k, v in wanted.items() if k != "PYTHONHASHSEED"}
    if "PYTHONHASHSEED" in switches:
        found["PYTHONHASHSEED"] = wanted["PYTHONHASHSEED"]
    if "threads" in switches:
        found |= {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    return found


def prints(own: Path) -> tuple[StepPrints, ...]:
    """The steps of one process that hold anything to compare."""
    return tuple(s for s in all_prints(own) if any(e[0] != "generators" for e in s.entries))


def all_prints(own: Path) -> tuple[StepPrints, ...]:
    """Also the generators at the start of the step after the last."""
    return storing.read_steps(_lines(own / STEPS))


def comparable(step: StepPrints) -> StepPrints:
    """Without the generators: one that nobody draws from may differ."""
    return StepPrints(step.step, tuple(e for e in step.entries if e[0] != "generators"))


def operators(own: Path) -> OperatorRecord:
    """Of a process whose operators were hashed."""
    return storing.read_operators(_lines(own / OPERATORS))


def sources(own: Path) -> tuple[SourceUse, ...]:
    """Of the same."""
    return storing.read_sources(_lines(own / SOURCES))


def _lines(path: Path) -> Iterator[str]:
    try:
        with path.open(encoding="utf-8") as file:
            yield from file
    except OSError:
        return
