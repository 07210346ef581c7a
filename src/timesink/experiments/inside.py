"""The part of an experiment that runs inside the measured process, before the script.

Seeds, installs the interventions and the observers, ends the script after enough steps, and writes
``observed.json`` into the process's folder: once a second and at the end, so that a crash loses
little.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import runpy
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from timesink.capture.folder import write_atomic
from timesink.capture.importhook import after_import
from timesink.capture.session import Session
from timesink.errors import BadUsage
from timesink.experiments.interventions import parse
from timesink.experiments.interventions.base import Intervention, Recorder
from timesink.experiments.observe import GradNorms, Inputs, Losses, Parameters, peak_memory
from timesink.model.experiments import Effect
from timesink.reproducibility.seeding import seed_everything

#: What ``RunOptions.extension`` names.
EXTENSION = "timesink.experiments.inside:install"
OBSERVED = "observed.json"
_WRITE_SECONDS = 1.0
#: A script that goes on in spite of having been ended is left this many steps later.
_PATIENCE = 3
#: So long may the threads of a script go on after its end.
_THREADS_SECONDS = 3.0
#: Without any train step, this many times more steps of another kind end the script.
_OTHER_KINDS = 2


@dataclass(frozen=True, slots=True)
class Orders:
    """What one process is to do. It ends after ``steps`` train steps, or, where 0, after at least
    ``least_steps`` once ``seconds`` have passed since the first."""

    interventions: tuple[str, ...]
    patch: str
    seed: int
    steps: int
    least_steps: int = 12
    most_steps: int = 400
    seconds: float = 3.0
    check: bool = False

    def dump(self) -> str:
        """As JSON."""
        return json.dumps(dataclasses.asdict(self))


class Enough(SystemExit):
    """Ends the script when it has been measured long enough; exits with 0."""


def leave_soon() -> None:
    """Once a script was ended: threads of it that nobody stops now would keep its process for ever,
    so it is left without them a little later."""
    late = threading.Timer(_THREADS_SECONDS, os._exit, (0,))
    late.daemon = True
    late.start()


def install(session: Session, data: str) -> None:
    """Called by ``capture.child`` before the script."""
    plain = json.loads(data)
    plain["interventions"] = tuple(plain["interventions"])
    _Inside(session, Orders(**plain)).install()


class _Inside:
    def __init__(self, session: Session, orders: Orders) -> None:
        self.session = session
        self.orders = orders
        self.losses, self.norms, self.inputs = Losses(), GradNorms(), Inputs()
        self.parameters = Parameters()
        chosen = sorted(map(parse, orders.interventions), key=lambda i: i.kind.order)
        self.changes: list[tuple[Intervention, Recorder]] = [(i, i.recorder()) for i in chosen]
        self.patched: Effect | None = None
        self.first = 0.0
        self.beyond = 0
        self.written = time.monotonic()

    def install(self) -> None:
        """Before the script; what needs torch waits until the script has imported it."""
        os.environ["TIMESINK_EXPERIMENT"] = "1"
        seed_everything(self.orders.seed)
        after_import("torch", self._torch_imported)
        self.session.on_step.append(self._step)
        self.session.on_finish.append(self._finish)
        if self.orders.patch:
            self.patched = _patch(self.orders.patch)

    def _torch_imported(self) -> None:
        for intervention, recorder in self.changes:
            intervention.kind.install(intervention.value, recorder)
        self.losses.install()
        self.parameters.install()
        if self.orders.check:
            self.norms.install()
            self.inputs.install()

    def _step(self) -> None:
        now = time.monotonic()
        self.first = self.first or now
        if now - self.written > _WRITE_SECONDS:
            self.written = now
            self._write()
        if self._enough(now):
            self.beyond += 1
            if self.beyond > _PATIENCE:  # the script caught our SystemExit
                self.session.finish()
                os._exit(0)
            raise Enough(0)

    def _enough(self, now: float) -> bool:
        orders, session = self.orders, self.session
        done = session.train_steps or session.steps // _OTHER_KINDS
        if session.window is not None:
            return session.window.state == "done"
        if orders.steps:
            return done >= orders.steps
        long = now - self.first >= orders.seconds
        return done >= orders.most_steps or (done >= orders.least_steps and long)

    def _finish(self) -> None:
        self._write()
        if self.beyond:
            leave_soon()

    def _write(self) -> None:
        found: dict[str, Any] = {
            "losses": self.losses.values() if self.session.hooked else [],
            "grad_norms": self.norms.values,
            "inputs": self.inputs.values,
            "effects": [dataclasses.asdict(e) for e in self._effects()],
            "parameters": self.parameters.total,
            **peak_memory(),
        }
        with contextlib.suppress(OSError):
            write_atomic(self.session.folder / OBSERVED, json.dumps(found).encode())

    def _effects(self) -> list[Effect]:
        effects = [recorder.effect() for _, recorder in self.changes]
        return [*effects, self.patched] if self.patched else effects


def _patch(path: str) -> Effect:
    """Run the user's file and its ``patch()``; what that returns says what it changed."""
    name = Path(path).name
    function = runpy.run_path(path, run_name="timesink_patch").get("patch")
    if not callable(function):
        raise BadUsage(f"{name} defines no function patch().", "Define one: it is called once.")
    answer = function()
    if answer is False:
        return Effect(f"patch {name}", 0, "patch() returned False: it changed nothing")
    said = answer if isinstance(answer, str) else "called (what it changed is not known)"
    return Effect(f"patch {name}", None, said)
