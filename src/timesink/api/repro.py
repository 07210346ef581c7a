"""``timesink repro``: a check begun, run, compared with a saved one, written."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from timesink.errors import BadUsage
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
    against: Path | None = None,
) -> tuple[Reproduction, Path]:
    """A new check in a new folder. Without a ``seed`` the script is run as it is and a seed is only
    used to see whether it would help; with ``against`` it is seeded as that fingerprint was."""
    from timesink.capture.folder import create_run_folder
    from timesink.reproducibility.environment import environment
    from timesink.reproducibility.seeding import environment_for

    environment_for(seed or 0)  # raises BadUsage for a seed out of range
    switches: tuple[SwitchName, ...] = ("seed", "PYTHONHASHSEED") if seed is not None else ()
    switches += ("deterministic",) if deterministic else ()
    if against is not None:
        from timesink.experiments.reproduction.saved import load_fingerprint

        saved = load_fingerprint(against)
        if switches and (switches, seed or 0) != (saved.switches, saved.seed):
            raise BadUsage(
                f"{against} was made with other seeds or dials than these.",
                "Leave out --seed and --deterministic: those of the file are taken.",
            )
        switches, seed = saved.switches, saved.seed
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
    r: Reproduction,
    folder: Path,
    watch: Callable[[str], None] = lambda _: None,
    *,
    save: Path | None = None,
    against: Path | None = None,
) -> Reproduction:
    """Run the check to its end (see ``experiments.reproduction.runner``); save its fingerprint, or
    compare it with a saved one."""
    from timesink.experiments.reproduction.runner import Check
    from timesink.experiments.reproduction.runner import save as record
    from timesink.experiments.reproduction.saved import (
        compared,
        load_fingerprint,
        save_fingerprint,
    )

    r = Check(r, folder, watch).run()
    if against is not None:
        r = compared(r, folder, load_fingerprint(against), against)
    if save is not None:
        r = save_fingerprint(r, folder, save)
    record(r, folder)
    return r


def repro_page(r: Reproduction, folder: Path) -> Document:
    """Write repro.html and repro.md; returns the page."""
    from timesink.capture.folder import write_atomic
    from timesink.reports.html import document_to_html
    from timesink.reports.markdown import document_to_markdown
    from timesink.reports.repro import build
    from timesink.reproducibility.rounds import helpful

    page = build(r, helpful(r.rounds), str(Path.cwd()))
    write_atomic(folder / "repro.html", document_to_html(page).encode("utf-8", "replace"))
    write_atomic(folder / "repro.md", document_to_markdown(page).encode("utf-8", "replace"))
    return page


def repro_json(r: Reproduction) -> bytes:
    """The whole record as JSON with a ``schema_version`` and the answer."""
    from timesink.reports.json_ import dump_result

    return dump_result(r, reproducible=r.reproducible)
