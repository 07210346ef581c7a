"""For people who would rather add two lines to their loop than run it under ``timesink run``."""

from __future__ import annotations

import contextlib
import gzip
import os
import socket
import sys
import time
import warnings
from collections.abc import Callable
from datetime import datetime
from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import Any

from timesink.capture.folder import create_run_folder, default_name, write_record
from timesink.capture.steplog import StepLog, StepRow
from timesink.capture.window import Window, resident
from timesink.model.run import RunRecord, Schedule
from timesink.reproducibility.environment import environment


class profile:  # noqa: N801 - named as torch.profiler.profile is
    """Record a few steps of a loop that calls :meth:`step` at the end of each.

    >>> with timesink.profile(wait=1, warmup=1, active=3) as prof:
    ...     for batch in loader:
    ...         train(batch)
    ...         prof.step()
    >>> prof.report()

    A run folder is written below ``out`` (trace, step times, run.json), also when the loop raises
    or is shorter than the window. In a notebook the object shows its report.
    """

    def __init__(
        self,
        *,
        wait: int = 1,
        warmup: int = 1,
        active: int = 3,
        record_shapes: bool = True,
        with_stack: bool = False,
        profile_memory: bool = False,
        out: str | Path = "timesink_runs",
        name: str | None = None,
    ) -> None:
        self.schedule = Schedule(wait, warmup, active, record_shapes, with_stack, profile_memory)
        self._out, self._name = Path(out), name
        self._steps = 0
        self._mark = 0
        self.folder: Path | None = None
        self._window: Window | None = None
        self._log: StepLog | None = None
        self._started = ""

    def __enter__(self) -> profile:
        script = sys.argv[0] if sys.argv and sys.argv[0] else "notebook"
        self.folder = create_run_folder(self._out, self._name or default_name(script)).resolve()
        self._started = _now()
        self._window = Window(self.schedule, self.folder / "rank0.trace.json.gz", resident)
        self._log = StepLog(self.folder / "rank0.steps.bin")
        self._mark = time.perf_counter_ns()
        if self.schedule.wait == 0:
            self._window.before(0, 0, False)
        return self

    def step(self) -> None:
        """A step has ended; call it once per iteration."""
        if self._window is None or self._log is None:
            raise RuntimeError("timesink.profile: step() is only for inside of the with block")
        now = time.perf_counter_ns()
        row = StepRow("train", self._mark, now - self._mark, profiled=self._window.open)
        self._log.append(row)
        self._steps += 1
        self._window.before(self._steps, row.wall_ns, False)
        self._mark = time.perf_counter_ns()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Write what there is; the exception, if any, goes on."""
        assert self._window is not None
        assert self._log is not None
        assert self.folder is not None
        self._window.close()
        self._log.flush()
        notes = list(self._window.notes)
        if self._window.recorded < self.schedule.active:
            need = self.schedule.wait + self.schedule.warmup + self.schedule.active
            notes.append(
                f"{self._window.recorded} of {self.schedule.active} steps recorded: step() was "
                f"called {self._steps} times, the window needs {need}."
            )
        record = RunRecord(
            name=self.folder.name,
            command=tuple(sys.argv),
            started=self._started,
            environment=environment(),
            schedule=self.schedule,
            ended=_now(),
            exit_code=0 if kind is None else 1,
            total_steps=self._steps,
            recorded_steps=self._window.recorded,
            trace_file="rank0.trace.json.gz" if self._window.exported else "",
            steps_file="rank0.steps.bin",
            notes=tuple(notes),
        )
        try:
            write_record(self.folder, record)
        except OSError as failure:
            warnings.warn(f"timesink: the record was not written: {failure}", stacklevel=2)

    @property
    def trace_path(self) -> Path | None:
        """The Chrome trace, or None where none was recorded."""
        path = self.folder / "rank0.trace.json.gz" if self.folder else None
        return path if path is not None and path.exists() else None

    def report(self) -> Any:
        """The measured and judged run (``timesink.model.report.Report``)."""
        return _api().report(self._ended(), timeline=True)

    @property
    def analysis(self) -> Any:
        """All results of the recorded window (``timesink.model.results.Analysis`` or None)."""
        return self.report().analysis

    def _ended(self) -> Path:
        if self.folder is None:
            raise RuntimeError("timesink.profile: nothing has been recorded yet")
        return self.folder

    def _repr_html_(self) -> str:
        return str(_api().to_html_fragment(self.report()))


def trace_handler(
    dir_name: str | Path, worker_name: str | None = None, use_gzip: bool = True
) -> Callable[[Any], None]:
    """An ``on_trace_ready`` in place of ``torch.profiler.tensorboard_trace_handler``.

    Writes ``{worker}.{ns}.pt.trace.json.gz`` into ``dir_name``, whole or not at all; a disk that
    is full is a warning and never an exception in the training loop.
    """
    folder = Path(dir_name)
    worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"

    def handle(profiler: Any) -> None:
        suffix = ".json.gz" if use_gzip else ".json"
        target = folder / f"{worker}.{time.time_ns()}.pt.trace{suffix}"
        temporary = target.with_name(f"{target.name}.tmp")
        plain = target.with_name(f".{target.name}.json")
        try:
            folder.mkdir(parents=True, exist_ok=True)
            # Exported plain and compressed here: some torch nightlies wrote empty gzip files.
            profiler.export_chrome_trace(str(plain))
            _copy(plain, temporary, use_gzip)
            temporary.replace(target)
        except Exception as error:  # whatever it is: the training matters more
            warnings.warn(f"timesink: the trace was not written: {error}", stacklevel=2)
        finally:
            for leftover in (temporary, plain):
                with contextlib.suppress(OSError):
                    leftover.unlink()

    return handle


def _copy(source: Path, target: Path, use_gzip: bool) -> None:
    if not use_gzip:
        source.replace(target)
        return
    with source.open("rb") as read, gzip.open(target, "wb", compresslevel=3) as write:
        while block := read.read(1 << 20):
            write.write(block)


def _api() -> Any:
    # The api wires the rooms and may import this one: hence by name, when it is asked for.
    return import_module("timesink.api")


def _now() -> str:
    return datetime.now().astimezone().isoformat(timespec="seconds")
