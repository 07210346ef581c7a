"""Running a script under measurement: ``timesink run`` and ``timesink quick``."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from timesink.model.results import OpRow
from timesink.model.run import Schedule

if TYPE_CHECKING:
    from timesink.capture.quick import QuickResult

#: How long rank 0 waits for the other ranks' records before it reports.
_PEERS_SECONDS = 30.0


@dataclass(frozen=True)
class RunOutcome:
    """How the script ended and where its run folder is.

    ``reports_here``: this process makes the report (rank 0 of a torchrun job, or the only one).
    """

    folder: Path
    exit_code: int
    signal: int | None
    reports_here: bool


def run(
    script: list[str],
    *,
    module: bool = False,
    schedule: Schedule,
    out: Path,
    name: str | None = None,
    ranks: tuple[int, ...] = (),
    seed: int | None = None,
    deterministic: bool = False,
) -> RunOutcome:
    """Run a script or module in a supervised child; returns when it has ended, however it ended.

    ``ranks`` limits the profiler window to some ranks of a torchrun job (all when empty). With a
    ``seed`` every generator starts from it, see :func:`timesink.seed_everything`.
    """
    from timesink.capture.options import RunOptions
    from timesink.capture.supervise import run_child

    options = RunOptions.make(
        script, module=module, schedule=schedule, out=out, name=name, ranks=ranks, seed=seed,
        deterministic=deterministic,
    )  # fmt: skip
    outcome = run_child(options)
    if options.rank == 0 and options.world_size > 1:
        _await_peers(outcome.folder, options.world_size)
    return RunOutcome(
        outcome.folder, outcome.exit_code, outcome.signal, reports_here=options.rank == 0
    )


def _await_peers(folder: Path, world_size: int) -> None:
    """Wait (bounded) until every rank's record says that it ended."""
    from timesink.capture.folder import ranks_in, read_record

    deadline = time.monotonic() + _PEERS_SECONDS
    while time.monotonic() < deadline:
        ranks = ranks_in(folder)
        if len(ranks) >= world_size and all(read_record(folder, r).ended for r in ranks):
            return
        time.sleep(0.2)


def is_launcher(script: str, module: bool) -> bool:
    """Whether what is to be run is torchrun, whose workers are to be measured instead."""
    from timesink.capture.launcher import is_launcher as known

    return known(script, module)


def launch(arguments: list[str], own: list[str]) -> NoReturn:
    """Become torchrun, with every worker under ``timesink run`` with our ``own`` options."""
    from timesink.capture.launcher import inside_out

    command = inside_out(arguments, own)
    os.execv(command[0], command)


@dataclass(frozen=True)
class Quick:
    """What ``timesink quick`` shows: Python functions and operators, slowest first."""

    result: QuickResult
    functions: tuple[Any, ...]
    operators: tuple[OpRow, ...]
    notes: tuple[str, ...]


def quick(
    script: list[str],
    *,
    module: bool = False,
    max_seconds: float = 60.0,
    out: Path = Path("timesink_runs"),
    name: str | None = None,
) -> Quick:
    """Profile Python functions and operators in one run of the script."""
    from timesink.capture.quick import run_quick

    result = run_quick(script, module=module, max_seconds=max_seconds, out=out, name=name)
    operators, notes = _operators(result.trace, result.notes)
    return Quick(result, tuple(result.functions), operators, notes)


def _operators(
    trace: Path | None, notes: tuple[str, ...]
) -> tuple[tuple[OpRow, ...], tuple[str, ...]]:
    from timesink.analyses.ops import ops, sort_ops
    from timesink.analyses.prepare import prepare
    from timesink.api.load import read_trace
    from timesink.errors import TimesinkError

    if trace is None:
        return (), notes
    try:
        read = read_trace(trace, cache=False)
    except TimesinkError as error:
        return (), (*notes, f"No operator table: {error}")
    rows = ops(prepare(read.tables, read.info), all_steps=True)
    return tuple(sort_ops(rows, "self_cpu")), notes
