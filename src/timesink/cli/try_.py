"""``timesink try``: one change, before and after, with a confidence interval and a loss check."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from timesink.cli.common import JsonOption, write_bytes
from timesink.cli.measuring import (
    BudgetOption,
    PrecisionOption,
    RunsOption,
    SecondsOption,
    SeedOption,
    StepsOption,
    TimeoutOption,
    duration,
    interruptible,
    pulled,
    share,
    watch,
)
from timesink.cli.run import ModuleFlag, NameOption, OutOption
from timesink.errors import BadUsage

if TYPE_CHECKING:
    from timesink.model.experiments import Change, Command, Design, Experiment


def command(
    script: Annotated[
        list[str] | None,
        typer.Argument(metavar="SCRIPT [ARGS]...", help="The script and its own arguments."),
    ] = None,
    module: ModuleFlag = False,
    with_: Annotated[
        list[str] | None,
        typer.Option("--with", metavar="CHANGE", help="What to change; several are one candidate."),
    ] = None,
    each: Annotated[bool, typer.Option("--each", help="Try each --with by itself.")] = False,
    base: Annotated[
        list[str] | None, typer.Option("--base", metavar="CHANGE", help="A change in both arms.")
    ] = None,
    patch: Annotated[
        str, typer.Option("--patch", metavar="FILE", help="Python; its patch() runs first.")
    ] = "",
    before: Annotated[str, typer.Option("--before", help="A command to compare …")] = "",
    after: Annotated[str, typer.Option("--after", help="… with this one.")] = "",
    budget: BudgetOption = "5m",
    runs: RunsOption = 12,
    steps: StepsOption = 0,
    seconds: SecondsOption = 3.0,
    precision: PrecisionOption = "2%",
    timeout: TimeoutOption = "10m",
    seed: SeedOption = 0,
    profile: Annotated[
        bool, typer.Option("--profile/--no-profile", help="Also profile each arm once, to say why.")
    ] = True,
    out: OutOption = Path("timesink_runs"),
    name: NameOption = None,
    resume: Annotated[
        str, typer.Option("--resume", metavar="NAME", help="Go on with an interrupted experiment.")
    ] = "",
    json: JsonOption = False,
) -> None:
    """Try a change on an unmodified script: faster? by how much? does it still train the same?

    The script runs many times for a few seconds each, unchanged and changed in turn; what it
    writes, it writes each time. TIMESINK_EXPERIMENT=1 tells it.

    Examples:

      timesink try --with num-workers=2 train.py --epochs 1

      timesink try --each --with compile --with channels-last train.py

      timesink try --before "train_old.py" --after "train_new.py"

      timesink try --resume try-train-20261201-1330

    Changes: see docs/try.md, or name a wrong one.
    """
    if resume:
        raise typer.Exit(_finish(*_resumed(resume, budget), json=json))
    words, more = pulled(script or [], "--with")
    changes = [*(with_ or []), *more]
    arms = _arms(words, module, before, after, changes, patch, each)
    code = 0
    for number, (first, second, change) in enumerate(arms):
        design = _design(
            first, second, change, base, budget, runs, steps, seconds, precision, timeout, seed,
            profile,
        )  # fmt: skip
        if number:
            print(file=sys.stderr)
        code = max(code, _finish(*_begun(design, out, name), json=json))
    raise typer.Exit(code)


def _arms(
    words: list[str],
    module: bool,
    before: str,
    after: str,
    changes: list[str],
    patch: str,
    each: bool,
) -> list[tuple[Command, Command, Change]]:
    from timesink import api
    from timesink.model.experiments import Command

    if bool(before) != bool(after):
        raise BadUsage("--before and --after belong together.", "Give both commands.")
    if before:
        if words or changes or patch:
            raise BadUsage(
                "--before and --after name whole commands.", "Leave out the script and --with."
            )
        return [api.two_commands(before, after)]
    command = api.checked(Command(tuple(words), module))
    if not changes and not patch:
        raise BadUsage("Nothing is to be tried.", "Add --with num-workers=2, say, or --patch FILE.")
    if each:
        single = [api.change([text]) for text in changes]
        return [
            (command, command, c) for c in [*single, *([api.change([], patch)] if patch else [])]
        ]
    return [(command, command, api.change(changes, patch))]


def _design(
    before: Command,
    after: Command,
    change: Change,
    base: list[str] | None,
    budget: str,
    runs: int,
    steps: int,
    seconds: float,
    precision: str,
    timeout: str,
    seed: int,
    profile: bool,
) -> Design:
    from timesink import api
    from timesink.model.experiments import Design

    return Design(
        before=before,
        after=after,
        change=change,
        base=api.change(base).interventions if base else (),
        seed=seed,
        steps=steps,
        seconds=seconds,
        budget_s=duration(budget, "--budget"),
        min_pairs=min(4, runs),
        max_pairs=runs,
        precision=share(precision, "--precision"),
        timeout_s=duration(timeout, "--timeout"),
        profile=profile,
    )


def _resumed(name: str, budget: str) -> tuple[Experiment, Path]:
    from timesink import api

    e, folder = api.load_experiment(name)
    more = e.spent_s + duration(budget, "--budget")
    design = dataclasses.replace(e.design, budget_s=max(e.design.budget_s, more))
    return dataclasses.replace(e, design=design, status="running"), folder


def _begun(design: Design, out: Path, name: str | None) -> tuple[Experiment, Path]:
    from timesink import api

    return api.begin(design, out, name)


def _finish(e: Experiment, folder: Path, *, json: bool) -> int:
    """Run it, write its page, print it. The exit code: 2 for a change that took no effect, since
    nothing was measured."""
    from timesink import api

    with interruptible(folder):
        try:
            e = api.run_experiment(e, folder, None if json else watch)
        except KeyboardInterrupt:
            api.explained_page(api.load_experiment(folder)[0], folder)
            raise
        page = api.explained_page(e, folder)
    if json:
        write_bytes(api.experiment_json(e) + b"\n")
    else:
        api.print_document(page)
        typer.echo(f"HTML report: {folder / 'experiment.html'}")
    return 2 if e.speed is not None and e.speed.outcome == "not applied" else 0


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("try", context_settings={"allow_interspersed_args": False})(command)
