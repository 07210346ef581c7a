"""Runs a check to its end: run, compare, locate, turn a switch, again. Everything that is known is
on disk before the next process starts."""

from __future__ import annotations

import dataclasses
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from timesink.capture.folder import read_record, write_atomic
from timesink.errors import BadUsage
from timesink.experiments.process import OUTPUT, script_fails
from timesink.experiments.reproduction.locate import located
from timesink.experiments.reproduction.process import comparable, prints, run_process
from timesink.model.reproducibility import StepDifference, StepPrints
from timesink.model.reproduction import Reproduction, ReproProcess, Round, SwitchName
from timesink.reproducibility.evidence import confirmed
from timesink.reproducibility.first_difference import first_step
from timesink.reproducibility.rounds import helpful, next_switches

FILE = "repro.json"
#: Told of what comes next, in words.
Watcher = Callable[[str], None]


class Check:
    """One check as it goes on; ``r`` is all that is known so far."""

    def __init__(self, r: Reproduction, folder: Path, watch: Watcher = lambda _: None) -> None:
        self.r, self.folder, self.watch = r, folder, watch

    def run(self) -> Reproduction:
        """To the end. Raises ``BadUsage`` where the script fails or has no steps."""
        began = time.monotonic()
        try:
            switches: tuple[SwitchName, ...] | None = self.r.switches
            while switches is not None:
                self._add(self._round(switches))
                switches = next_switches(self.r.rounds)
            self._conclude()
        except BaseException:
            spent = time.monotonic() - began
            self.r = replace(self.r, status="interrupted", spent_s=spent)
            save(self.r, self.folder)
            raise
        self.r = replace(self.r, status="done", spent_s=time.monotonic() - began)
        save(self.r, self.folder)
        return self.r

    def process(
        self, switches: tuple[SwitchName, ...], window: tuple[int, int] | None = None
    ) -> ReproProcess:
        """One process more, recorded."""
        done = run_process(self.r, self.folder, switches, window)
        if not self.r.processes:  # what the script's process saw: torch is among it
            seen = read_record(self.folder / done.name).environment.fields
            self.r = replace(self.r, environment=seen)
        self.r = replace(self.r, processes=(*self.r.processes, done))
        save(self.r, self.folder)
        return done

    def _add(self, found: Round) -> None:
        self.r = replace(self.r, rounds=(*self.r.rounds, found))
        save(self.r, self.folder)

    def _round(self, switches: tuple[SwitchName, ...]) -> Round:
        runs = []
        for number in range(self.r.runs):
            self.watch(f"run {number + 1} of {self.r.runs}{_with(switches)}")
            runs.append(self.process(switches))
        steps = [prints(self.folder / p.name) for p in runs]
        if all(p.error for p in runs):
            return Round(switches, error=self._failed(runs[0], first=not self.r.rounds))
        if not self.r.rounds and not any(steps):
            raise BadUsage(
                "No training step was seen: there is nothing to compare.",
                f"What the script printed is in {self.folder / runs[0].name}.",
            )
        broken = [f"{p.name} failed: {p.error}" for p in runs if p.error]
        self.r = replace(self.r, notes=(*self.r.notes, *broken))
        difference = earliest(steps)
        found = Round(switches, min(map(len, steps)), difference)
        if difference is None:
            return found
        self.watch(f"they part in step {difference.step}: looking for the operator")
        return replace(found, located=located(self, switches, difference))

    def _failed(self, process: ReproProcess, *, first: bool) -> str:
        if first:
            raise script_fails(process.error, self.folder / process.name / OUTPUT)
        return process.error

    def _conclude(self) -> None:
        """What was open until a switch made the runs agree is known now."""
        rounds = list(self.r.rounds)
        for after in helpful(rounds)[1:]:
            i = next(i for i, r in enumerate(rounds) if r.switches == after.switches[:-1])
            place = rounds[i].located
            if place is not None and place.operator is not None:
                operator = confirmed(place.operator, after.switches[-1])
                rounds[i] = replace(rounds[i], located=replace(place, operator=operator))
        self.r = replace(self.r, rounds=tuple(rounds))


def _with(switches: Sequence[str]) -> str:
    return f", {' and '.join(switches)} fixed" if switches else ""


def earliest(runs: Sequence[Sequence[StepPrints]]) -> StepDifference | None:
    """Where any run first differs from the first one."""
    plain = [[comparable(s) for s in run] for run in runs]
    found = [d for other in plain[1:] if (d := first_step(plain[0], other)) is not None]
    return min(found, key=lambda d: d.step, default=None)


def save(r: Reproduction, folder: Path) -> None:
    """Write everything known so far, atomically."""
    text = json.dumps(dataclasses.asdict(r), ensure_ascii=False)
    write_atomic(folder / FILE, text.encode("utf-8", "backslashreplace"))
