"""The torch.profiler window: a few steps in the middle of the run, exported when it ends.

It begins after ``schedule.wait`` train steps, later while a compiler is still at work, and is
bounded in steps, seconds and bytes. A profiler of the script's own always has precedence.
"""

from __future__ import annotations

import contextlib
import gzip
import os
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from timesink.capture import foreign
from timesink.model.run import Schedule

if TYPE_CHECKING:
    from timesink.capture.line_marks import LineMarks

#: Steps that a compiling start may put the window off, beyond ``wait``.
_PATIENCE = 20
#: A step this many times slower than the fastest so far is taken as still warming up.
_SLOW = 3.0
#: A window that grows to this many times ``max_bytes`` within one step is ended in its middle:
#: stopping the profiler needs several times the memory that recording took.
_HARD = 4


class Window:
    """``before`` is called at each step boundary with the number of train steps so far."""

    def __init__(self, schedule: Schedule, trace: Path, rss: Callable[[], int]) -> None:
        self._schedule = schedule
        self._trace = trace
        self._rss = rss
        self._profiler: Any = None
        self._began = 0.0
        self._rss_at_start = 0
        self._fastest = float("inf")
        self._steps_in = 0
        self.state = "waiting"  #: waiting, open, done
        self.recorded = 0
        self.notes: list[str] = []
        self.exported = False
        self._lines: LineMarks | None = None

    @property
    def open(self) -> bool:
        """Whether the profiler runs now."""
        return self.state == "open"

    def before(self, done: int, last_wall_ns: int, compiled: bool) -> None:
        """A step has ended and the next begins."""
        if self.state == "waiting":
            slow = last_wall_ns > _SLOW * self._fastest or compiled
            self._fastest = min(self._fastest, last_wall_ns or float("inf"))
            wait = self._schedule.wait
            if done >= wait and (not slow or done >= wait + _PATIENCE):
                self._start(done)
        elif self.state == "open":
            self._advance(done)

    def _start(self, number: int) -> None:
        from torch import profiler

        foreign.watch()
        if foreign.busy():
            self.notes.append(
                "A profiler of the script itself was running where the window would have begun."
            )
            return  # tried again at the next step
        warmup, active = self._schedule.warmup, self._schedule.active
        with _quiet():
            plan = profiler.schedule(wait=0, warmup=warmup, active=active, repeat=1)
            p = profiler.profile(
                activities=list(profiler.supported_activities()),
                schedule=lambda n: plan(max(0, n - number)),
                on_trace_ready=self._export,
                record_shapes=self._schedule.record_shapes,
                with_stack=self._schedule.with_stack,
                profile_memory=self._schedule.profile_memory,
                experimental_config=_config(self._schedule.with_stack),
            )
            # ProfilerStep#N carries our step number: both tables then name the same step.
            p.step_num = number
            p.current_action = plan(0)
            self._rss_at_start, self._began = self._rss(), time.monotonic()
            p.start()
        self._mark_lines()
        foreign.step_aside_by(self._step_aside)
        self._profiler, self.state, self._steps_in = p, "open", 0

    def _mark_lines(self) -> None:
        """Who allocates is asked for a line, which the profiler does not know."""
        if self._schedule.profile_memory:
            from timesink.capture.line_marks import LineMarks

            self._lines = LineMarks()
            self._lines.start()

    def _advance(self, number: int) -> None:
        import torch

        recording = self._steps_in >= self._schedule.warmup
        if recording and not torch.autograd.profiler._is_profiler_enabled:
            self._abandon("The script stopped the profiler: the window ended with it.")
            return
        self._steps_in += 1
        if self._steps_in > self._schedule.warmup:
            self.recorded += 1
        planned = self._schedule.warmup + self._schedule.active
        reason = "" if self._steps_in >= planned else self.too_much()
        if reason:
            self.notes.append(reason)
            self.close()
            return
        if self._steps_in >= planned:
            _synchronize()
        with _quiet():
            self._profiler.step()
        if self._steps_in >= planned:
            self._done()

    def too_much(self) -> str:
        """Why the window has to end now, or ""."""
        seconds = time.monotonic() - self._began
        grown = self._rss() - self._rss_at_start
        if seconds > self._schedule.max_seconds:
            return (
                f"The window was ended after {self.recorded} steps: it had lasted {seconds:.0f} s "
                "(--max-seconds)."
            )
        if grown > self._schedule.max_bytes:
            return (
                f"The window was ended after {self.recorded} steps: they held so many operators "
                f"that the process had grown by {grown / 2**20:.0f} MiB."
            )
        return ""

    def check(self) -> None:
        """Between boundaries: a single step may not grow without bounds either."""
        if self._rss() - self._rss_at_start > _HARD * self._schedule.max_bytes:
            self.notes.append(
                f"The window was ended inside a step, after {self.recorded} whole ones: the step "
                "has too many operators to record."
            )
            self.close()

    def close(self) -> None:
        """End the window now and write what there is."""
        if self.state != "open":
            return
        _synchronize()
        try:
            with _quiet():
                self._profiler.stop()
            if not self.exported and self.recorded + self._in_active():
                self._export(self._profiler)
        except Exception as error:  # the script must go on, whatever the profiler does
            self.notes.append(f"The profiler could not be stopped: {error}")
        self._done()

    def _step_aside(self) -> None:
        """The script starts a profiler of its own: ours ends first, with what it has."""
        if self.open:
            self.notes.append(
                f"The script started its own profiler: the window ended after "
                f"{self.recorded} steps."
            )
            self.close()

    def _in_active(self) -> bool:
        return self._steps_in >= self._schedule.warmup

    def _abandon(self, why: str) -> None:
        self.notes.append(why)
        self._done()

    def _done(self) -> None:
        foreign.forget(self._step_aside)
        self._profiler, self.state = None, "done"
        if self._lines is not None:
            self._lines.stop()

    def _export(self, profiler: Any) -> None:
        temporary = self._trace.with_name(f".{self._trace.name.removesuffix('.gz')}.tmp.gz")
        try:
            profiler.export_chrome_trace(str(temporary))
            with gzip.open(temporary) as file:
                if not file.read(1):  # torch says nothing of a disk that is full
                    raise OSError("torch wrote an empty file (is the disk full?)")
            temporary.replace(self._trace)
            self.exported = True
        except Exception as error:  # a full disk, say: the script must go on
            self.notes.append(f"The trace could not be written: {error}")
            with contextlib.suppress(OSError):
                temporary.unlink()


def resident() -> int:
    """Resident memory of this process in bytes; 0 where the system does not tell."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError, ValueError, AttributeError):
        return 0


def _config(with_stack: bool) -> Any:
    """Python's collections in the trace, no second copy of it in memory: where torch can."""
    with contextlib.suppress(Exception):
        from torch._C._profiler import _ExperimentalConfig

        return _ExperimentalConfig(record_python_gc_info=True, trace_only=not with_stack)
    with contextlib.suppress(Exception):
        return _ExperimentalConfig(record_python_gc_info=True)
    return None


def _synchronize() -> None:
    """Let the device finish, so that its last rows are in the trace."""
    torch = sys.modules.get("torch")
    with contextlib.suppress(Exception):
        if torch is not None and torch.cuda.is_available() and torch.cuda.is_initialized():
            torch.cuda.synchronize()


@contextlib.contextmanager
def _quiet() -> Any:
    """Around what we do to our own profiler. Hides exactly two warnings: that of torch 2.10 to 2.12
    about events cleared at a cycle's end, and the one about a window without warm-up, which was
    asked for."""
    with warnings.catch_warnings(), foreign.ours():
        warnings.filterwarnings("ignore", message=".*Profiler clears events at the end of each.*")
        warnings.filterwarnings("ignore", message=".*Profiler won't be using warmup.*")
        yield
