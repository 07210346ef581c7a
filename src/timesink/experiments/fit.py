"""Will it fit on a device? Measured on the CPU at two batch sizes, drawn out to others.

Live bytes of a training step do not depend on the device: parameters, gradients, optimizer state
and activations have the same shapes on a GPU. So the unmodified script takes a few steps here, as
it is and with batches twice as large; what grows between them is per sample, the rest is fixed.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from timesink.capture.options import RunOptions
from timesink.capture.supervise import run_detached
from timesink.errors import BadUsage
from timesink.experiments.inside import EXTENSION, OBSERVED, Orders
from timesink.experiments.process import OUTPUT, ending, read_json, script_fails
from timesink.model.experiments import Command
from timesink.model.memory import Fit, FitRun
from timesink.model.run import Schedule
from timesink.reproducibility.seeding import environment_for

#: Steps recorded of each run: lazily made state is there from the second on.
_STEPS = 4
DOUBLED = "batch-size=×2"


@dataclass(frozen=True, slots=True)
class Measured:
    """One run: its folder, and what the process itself said."""

    folder: Path
    parameters: int
    applied: str
    error: str = ""


def measure(command: Command, folder: Path, doubled: bool, seconds: float) -> Measured:
    """A few steps with all allocations. Raises ``BadUsage`` when the script fails as it is."""
    own = folder / ("doubled" if doubled else "as-it-is")
    own.mkdir(parents=True)
    orders = Orders((DOUBLED,) if doubled else (), "", 0, _STEPS)
    options = RunOptions(
        script=command.words[0], argv=command.words[1:], module=command.module,
        schedule=Schedule(0, 0, _STEPS, profile_memory=True), folder=str(own.resolve()),
        extension=EXTENSION, extension_data=orders.dump(),
    )  # fmt: skip
    variables = {**environment_for(0), "CUDA_VISIBLE_DEVICES": ""}
    try:
        outcome = run_detached(options, variables=variables, log=own / OUTPUT, seconds=seconds)
        error = ending(outcome.exit_code, own / OUTPUT)
    except TimeoutError as late:
        error = str(late)
    if error and not doubled:
        raise script_fails(error, own / OUTPUT)
    said = read_json(own / OBSERVED)
    effects = [e for e in said.get("effects", ()) if e.get("count")]
    applied = str(effects[0]["text"]) if effects else ""
    return Measured(own, int(said.get("parameters", 0)), applied, error)


def fit(capacity: int, batch: int, once: FitRun, twice: FitRun | None) -> Fit:
    """Draw the line through both runs. Pure.

    ``capacity`` in bytes; ``batch`` samples of the run as it is, 0 unknown. Without a second run,
    or where twice the batch takes no more, nothing is said of other sizes.
    """
    if twice is None or not batch:
        return Fit(capacity, batch, once, None, once.total, 0.0, None)
    slope = max(0.0, (twice.total - once.total) / batch)
    fixed = round(once.total - slope * batch)
    largest = int((capacity - fixed) / slope) if slope > 0 and capacity > fixed else None
    if capacity <= fixed:
        largest = 0
    return Fit(capacity, batch, once, twice, fixed, slope, largest)


def bytes_of(text: str) -> int:
    """``24GiB``, ``512MiB`` or ``24GB`` in bytes."""
    units = {"kib": 2**10, "mib": 2**20, "gib": 2**30, "tib": 2**40,
             "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12, "b": 1}  # fmt: skip
    plain = text.strip().lower().replace(" ", "")
    unit = next((u for u in units if plain.endswith(u)), "")
    try:
        value = float(plain.removesuffix(unit)) * units.get(unit, 0)
    except ValueError:
        value = 0.0
    if not 0 < value < 2**63:
        raise BadUsage(f"{text} is not an amount of memory.", "Write 24GiB or 512MiB.")
    return int(value)
