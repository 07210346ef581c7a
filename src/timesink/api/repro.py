"""``timesink repro``: a check begun, run, compared with a saved one, written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from timesink.model.experiments import Command
from timesink.model.reproduction import Reproduction, SwitchName

if TYPE_CHECKING:
    from timesink.reports.document import Document


def begin_repro(
    command: Command,
    out: Path,
    name: str | None = None,
    *,
    runs: int = 2,
    steps: int = 20,
    seed: int | None = None,
    deterministic: bool = False,
    timeout_s: float = 600.0,
) -> tuple[Reproduction, Path]:
    """A new check in a new folder. Without a ``seed`` the script is run as it is and a seed is only
    used to see whether it would help."""
    from timesink.capture.folder import create_run_folder
    from timesink.reproducibility.environment import environment
    from timesink.reproducibility.seeding import environment_for

    environment_for(seed or 0)  # raises BadUsage for a seed out of range
    switches: tuple[SwitchName, ...] = ("seed", "PYTHONHASHSEED") if seed is not None else ()
    switches += ("deterministic",) if deterministic else ()
    folder = create_run_folder(out, name or f"repro-{_stem(command)}")
    started = datetime.now().astimezone().isoformat(timespec="seconds")
    r = Reproduction(
        folder.name, started, command, runs, steps, seed or 0, timeout_s, switches,
        environment=environment().fields,
    )  # fmt: skip
    return r, folder


def _stem(command: Command) -> str:
    import re

    word = command.words[0]
    stem = word.rsplit(".", 1)[-1] if command.module else Path(word).stem
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", stem).strip("-.") or "run"


def run_repro(
    r: Reproduction, folder: Path, watch: Callable[[str], None] = lambda _: None
) -> Reproduction:
    """Run the check to its end; see ``experiments.reproduction.runner``."""
    from timesink.experiments.reproduction.runner import Check

    return Check(r, folder, watch).run()
