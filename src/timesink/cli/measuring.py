"""What ``try`` and ``tune`` share: their options, progress on stderr, and a clean Ctrl-C."""

from __future__ import annotations

import re
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from timesink.errors import BadUsage
from timesink.reports import units

if TYPE_CHECKING:
    from timesink.model.experiments import Experiment

BudgetOption = Annotated[str, typer.Option("--budget", help="Time for all of it: 90s, 5m, 1h.")]
RunsOption = Annotated[int, typer.Option("--runs", min=2, help="At most so many runs of each arm.")]
StepsOption = Annotated[
    int, typer.Option("--steps", min=0, help="Train steps of each run.", show_default="by time")
]
SecondsOption = Annotated[
    float, typer.Option("--seconds", min=0.1, help="Seconds of steps that count in each run.")
]
PrecisionOption = Annotated[
    str, typer.Option("--precision", help="Stop when the answer is known to within this.")
]
TimeoutOption = Annotated[str, typer.Option("--timeout", help="A run that takes longer is ended.")]
SeedOption = Annotated[
    int, typer.Option("--seed", min=0, help="Seed of all runs.", show_default="random")
]
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(s|m|min|h)?\Z")
_SECONDS = {"": 1.0, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
_INTERRUPTED = 130


def duration(text: str, option: str) -> float:
    """``90s``, ``5m``, ``1h`` or plain seconds, in seconds."""
    match = _DURATION.match(text.strip().lower())
    if not match or not float(match[1]):
        raise BadUsage(f"{option} {text} is not a length of time.", "Write 90s, 5m or 1h.")
    return float(match[1]) * _SECONDS[match[2] or ""]


def share(text: str, option: str) -> float:
    """``2%`` or ``0.02``."""
    plain = text.strip()
    try:
        value = float(plain.removesuffix("%")) / (100 if plain.endswith("%") else 1)
    except ValueError:
        value = 0.0
    if not 0 < value < 1:
        raise BadUsage(f"{option} {text} is not a share.", "Write 2% or 0.02.")
    return value


def pulled(words: Sequence[str], option: str) -> tuple[list[str], list[str]]:
    """The words without ``option VALUE``, and the values: ``try train.py --with compile`` reads
    better, and reports of version 0.1 say so. What follows ``--`` belongs to the script."""
    kept: list[str] = []
    values: list[str] = []
    rest = iter(words)
    for word in rest:
        if word == "--":
            kept += rest
        elif word == option:
            value = next(rest, None)
            if value is None:
                raise BadUsage(f"{option} needs a value.", f"Write {option} num-workers=2, say.")
            values.append(value)
        elif word.startswith(f"{option}="):
            values.append(word.removeprefix(f"{option}="))
        else:
            kept.append(word)
    return kept, values


def watch(e: Experiment, job: Any) -> None:
    """Say what has just been measured and what comes next; on stderr."""
    if e.observations:
        last = e.observations[-1]
        which = "before" if last.arm == "A" else "after"
        took = last.error or f"{units.time(last.typical_ns)} a step"
        print(f"  {last.purpose:<8}{which:<7} {units.clean(took)}", file=sys.stderr, flush=True)
    else:
        on = f" on top of {' + '.join(e.design.base)}" if e.design.base else ""
        print(f"timesink: {units.clean(e.design.change.label + on)}", file=sys.stderr, flush=True)


@contextmanager
def interruptible(folder: Path, resume: bool = True) -> Iterator[None]:
    """Ctrl-C, SIGTERM and SIGHUP end the measurement with a message, not a traceback.
    ``resume``: what was begun can be gone on with."""

    def stop(number: int, frame: Any) -> None:
        raise KeyboardInterrupt

    before = {}
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None:
            before[number] = signal.signal(number, stop)
    try:
        yield
    except KeyboardInterrupt:
        print(f"\ntimesink: interrupted. What was measured is in {folder}.", file=sys.stderr)
        if resume:
            print(f"          Go on with: timesink try --resume {folder}", file=sys.stderr)
        raise typer.Exit(_INTERRUPTED) from None
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
