"""One measured run inside the script's process: hooks → steps → log and window → record."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import sys
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

from timesink.capture.folder import read_record, write_record
from timesink.capture.hooks import Hooks
from timesink.capture.machine import Part, StepMachine
from timesink.capture.memory_history import MemoryHistory
from timesink.capture.options import RunOptions
from timesink.capture.steplog import StepLog, StepRow
from timesink.capture.window import Window
from timesink.errors import TimesinkError
from timesink.model.reproducibility import SeedRecord
from timesink.model.run import Environment, LoaderInfo, RunRecord
from timesink.reproducibility.environment import environment
from timesink.reproducibility.seeding import completed, fields

_PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096
_MEMORY_EVERY_NS = 100_000_000
_MAX_LOADERS = 20


class Session:
    """Created in the child before the script starts; ``finish`` is called when it has ended."""

    def __init__(self, options: RunOptions) -> None:
        self.options = options
        self.folder = Path(options.folder)
        self.pid = os.getpid()
        self.machine = StepMachine()
        self.steps = 0
        self.train_steps = 0
        self.hooked = False
        self.notes: list[str] = []
        self.loaders: dict[Any, LoaderInfo] = {}
        self.optimizers: list[str] = []
        self._log: StepLog | None = None
        self._statm: int | None = None
        self._memory_at = 0
        self._compiles = 0
        self._begun = False
        self._window_written = False
        self._finished = False
        #: What ``run --seed`` did before the script.
        self.seeds: SeedRecord | None = None
        #: Extensions: called after each step that was logged, and once when the script has ended.
        self.on_step: list[Callable[[], None]] = []
        self.on_finish: list[Callable[[], None]] = []
        self.window: Window | None = None
        if options.window:
            trace = self.folder / f"rank{options.rank}.trace.json.gz"
            self.window = Window(options.schedule, trace, self._rss)

    def start(self) -> None:
        """The script is about to run: nothing to do before it imports torch."""

    def torch_imported(self) -> None:
        """Called once, right after the script's first ``import torch``."""
        self.hooked = True
        self._log = StepLog(self.folder / f"rank{self.options.rank}.steps.bin")
        Hooks(self).install()
        if self.options.schedule.profile_memory:
            name = f"rank{self.options.rank}.memory.pickle"
            history = MemoryHistory(self.folder / name, self.notes)
            history.start()
            self.on_finish.append(history.finish)
        if any(v in os.environ for v in ("NSYS_PROFILING_SESSION_ID", "CUPTI_INJECTION_LIB")):
            self.notes.append(
                "Another CUPTI profiler (Nsight, DCGM) is active: device rows may be missing."
            )

    # What the hooks report.

    def enter(self, part: Part, now: int, ident: int = 0) -> None:
        """Something begins."""
        rows = self.machine.enter(part, now, ident)
        if rows:
            self._closed(rows)
        elif not self._begun:
            self._begun = True
            if self.options.schedule.wait == 0:
                self._boundary(0, 0, False)

    def leave(self, part: Part, now: int, ident: int = 0) -> None:
        """Something ends."""
        rows = self.machine.leave(part, now, ident)
        if rows:
            self._closed(rows)
        elif self.window is not None and self.window.open:
            self.window.check()

    def epoch(self, loader: Any) -> None:
        """A loader begins to be iterated."""
        self.machine.epoch()
        with contextlib.suppress(Exception):
            if id(loader) not in self.loaders and len(self.loaders) >= _MAX_LOADERS:
                return
            known = self.loaders.get(id(loader)) or _loader_info(loader)
            self.loaders[id(loader)] = dataclasses.replace(known, epochs=known.epochs + 1)

    def optimizer(self, optimizer: Any) -> None:
        """An optimizer steps for the first time."""
        with contextlib.suppress(Exception):
            self.optimizers.append(_describe_optimizer(optimizer))

    def collected(self, duration: int) -> None:
        """A garbage collection."""
        self.machine.collected(duration)

    # Steps.

    def _closed(self, rows: list[StepRow]) -> None:
        compiled = self._compiled_since()
        profiled = self.window is not None and self.window.open
        for row in rows:
            row.compiled, row.profiled = compiled, profiled
            self._sample(row)
            self.steps += 1
            self.train_steps += row.kind == "train"
            if self._log is not None:
                self._log.append(row)
        self._boundary(self.steps, rows[-1].wall_ns, compiled)
        for call in self.on_step:
            call()

    def _boundary(self, done: int, wall: int, compiled: bool) -> None:
        window = self.window
        if window is None or self._window_written:
            return
        try:
            window.before(done, wall, compiled)
        except Exception as error:  # never stop a training because of us
            window.notes.append(f"The profiler window failed: {type(error).__name__}: {error}")
            window.state = "done"
        if window.state == "done":
            self._window_written = True
            self._write(ended=False)
        self.machine.resume(time.perf_counter_ns())

    def _compiled_since(self) -> bool:
        """Whether torch.compile compiled anything since the last step."""
        utils = sys.modules.get("torch._dynamo.utils")
        if utils is None:
            return False
        with contextlib.suppress(Exception):
            frames = utils.counters["frames"]["total"]
            before, self._compiles = self._compiles, frames
            return bool(frames != before)
        return False

    def _sample(self, row: StepRow) -> None:
        """Memory at the end of the step, at most ten times a second."""
        now = row.start_ns + row.wall_ns
        if now - self._memory_at < _MEMORY_EVERY_NS:
            return
        self._memory_at = now
        row.rss = self._rss()
        torch = sys.modules.get("torch")
        with contextlib.suppress(Exception):
            if torch is not None and torch.cuda.is_initialized():
                row.device_bytes = torch.cuda.memory_allocated()

    def _rss(self) -> int:
        try:
            if self._statm is None:
                self._statm = os.open("/proc/self/statm", os.O_RDONLY)
            return int(os.pread(self._statm, 128, 0).split()[1]) * _PAGE
        except (OSError, IndexError, AttributeError):
            return 0

    # The end.

    def finish(self) -> None:
        """The script has ended (not called after ``os._exit`` or a signal)."""
        if self._finished or os.getpid() != self.pid:
            return
        self._finished = True
        rows = self.machine.finish(time.perf_counter_ns())
        for row in rows:
            row.profiled = self.window is not None and self.window.open
            self.steps += 1
            if self._log is not None:
                self._log.append(row)
        if self.window is not None and self.window.open:
            self.window.close()
        for call in self.on_finish:
            call()
        self._write(ended=True)

    def _write(self, *, ended: bool) -> None:
        if self._log is not None:
            self._log.flush()
        try:
            write_record(self.folder, self._record(ended))
        except OSError as error:
            say(f"the record could not be written: {error.strerror}")

    def _record(self, ended: bool) -> RunRecord:
        options, window = self.options, self.window
        try:
            record = read_record(self.folder, options.rank)
        except TimesinkError:
            record = RunRecord(self.folder.name, (options.script, *options.argv), "")
        notes = [*self.notes, *(window.notes if window else ())]
        if ended:
            notes += self._about_window()
        if self._log is not None and self._log.failed:
            notes.append(f"The step log stopped: {self._log.failed}.")
        trace = f"rank{options.rank}.trace.json.gz"
        return dataclasses.replace(
            record,
            environment=self._environment(notes),
            total_steps=self.steps,
            recorded_steps=window.recorded if window else 0,
            trace_file=trace if window and window.exported else "",
            steps_file=f"rank{options.rank}.steps.bin" if self._log else "",
            notes=tuple(dict.fromkeys(notes)),
            loaders=tuple(self.loaders.values()),
            optimizers=tuple(self.optimizers[:_MAX_LOADERS]),
            ended=datetime.now().astimezone().isoformat(timespec="seconds") if ended else "",
        )

    def _environment(self, notes: list[str]) -> Environment:
        found = environment()
        if self.seeds is None:
            return found
        seeds = completed(self.seeds)
        notes += [f"Seeding: {dial}." for dial in seeds.of("not set")]
        return Environment((*found.fields, *fields(seeds)))

    def _about_window(self) -> list[str]:
        if not self.hooked:
            return ["The script never imported torch: there was nothing to measure."]
        if self.steps == 0:
            return [
                "0 steps found: no optimizer, DataLoader or module ran in a loop on the thread "
                "that imported torch. timesink.profile with .step() marks steps by hand."
            ]
        window = self.window
        schedule = self.options.schedule
        if window is None or window.recorded >= schedule.active:
            return []
        if window.state == "done" and window.recorded:
            return []
        need = schedule.wait + schedule.warmup + schedule.active
        return [
            f"{window.recorded} of {schedule.active} steps recorded: the loop ended after "
            f"{self.steps} steps, the window needs {need}. Use --wait {min(1, self.steps)} "
            f"--warmup 0 --active {max(1, min(schedule.active, self.steps - 1))}, or run longer."
        ]


def say(message: str) -> None:
    """A message of ours, on stderr."""
    print(f"timesink: {message}", file=sys.stderr, flush=True)


def _loader_info(loader: Any) -> LoaderInfo:
    return LoaderInfo(
        num_workers=int(loader.num_workers),
        batch_size=loader.batch_size,
        pin_memory=bool(loader.pin_memory),
        persistent_workers=bool(getattr(loader, "persistent_workers", False)),
        prefetch_factor=getattr(loader, "prefetch_factor", None),
        dataset=type(loader.dataset).__name__,
    )


def _describe_optimizer(optimizer: Any) -> str:
    parameters = sum(len(g["params"]) for g in optimizer.param_groups)
    first = optimizer.param_groups[0]
    flags = [f"{k}={first[k]}" for k in ("foreach", "fused", "capturable") if k in first]
    return f"{type(optimizer).__name__}({parameters} tensors, {', '.join(flags)})"
