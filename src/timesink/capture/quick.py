"""``timesink quick``: environment, Python functions and operators from ONE run of a script.

The script runs in a child as its real ``__main__`` under cProfile, with torch.profiler beside it
from ``import torch`` on, until a limit in seconds or memory. Workers of DataLoaders are other
processes and are left alone, which is what the tool's predecessor crashed on.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from timesink.capture.folder import read_record
from timesink.capture.options import RunOptions
from timesink.capture.supervise import run_child
from timesink.model.run import Environment, Schedule


@dataclass(frozen=True, slots=True)
class Function:
    """One Python function: calls, time in itself and with its callees, in ns."""

    name: str
    file: str
    line: int
    calls: int
    self_ns: int
    total_ns: int


@dataclass(frozen=True, slots=True)
class QuickResult:
    """``functions`` by self time; ``trace``: the Chrome trace, None where torch never ran."""

    environment: Environment
    functions: tuple[Function, ...]
    trace: Path | None
    exit_code: int
    signal: int | None
    notes: tuple[str, ...]
    folder: Path


def run_quick(
    script: list[str],
    *,
    module: bool = False,
    max_seconds: float = 60.0,
    out: Path = Path("timesink_runs"),
    name: str | None = None,
) -> QuickResult:
    """Run the script once and collect both profiles, however it ends."""
    schedule = Schedule(0, 0, 1, record_shapes=False, max_seconds=max_seconds)
    options = RunOptions.make(
        script, module=module, schedule=schedule, out=out, name=name, quick=True
    )
    outcome = run_child(options)
    record = read_record(outcome.folder, options.rank)
    trace = outcome.folder / f"rank{options.rank}.trace.json.gz"
    functions = read_functions(outcome.folder / FUNCTIONS)
    notes = list(record.notes)
    if not functions:
        notes.append("The Python profile was lost: the process ended without Python's own exit.")
    return QuickResult(
        record.environment,
        functions,
        trace if trace.exists() else None,
        outcome.exit_code,
        outcome.signal,
        tuple(notes),
        outcome.folder,
    )


FUNCTIONS = "functions.json"


def read_functions(path: Path) -> tuple[Function, ...]:
    """The Python profile of a run, slowest function first; nothing where it is missing."""
    try:
        rows = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return ()
    return tuple(Function(*row) for row in rows)
