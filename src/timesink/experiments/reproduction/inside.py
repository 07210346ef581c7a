"""The part of a check that runs inside the process, before the script.

Turns the switches, takes fingerprints of each step and, where asked, hashes every operator of a
window of steps and watches where the program takes something that differs from run to run. All of
it is written as it comes, so that a crash loses little.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.abc import MetaPathFinder
from pathlib import Path
from typing import Any

from timesink.capture.importhook import after_import
from timesink.capture.session import Session
from timesink.experiments.inside import Enough, leave_soon
from timesink.experiments.reproduction.watch import Watch
from timesink.model.reproducibility import SourceUse
from timesink.reproducibility import storing
from timesink.reproducibility.seeding import seed_everything
from timesink.reproducibility.sources import SourceWatch

#: What ``RunOptions.extension`` names.
EXTENSION = "timesink.experiments.reproduction.inside:install"
STEPS, OPERATORS, SOURCES = "prints.jsonl", "operators.jsonl", "sources.jsonl"
#: A script that goes on in spite of having been ended is left this many steps later.
_PATIENCE = 3
#: Without any train step, this many times more steps of another kind end the script.
_OTHER_KINDS = 10


@dataclass(frozen=True, slots=True)
class Orders:
    """What one process is to do. ``steps``: train steps, 0 for all. ``last`` < 0: operators are not
    hashed; else those of step ``first`` to ``last``, counting steps of every kind, and the process
    ends after ``last``. Step 0 begins where torch has been imported."""

    switches: tuple[str, ...]
    seed: int
    steps: int = 0
    first: int = 0
    last: int = -1

    def dump(self) -> str:
        """As JSON."""
        return json.dumps(dataclasses.asdict(self))


def install(session: Session, data: str) -> None:
    """Called by ``capture.child`` before the script."""
    plain = json.loads(data)
    plain["switches"] = tuple(plain["switches"])
    _Inside(session, Orders(**plain)).install()


class _Inside:
    def __init__(self, session: Session, orders: Orders) -> None:
        self.session = session
        self.orders = orders
        self.watch = Watch()
        self.steps = 0
        self.beyond = 0
        self.hasher: Any = None
        self.written = 0  # operators
        self.sources: SourceWatch | None = None

    def install(self) -> None:
        os.environ["TIMESINK_EXPERIMENT"] = "1"
        switches = self.orders.switches
        if "seed" in switches:
            seed_everything(self.orders.seed, deterministic="deterministic" in switches)
        after_import("torch", self._torch_imported)
        self.session.on_step.append(self._step)
        self.session.on_finish.append(self._finish)
        if self.orders.last >= 0:
            self._watch_sources()

    def _watch_sources(self) -> None:
        path = self.session.folder / SOURCES

        def first(use: SourceUse) -> None:
            _append(path, [storing.source_line(use)])

        self.sources = SourceWatch(first)
        after_import("numpy", self.sources.numpy_imported)
        sys.meta_path.insert(0, _Before("torch", self.sources.pause))
        self.sources.__enter__()

    def _torch_imported(self) -> None:
        if "deterministic" in self.orders.switches and "seed" not in self.orders.switches:
            from timesink.reproducibility.torch_dials import determinism

            list(determinism())
        self.watch.install()
        if self.orders.last >= 0:
            from timesink.reproducibility.operators import OperatorHasher

            self.hasher = OperatorHasher(self.orders.first, self.orders.last)
            self.hasher.__enter__()
        if self.sources is not None:
            self.sources.go_on()

    def _step(self) -> None:
        self.steps += 1
        self._write(self.watch.take())
        if self.hasher is not None:
            self.hasher.step()
            self._write_operators()
        if self._enough():
            self.beyond += 1
            if self.beyond > _PATIENCE:  # the script caught our SystemExit
                self.session.finish()
                os._exit(0)
            raise Enough(0)

    def _enough(self) -> bool:
        orders, session = self.orders, self.session
        if orders.last >= 0:
            return self.steps > orders.last
        if not orders.steps:
            return False
        return session.train_steps >= orders.steps or (
            not session.train_steps and self.steps >= orders.steps * _OTHER_KINDS
        )

    def _finish(self) -> None:
        if self.sources is not None:
            self.sources.__exit__()
        if self.hasher is not None:
            self.hasher.__exit__()
            self._write_operators()
        if self.session.hooked:
            if self.watch.busy:
                self._write(self.watch.take())
            self._write(self.watch.rest())
        if self.beyond:
            leave_soon()

    def _write(self, step: Any) -> None:
        _append(self.session.folder / STEPS, [storing.step_line(step)])

    def _write_operators(self) -> None:
        record = self.hasher.record()
        new = record.calls[self.written :]
        if not new and self.written:
            return
        self.written += len(new)
        lines = [*map(storing.call_line, new), storing.record_line(record)]
        _append(self.session.folder / OPERATORS, lines)


class _Before(MetaPathFinder):
    """Calls when a module is about to be imported. It stays where it is: a finder that removes
    itself and finds nothing makes Python skip the next one."""

    def __init__(self, name: str, call: Callable[[], None]) -> None:
        self._name, self._call = name, call

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> None:
        if fullname == self._name:
            self._call()


def _append(path: Path, lines: list[str]) -> None:
    """One write, so that lines of several processes do not mix."""
    with contextlib.suppress(OSError), path.open("a", encoding="utf-8") as file:
        file.write("".join(f"{line}\n" for line in lines))
