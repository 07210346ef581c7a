"""Runs one process of an experiment and reads back what it showed."""

from __future__ import annotations

import json
import re
import signal
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from timesink.capture.folder import record_path
from timesink.capture.options import RunOptions
from timesink.capture.steplog import read_steps
from timesink.capture.supervise import run_detached
from timesink.errors import BadUsage
from timesink.experiments.inside import EXTENSION, OBSERVED, Orders
from timesink.experiments.interventions import parse
from timesink.experiments.load import Load
from timesink.experiments.plan import Job, timed_steps
from timesink.experiments.steady import steady
from timesink.model.experiments import Arm, Command, Design, Effect, Experiment, Observation
from timesink.model.run import Schedule
from timesink.reproducibility.seeding import environment_for

Fields = tuple[tuple[str, str], ...]
OUTPUT = "output.txt"
CACHE = "compiled"
_LIGHT = Schedule(0, 0, 0)
_ERROR_CHARS = 300


def run_process(e: Experiment, job: Job, folder: Path) -> Observation:
    """One process, in a folder of its own inside the experiment's."""
    design = e.design
    name = f"{len(e.observations) + 1:02d}-{job.arm}-{job.purpose}"
    own = folder / name
    for number in range(2, 1000):  # one that was interrupted before is left as it is
        if not own.exists():
            break
        own = folder / f"{name}-{number}"
    own.mkdir(parents=True)
    options = _options(e, job, own)
    began, load = time.monotonic(), Load()
    code: int | None = None
    error = ""
    try:
        outcome = run_detached(
            options,
            variables=_variables(design, job.arm, folder),
            log=own / OUTPUT,
            seconds=design.timeout_s,
        )
        code = outcome.exit_code
        error = ending(code, own / OUTPUT)
    except TimeoutError as late:
        error = f"{late} Raise --timeout or take fewer steps."
    found = _observed(own, job, time.monotonic() - began, code, error)
    return replace(found, others=load.others())


def _options(e: Experiment, job: Job, own: Path) -> RunOptions:
    design = e.design
    command = _command(design, job.arm)
    checks = e.of("A", "check")
    steps = timed_steps(checks[0], design) if checks else design.steps
    orders = Orders(
        interventions=_interventions(design, job.arm),
        patch=design.change.patch if job.arm == "B" else "",
        seed=design.seed,
        steps=checks[0].steps if job.purpose == "check" and checks else steps,
        seconds=design.seconds,
        check=job.purpose == "check",
    )
    wait = checks[0].warmup if checks else 3
    profile = job.purpose == "profile"
    return RunOptions(
        script=command.words[0],
        argv=command.words[1:],
        module=command.module,
        schedule=Schedule(max(3, wait), 1, 5) if profile else _LIGHT,
        folder=str(own.resolve()),
        window=profile,
        extension=EXTENSION,
        extension_data=orders.dump(),
    )


def _command(design: Design, arm: Arm) -> Command:
    return design.before if arm == "A" else design.after


def _interventions(design: Design, arm: Arm) -> tuple[str, ...]:
    return design.base + (design.change.interventions if arm == "B" else ())


def _variables(design: Design, arm: Arm, folder: Path) -> Mapping[str, str]:
    """The same for both arms, but for what is being tried. A cache of compiled code of its own:
    the first process compiles for real, and the others find it done, in both arms alike."""
    cache = str((folder / CACHE / arm).resolve())
    found = {
        **environment_for(design.seed),
        "TORCHINDUCTOR_CACHE_DIR": cache,
        "TRITON_CACHE_DIR": f"{cache}/triton",
    }
    for text in _interventions(design, arm):
        intervention = parse(text)
        if intervention.kind.variables is not None:
            found.update(intervention.kind.variables(intervention.value))
    return found


def script_fails(error: str, output: Path, base: tuple[str, ...] = ()) -> BadUsage:
    """What to say when the script fails although nothing was tried in it, but for ``base``."""
    remedy = f"Its output is in {output}."
    if re.search(r"unrecognized argument|no such option|unknown option", error, re.IGNORECASE):
        remedy = "Options of timesink itself are written before the script. " + remedy
    what = "The script itself fails, without any change"
    if base:
        what = f"The script fails with {' + '.join(base)} alone"
    return BadUsage(f"{what}: {error.rstrip('.')}.", remedy)


def ending(code: int, output: Path) -> str:
    """Why it ended badly: the last line it printed, which is Python's exception."""
    if code == 0:
        return ""
    lines = []
    if output.exists():
        lines = output.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    said = next((line.strip() for line in reversed(lines) if line.strip()), "it printed nothing")
    if code < 0:
        known = set(signal.Signals)
        name = signal.Signals(-code).name if -code in known else f"signal {-code}"
        oom = " (the kernel's out-of-memory killer, perhaps)" if code == -9 else ""
        return f"killed by {name}{oom}; it last printed: {said[:_ERROR_CHARS]}"
    return f"exit code {code}: {said[:_ERROR_CHARS]}"


def _observed(own: Path, job: Job, seconds: float, code: int | None, error: str) -> Observation:
    light = read_steps(own / "rank0.steps.bin")
    found = steady(light)
    plain = read_json(own / OBSERVED)
    if not error and not found.indices:
        error = (
            f"it took {len(light)} steps, too few to measure: the script must train longer "
            "(or have a loop that timesink can see)"
        )
    return Observation(
        name=own.name,
        arm=job.arm,
        purpose=job.purpose,
        steps=sum(k == "train" for k in light.kind) or len(light),
        warmup=found.warmup,
        typical_ns=found.typical_ns,
        median_ns=found.median_ns,
        mean_ns=found.mean_ns,
        compile_ns=found.compile_ns,
        block_ns=found.block_ns,
        step_ns=tuple(light.wall_ns[i] for i in found.indices),
        losses=tuple(map(float, plain.get("losses", ()))),
        grad_norms=tuple(map(float, plain.get("grad_norms", ()))),
        inputs=tuple(map(str, plain.get("inputs", ()))),
        epochs=_epochs(read_json(record_path(own, 0))),
        effects=tuple(Effect(**e) for e in plain.get("effects", ())),
        peak_rss=int(plain.get("peak_rss", 0)),
        device_allocated=int(plain.get("device_allocated", 0)),
        device_reserved=int(plain.get("device_reserved", 0)),
        seconds=seconds,
        exit_code=code,
        error=error,
    )


def completed(environment: Fields, own: Path) -> Fields:
    """The environment with what only a process that imported torch knows."""
    inside = read_json(record_path(own, 0)).get("environment", {})
    return tuple({**dict(environment), **{str(k): str(v) for k, v in inside.items()}}.items())


def _epochs(record: dict[str, Any]) -> int:
    """How often the loader that was iterated most began."""
    return max((int(loader.get("epochs", 0)) for loader in record.get("loaders", ())), default=0)


def read_json(path: Path) -> dict[str, Any]:
    """An object that a process wrote; empty where it wrote none that can be read."""
    try:
        plain = json.loads(path.read_text(encoding="utf-8"))
        return plain if isinstance(plain, dict) else {}
    except (OSError, ValueError):
        return {}
