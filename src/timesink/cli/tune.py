"""``timesink tune``: try what the findings name, keep what helps."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

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
from timesink.cli.run import ModuleFlag, NameOption, OutOption, Script
from timesink.reports.units import clean


def command(
    script: Script,
    module: ModuleFlag = False,
    with_: Annotated[
        list[str] | None,
        typer.Option("--with", metavar="CHANGE", help="Try this as well."),
    ] = None,
    budget: BudgetOption = "15m",
    runs: RunsOption = 8,
    steps: StepsOption = 0,
    seconds: SecondsOption = 3.0,
    precision: PrecisionOption = "3%",
    timeout: TimeoutOption = "10m",
    seed: SeedOption = 0,
    out: OutOption = Path("timesink_runs"),
    name: NameOption = None,
    json: JsonOption = False,
) -> None:
    """Measure a script, try the changes that its findings name, keep what helps, prove the whole.

    Each change is measured as `timesink try` does: many short runs, before and after in turn, with
    a loss check. What makes another training of it (a larger batch) is never tried.

    Examples:

      timesink tune train.py --epochs 1

      timesink tune --budget 30m --with compile -m package.train
    """
    from timesink import api
    from timesink.model.experiments import Change, Command, Design

    plain, more = pulled(script, "--with")
    words = api.checked(Command(tuple(plain), module))
    extra = tuple(api.change([text]).label for text in [*(with_ or []), *more])
    design = Design(
        before=words,
        after=words,
        change=Change(""),
        seed=seed,
        steps=steps,
        seconds=seconds,
        budget_s=duration(budget, "--budget"),
        min_pairs=min(4, runs),
        max_pairs=runs,
        precision=share(precision, "--precision"),
        timeout_s=duration(timeout, "--timeout"),
    )
    with interruptible(out, resume=False):
        result = api.tune(
            design, out, extra=extra, name=name, watch=None if json else watch, say=_say
        )
        page = api.tuning_page(result, out / result.name)
    if json:
        write_bytes(api.tuning_json(result) + b"\n")
    else:
        api.print_document(page)
        typer.echo(f"HTML report: {out / result.name / 'tune.html'}")


def _say(sentence: str) -> None:
    print(f"timesink: {clean(sentence)}", file=sys.stderr, flush=True)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("tune", context_settings={"allow_interspersed_args": False})(command)
