"""The child's side of ``timesink quick``: cProfile and torch.profiler over one run."""

from __future__ import annotations

import cProfile
import dataclasses
import json
import os
import pstats
import sys
import threading
import time
from datetime import datetime
from pathlib import Path
from typing import Any

from timesink.capture.folder import read_record, write_atomic, write_record
from timesink.capture.options import RunOptions
from timesink.capture.quick import FUNCTIONS
from timesink.capture.window import Window, resident
from timesink.reproducibility.environment import environment

_OURS = str(Path(__file__).resolve().parent)
_KEPT = 500
_LOOK_SECONDS = 0.5


class QuickSession:
    """Installed before the script runs; ``finish`` when it has ended."""

    def __init__(self, options: RunOptions) -> None:
        self.options = options
        self.folder = Path(options.folder)
        self.pid = os.getpid()
        self.profile = cProfile.Profile()
        trace = self.folder / f"rank{options.rank}.trace.json.gz"
        self.window = Window(options.schedule, trace, resident)
        self.notes: list[str] = []
        self._began = time.monotonic()
        self._looked = 0.0

    def start(self) -> None:
        """Begin the Python profile (of this thread and no other)."""
        self.profile.enable()

    def torch_imported(self) -> None:
        """Begin the operator profile, and look at its limits at every DataLoader fetch and
        optimizer step: there is no other safe moment to stop it."""
        self.profile.disable()
        self.window.before(0, 0, False)
        self._limit_at_boundaries()
        self.profile.enable()

    def _limit_at_boundaries(self) -> None:
        from torch.optim.optimizer import register_optimizer_step_post_hook
        from torch.utils.data import dataloader

        def look(*_: Any) -> None:
            now = time.monotonic()
            if now - self._looked > _LOOK_SECONDS and os.getpid() == self.pid:
                self._looked = now
                self._check()

        register_optimizer_step_post_hook(look)
        base = dataloader._BaseDataLoaderIter
        fetch = base.__next__

        def fetch_and_look(iterator: Any) -> Any:
            look()
            return fetch(iterator)

        base.__next__ = fetch_and_look

    def _check(self) -> None:
        if not self.window.open or threading.current_thread() is not threading.main_thread():
            return
        reason = self.window.too_much()
        if reason:
            seconds = time.monotonic() - self._began
            self.notes.append(f"Operators were recorded for the first {seconds:.0f} s only.")
            self.window.close()

    def foreign_profiler(self) -> None:
        """The script starts its own profiler: the operator profile ends here."""
        self.window.close()

    def finish(self) -> None:
        """Write both profiles and the record."""
        if os.getpid() != self.pid:
            return
        self.profile.disable()
        self.window.close()
        try:
            write_atomic(self.folder / FUNCTIONS, json.dumps(self._functions()).encode())
            record = dataclasses.replace(
                read_record(self.folder, self.options.rank),
                environment=environment(),
                notes=(*self.window.notes, *self.notes),
                ended=datetime.now().astimezone().isoformat(timespec="seconds"),
            )
            write_record(self.folder, record)
        except OSError as error:
            print(f"timesink: the profile could not be written: {error}", file=sys.stderr)

    def _functions(self) -> list[tuple[str, str, int, int, int, int]]:
        """Rows of ``Function``, slowest first, without our own frames."""
        stats: Any = pstats.Stats(self.profile)
        rows = []
        for (file, line, name), (_, calls, own, total, _) in stats.stats.items():
            if not file.startswith(_OURS):
                place = (name, _short(file), line if file != "~" else 0)
                rows.append((*place, calls, round(own * 1e9), round(total * 1e9)))
        rows.sort(key=lambda r: -r[4])
        return rows[:_KEPT]


def _short(file: str) -> str:
    """Paths from the last site-packages or the working folder on."""
    for root in ("site-packages/", "dist-packages/"):
        if root in file:
            return file.rsplit(root, 1)[1]
    return os.path.relpath(file) if file.startswith(f"{Path.cwd()}{os.sep}") else file
