"""The parent of a measured script: starts it, passes signals on, survives whatever ends it.

It waits for the script's process only, never for that process's own children. On Linux the script
dies with this process, as it would have without it.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from timesink.capture.folder import read_record, write_record
from timesink.capture.options import VARIABLE, RunOptions
from timesink.capture.steplog import read_steps
from timesink.errors import BadUsage, TimesinkError
from timesink.model.run import Environment, RunRecord
from timesink.reproducibility.environment import environment
from timesink.reproducibility.seeding import environment_for

_FORWARDED = ("SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGINT")
#: Not ``-m``: that would put the working folder, whose files may hide the standard library's,
#: before everything that is imported here. The argument helps where timesink is not installed.
_START = """import sys
if sys.path[:1] == [""]: del sys.path[0]
try: import timesink
except ImportError: sys.path.append(sys.argv[1])
from timesink.capture.child import main; main()
"""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How the script ended. ``signal``: the number of the one that killed it, else None."""

    folder: Path
    exit_code: int
    signal: int | None


def run_child(options: RunOptions) -> Outcome:
    """Run the script in a child until it ends, and complete its record."""
    variables = {}
    if options.seed is not None:
        variables = environment_for(options.seed, options.deterministic)
    _begin(options)
    child = _start(options, variables)
    with _forwarding(child):
        found = environment()  # as it is when the script starts, whatever becomes of it
        code = child.wait()
    return _end(options, code, found)


def run_detached(
    options: RunOptions, *, variables: Mapping[str, str], log: Path, seconds: float
) -> Outcome:
    """Run the script out of sight: its output goes to ``log``, it has no terminal, and it and
    everything it started is killed after ``seconds`` or when this function is left by an exception
    (Ctrl-C). ``variables`` are added to its environment. Raises ``TimeoutError``."""
    _begin(options)
    with log.open("wb") as output:
        child = _start(
            options, variables, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
            start_new_session=True,
        )  # fmt: skip
        try:
            found = environment()
            code = child.wait(seconds)
        except subprocess.TimeoutExpired:
            raise TimeoutError(f"It had not ended after {seconds:.0f} s.") from None
        finally:
            _kill_group(child)
    return _end(options, code, found)


def _kill_group(child: subprocess.Popen[bytes]) -> None:
    """End the child and what it left behind (workers of a loader, say)."""
    with contextlib.suppress(OSError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()


def _begin(options: RunOptions) -> None:
    """Write the record of a run that is about to start."""
    folder = Path(options.folder)
    started = datetime.now().astimezone().isoformat(timespec="seconds")
    record = RunRecord(
        name=folder.name,
        command=("-m", options.script, *options.argv)
        if options.module
        else (options.script, *options.argv),
        started=started,
        schedule=options.schedule if options.window else None,
        rank=options.rank,
        world_size=options.world_size,
    )
    try:
        write_record(folder, record)
    except OSError as error:
        reason = error.strerror or str(error)
        raise BadUsage(
            f"Nothing can be written to the run folder {folder}: {reason}.",
            "Choose another with --out.",
        ) from error


def _start(
    options: RunOptions, variables: Mapping[str, str], **how: Any
) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, *_interpreter_flags(), "-c", _START, str(Path(__file__).parents[2])],
        env={**os.environ, **variables, VARIABLE: options.dump()},
        **how,
    )


def _end(options: RunOptions, code: int, found: Environment) -> Outcome:
    """Complete the record of a script that has ended."""
    folder = Path(options.folder)
    _complete(folder, options.rank, code, found)
    return Outcome(folder, code, -code if code < 0 else None)


@contextlib.contextmanager
def _forwarding(child: subprocess.Popen[bytes]) -> Iterator[None]:
    """Pass signals on. The terminal sends Ctrl-C to both: then it is not sent twice."""

    def forward(number: int, frame: Any) -> None:
        if number == signal.SIGINT and _in_foreground():
            return
        with contextlib.suppress(ProcessLookupError):
            child.send_signal(number)

    before = {}
    for name in _FORWARDED:
        number = getattr(signal, name, None)
        if number is not None:
            before[number] = signal.signal(number, forward)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _in_foreground() -> bool:
    """Whether the terminal's Ctrl-C reaches this process group, wherever stdin comes from."""
    try:
        with Path("/dev/tty").open() as terminal:
            return os.tcgetpgrp(terminal.fileno()) == os.getpgrp()
    except OSError:
        return False


def _interpreter_flags() -> list[str]:
    """``-O``, ``-W`` and the like with which we were started ourselves."""
    flags: list[str] = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]
    return [*flags, "-u"] if getattr(sys.stdout, "write_through", False) else flags


def _complete(folder: Path, rank: int, code: int, at_start: Environment) -> None:
    """Add the exit code, and what a script that was killed could not write itself."""
    try:
        record = read_record(folder, rank)
    except TimesinkError:
        return
    steps = folder / f"rank{rank}.steps.bin"
    notes = record.notes
    total = record.total_steps
    if steps.exists():
        total = max(total, len(read_steps(steps)))
    if code < 0:
        notes += (_death(-code, total),)
    record = dataclasses.replace(
        record,
        exit_code=code,
        environment=_merged(at_start, record.environment),
        ended=datetime.now().astimezone().isoformat(timespec="seconds"),
        total_steps=total,
        steps_file=steps.name if steps.exists() else "",
        notes=notes,
    )
    trace = folder / f"rank{rank}.trace.json.gz"
    if not record.trace_file and trace.exists():
        record = dataclasses.replace(record, trace_file=trace.name)
    with contextlib.suppress(OSError):
        write_record(folder, record)


def _merged(at_start: Environment, later: Environment) -> Environment:
    """What the script's process saw, if it lived to tell; the code as it was at the start."""
    fields = dict(later.fields or at_start.fields)
    fields.update((k, v) for k, v in at_start.fields if k.startswith("git."))
    return Environment(tuple(fields.items()))


def _death(number: int, steps: int) -> str:
    name = signal.Signals(number).name if number in set(signal.Signals) else str(number)
    cause = " (the kernel's out-of-memory killer, perhaps)" if number == 9 else ""
    return f"The script was killed by {name}{cause} after {steps} steps."
