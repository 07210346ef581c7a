"""``timesink try`` and ``history``: designs made, experiments run and recorded."""

from __future__ import annotations

import os
import random
import re
import shlex
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from timesink.errors import BadUsage
from timesink.model.experiments import Change, Command, Design, Experiment, Numerics

if TYPE_CHECKING:
    from timesink.experiments.plan import Job
    from timesink.model.findings import Finding
    from timesink.reports.document import Document, Section

Watcher = Callable[[Experiment, "Job"], None]


def change(interventions: Sequence[str], patch: str = "") -> Change:
    """One candidate of one or more interventions and a patch file, checked.

    Raises ``BadUsage`` for an unknown intervention, a bad value or a missing file.
    """
    from timesink.experiments.interventions import parse_all

    found = parse_all(tuple(interventions))
    if patch and not Path(patch).is_file():
        raise BadUsage(f"There is no file {patch}.", "Name a Python file that defines patch().")
    ranked: tuple[Numerics, ...] = ("exact", "rounding", "reduced", "training")
    kinds = {i.kind.numerics for i in found}
    numerics: Numerics = next((n for n in reversed(ranked) if n in kinds), "exact")
    mean = any(i.kind.measure == "mean" for i in found)
    label = " + ".join(
        [*(i.text for i in found), *([f"patch {Path(patch).name}"] if patch else [])]
    )
    return Change(
        label=label,
        interventions=tuple(i.text for i in found),
        patch=str(Path(patch).resolve()) if patch else "",
        numerics=numerics,
        measure="mean" if mean else "typical",
        may_change=tuple(dict.fromkeys(i.kind.may_change for i in found)),
        code=tuple(i.code for i in found),
    )


def two_commands(before: str, after: str) -> tuple[Command, Command, Change]:
    """The two arms of ``--before "cmd" --after "cmd"``."""
    label = "the second command"
    return command_of(before), command_of(after), Change(label=label, numerics="rounding")


def command_of(text: str) -> Command:
    """``python -m pkg.train --lr 1`` or ``train.py --lr 1`` as a command."""
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise BadUsage(f"{text!r} is not a command: {error}.", "Check its quotes.") from error
    if words and re.fullmatch(r"python[\d.]*", Path(words[0]).name):
        _ours(words[0])
        words = words[1:]
    module = words[:1] == ["-m"]
    return checked(Command(tuple(words[module:]), module))


def _ours(python: str) -> None:
    """A named interpreter has to be this one: another would silently not be used."""
    if os.sep in python and Path(python).absolute().parent != Path(sys.executable).parent:
        raise BadUsage(
            f"{python} is another interpreter than timesink's own ({sys.executable}).",
            "Run each with its own timesink, and compare the runs with `timesink compare`.",
        )


def checked(command: Command) -> Command:
    """The command, or ``BadUsage`` if there is no such script."""
    if not command.words or command.words[0].startswith("-"):
        raise BadUsage("There is no script to run.", "Write train.py and its arguments.")
    if int(os.environ.get("WORLD_SIZE") or 1) > 1:
        raise BadUsage("try measures one process and this is a torchrun job.", "Run it without.")
    if not command.module and not Path(command.words[0]).is_file():
        raise BadUsage(f"There is no script {command.words[0]}.", "Name a file, or use -m.")
    return command


def begin(design: Design, out: Path, name: str | None = None) -> tuple[Experiment, Path]:
    """A new experiment in a new folder."""
    from timesink.capture.folder import create_run_folder, default_name
    from timesink.reproducibility.environment import environment

    script = design.before.words[0]
    stem = default_name(script.rsplit(".", 1)[-1] if design.before.module else script)
    folder = create_run_folder(out, name or f"try-{stem}")
    started = datetime.now().astimezone().isoformat(timespec="seconds")
    seed = design.seed or random.SystemRandom().randrange(1, 2**31)
    e = Experiment(
        name=folder.name,
        started=started,
        design=replace(design, seed=seed),
        environment=environment().fields,
        diff=_git_diff(),
    )
    return e, folder


def run_experiment(
    e: Experiment, folder: Path, watch: Watcher | None = None, base: Path | None = None
) -> Experiment:
    """Run (or go on with) an experiment until it is answered; see ``experiments.runner``."""
    from timesink.experiments.runner import run_experiment as run

    return run(e, folder, watch, base)


def explained(e: Experiment, folder: Path) -> tuple[Experiment, tuple[Section, ...]]:
    """The experiment with what its profiled run predicted, and the sections that compare both
    profiled runs (none where one of them could not be recorded)."""
    profiles = [e.of("A", "profile"), e.of("B", "profile")]
    if not all(profiles):
        return e, ()
    from timesink.api.load import report
    from timesink.errors import TimesinkError
    from timesink.experiments.compare import compare
    from timesink.reports.comparison import sections

    try:
        before, after = (report(folder / found[-1].name, cache=False) for found in profiles)
        parts = sections(compare(before, after))
    except TimesinkError as error:
        return replace(e, notes=(*e.notes, f"The profiled runs cannot be compared: {error}")), ()
    if e.speed is None or e.speed.ratio is None:  # one profile of each is no measurement
        parts = ()
    return replace(e, prediction=_prediction(e, before.diagnosis.findings)), parts


def _prediction(e: Experiment, findings: Sequence[Finding]) -> tuple[str, float] | None:
    """The finding that names this change, if one does: its title and upper bound."""
    names = {i.partition("=")[0] for i in e.design.change.interventions}
    named = [f for f in findings if f.intervention.partition("=")[0] in names]
    best = max(named, key=lambda f: f.share, default=None)
    return (best.title, best.share) if best is not None else None


def explained_page(e: Experiment, folder: Path) -> Document:
    """Compare the profiled runs, complete the record, write experiment.html and experiment.md;
    returns the page."""
    from timesink.capture.folder import write_atomic
    from timesink.experiments.ledger import save
    from timesink.reports.experiment import build

    e, why = explained(e, folder)
    save(e, folder)
    page = build(e, why)
    html, text = document_html(page), document_markdown(page)
    write_atomic(folder / "experiment.html", html.encode("utf-8", "replace"))
    write_atomic(folder / "experiment.md", text.encode("utf-8", "replace"))
    return page


def document_html(page: Document) -> str:
    """Any document as one self-contained page."""
    from timesink.reports.html import document_to_html

    return document_to_html(page)


def document_markdown(page: Document) -> str:
    """Any document as Markdown."""
    from timesink.reports.markdown import document_to_markdown

    return document_to_markdown(page)


def print_document(page: Document, *, verbose: bool = False) -> None:
    """Print any document for a person."""
    from rich.console import Console

    from timesink.reports.terminal import print_document as render

    render(page, Console(), verbose=verbose)


def experiment_json(e: Experiment) -> bytes:
    """The whole record as JSON with a ``schema_version``."""

    from timesink.reports.json_ import dump_result

    return dump_result(e)


def load_experiment(path: str | Path) -> tuple[Experiment, Path]:
    """An experiment by its folder, or by its name in ``timesink_runs``."""
    from timesink.experiments.ledger import load

    folder = Path(path)
    if not folder.is_dir() and (Path("timesink_runs") / path).is_dir():
        folder = Path("timesink_runs") / path
    return load(folder), folder


def history(base: Path) -> tuple[list[dict[str, Any]], int]:
    """All experiments recorded in ``base``, oldest first, and how many lines are damaged."""
    from timesink.experiments.ledger import history as read

    return read(base)


def print_history(entries: Sequence[dict[str, Any]], damaged: int) -> None:
    """Print the ledger as a table."""
    from timesink.reports.history import build

    print_document(build(entries, damaged))


def history_json(entries: Sequence[dict[str, Any]]) -> bytes:
    """The ledger as JSON with a ``schema_version``."""
    from timesink.reports.json_ import dump

    return dump({"experiments": list(entries)})


def _git_diff() -> str:
    """The uncommitted changes of the working folder, up to 200 kB; "" outside git."""
    import subprocess

    try:
        command = ["git", "diff", "HEAD", "--no-ext-diff", "--no-color"]
        found = subprocess.run(command, capture_output=True, timeout=5, check=False)
    except (OSError, subprocess.SubprocessError):
        return ""
    return found.stdout[:200_000].decode("utf-8", "replace") if found.returncode == 0 else ""
