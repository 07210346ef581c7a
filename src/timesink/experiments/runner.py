"""Runs an experiment to its end: plan, process, record; again and again. Everything that a process
showed is on disk before the next one starts."""

from __future__ import annotations

import contextlib
import shutil
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from timesink.experiments import ledger
from timesink.experiments.plan import Job, judged, next_job
from timesink.experiments.process import CACHE, OUTPUT, completed, run_process, script_fails
from timesink.model.experiments import Experiment

#: Told before each process: the experiment so far and what comes next.
Watcher = Callable[[Experiment, Job], None]


def run_experiment(
    e: Experiment, folder: Path, watch: Watcher | None = None, base: Path | None = None
) -> Experiment:
    """Go on from wherever ``e`` is; the ledger is the one in ``base``, else beside the folder.
    Interrupted (Ctrl-C), it is recorded as such and the exception
    goes on; a script that fails unchanged raises ``BadUsage``."""
    ledger.save(e, folder)
    try:
        while (job := next_job(e)) is not None:
            if watch is not None:
                watch(e, job)
            began = time.monotonic()
            observation = run_process(e, job, folder)
            spent = e.spent_s + time.monotonic() - began
            if not any(name == "torch.version" for name, _ in e.environment):
                e = replace(e, environment=completed(e.environment, folder / observation.name))
            e = judged(replace(e, observations=(*e.observations, observation), spent_s=spent))
            ledger.save(e, folder)
            if job.arm == "A" and job.purpose != "profile" and observation.error:
                raise script_fails(
                    observation.error, folder / observation.name / OUTPUT, e.design.base
                )
    except BaseException:
        _record(replace(e, status="interrupted"), folder, base or folder.parent)
        raise
    shutil.rmtree(folder / CACHE, ignore_errors=True)
    return _record(replace(e, status="done"), folder, base or folder.parent)


def _record(e: Experiment, folder: Path, base: Path) -> Experiment:
    with contextlib.suppress(OSError):
        ledger.save(e, folder)
        ledger.append(e, folder, base)
    return e
