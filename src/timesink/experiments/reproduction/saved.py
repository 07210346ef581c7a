"""A fingerprint in a file, to compare with on another machine, in another version, another day."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from timesink.capture.folder import write_atomic
from timesink.errors import BadUsage
from timesink.experiments.reproduction.process import comparable, prints
from timesink.model.reproducibility import StepPrints
from timesink.model.reproduction import Against, Reproduction, SwitchName
from timesink.model.run import Environment
from timesink.reproducibility.environment import diff
from timesink.reproducibility.first_difference import first_step

_VERSION = 1
#: Fields of the environment in which two runs of one program on one machine may differ.
_CHANCE = ("env.PYTHONHASHSEED",)


@dataclass(frozen=True, slots=True)
class Saved:
    """What a file holds."""

    started: str
    seed: int
    switches: tuple[SwitchName, ...]
    environment: tuple[tuple[str, str], ...]
    steps: tuple[StepPrints, ...]


def save_fingerprint(r: Reproduction, folder: Path, file: Path) -> Reproduction:
    """Write the steps of the first run. Only of a script that is reproducible where it is: of
    another the file would be no fingerprint, and ``r`` says so instead."""
    if not r.rounds[0].same:
        note = f"{file} was not written: the runs differ, so there is no one fingerprint of them."
        return replace(r, notes=(*r.notes, note))
    plain = {
        "timesink_fingerprint": _VERSION,
        "started": r.started,
        "command": r.command.words,
        "seed": r.seed,
        "switches": r.switches,
        "environment": dict(r.environment),
        "steps": [[s.step, s.entries] for s in map(comparable, _first(r, folder))],
    }
    try:
        write_atomic(file, json.dumps(plain).encode("utf-8", "backslashreplace"))
    except OSError as error:
        raise BadUsage(f"{file} cannot be written: {error.strerror}.", "Name another.") from error
    return replace(r, saved=str(file))


def load_fingerprint(file: Path) -> Saved:
    """Read a file back. Raises ``BadUsage``."""
    try:
        plain = json.loads(file.read_text(encoding="utf-8"))
        return _saved(plain)
    except OSError as error:
        raise BadUsage(f"{file} cannot be read: {error.strerror}.", "Name another.") from error
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise BadUsage(
            f"{file} is not a saved fingerprint ({type(error).__name__}).",
            "Make one with `timesink repro --save FILE train.py`.",
        ) from error


def _saved(plain: dict[str, Any]) -> Saved:
    if plain["timesink_fingerprint"] != _VERSION:
        raise BadUsage(
            f"It is of version {plain['timesink_fingerprint']} and this timesink reads {_VERSION}.",
            "Make it again.",
        )
    known: tuple[SwitchName, ...] = ("seed", "PYTHONHASHSEED", "deterministic", "threads")
    return Saved(
        started=str(plain["started"]),
        seed=int(plain["seed"]),
        switches=tuple(s for s in known if s in plain["switches"]),
        environment=tuple((str(k), str(v)) for k, v in plain["environment"].items()),
        steps=tuple(
            StepPrints(int(n), tuple((str(s), str(p), str(t)) for s, p, t in entries))
            for n, entries in plain["steps"]
        ),
    )


def compared(r: Reproduction, folder: Path, saved: Saved, file: Path) -> Reproduction:
    """The first run against a saved one, over the steps that both have."""
    here = [comparable(s) for s in _first(r, folder)]
    count = min(len(here), len(saved.steps))
    found = first_step(saved.steps[:count], here[:count])
    fields = diff(Environment(saved.environment), Environment(r.environment))
    differing = tuple(f for f in fields if f[0] not in _CHANCE)
    return replace(r, against=Against(str(file), saved.started, count, found, differing))


def _first(r: Reproduction, folder: Path) -> tuple[StepPrints, ...]:
    return prints(folder / r.processes[0].name)
