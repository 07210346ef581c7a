"""``timesink repro``: the same bits again? If not, where the runs part, why, and what fixes it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from timesink.cli.common import JsonOption, write_bytes
from timesink.cli.measuring import TimeoutOption, duration, interruptible
from timesink.cli.run import ModuleFlag, NameOption, OutOption, Script
from timesink.reports.units import clean

_DIFFERS = 1


def command(
    script: Script,
    module: ModuleFlag = False,
    runs: Annotated[int, typer.Option("--runs", min=2, help="So many runs are compared.")] = 2,
    steps: Annotated[
        int, typer.Option("--steps", min=0, help="Train steps to compare; 0: to the script's end.")
    ] = 20,
    seed: Annotated[
        int | None,
        typer.Option("--seed", min=0, help="Seed everything first.", show_default="as it is"),
    ] = None,
    deterministic: Annotated[
        bool, typer.Option("--deterministic", help="Deterministic algorithms only.")
    ] = False,
    save: Annotated[
        Path | None, typer.Option("--save", metavar="FILE", help="Save the fingerprint …")
    ] = None,
    against: Annotated[
        Path | None,
        typer.Option("--against", metavar="FILE", help="… and compare with it, here or elsewhere."),
    ] = None,
    timeout: TimeoutOption = "10m",
    out: OutOption = Path("timesink_runs"),
    name: NameOption = None,
    json: JsonOption = False,
) -> None:
    """Run a script several times: does it give the same bits? If not, from which operator on?

    The script runs unmodified in fresh processes, one after the other, with its own seeds, or with
    --seed under ours. Inputs, loss, gradients, parameters and optimizer state of every step are
    compared bit for bit. If they differ, it runs again to find the first operator that differs,
    its line and the cause, and then with whatever fixes it, to check that it does.
    TIMESINK_EXPERIMENT=1 tells the script.

    Exit codes: 0 reproducible, 1 it differs, 2 bad usage or the script fails.

    Examples:

      timesink repro train.py --epochs 1

      timesink repro --seed 0 --deterministic --steps 100 train.py

      timesink repro --save fp.json train.py    (there)

      timesink repro --against fp.json train.py (here)
    """
    from timesink import api
    from timesink.model.experiments import Command

    r, folder = api.begin_repro(
        api.checked(Command(tuple(script), module)), out, name,
        runs=runs, steps=steps, seed=seed, deterministic=deterministic,
        timeout_s=duration(timeout, "--timeout"), against=against,
    )  # fmt: skip
    with interruptible(folder, resume=False):
        r = api.run_repro(r, folder, _quiet if json else _say, save=save, against=against)
        page = api.repro_page(r, folder)
    if json:
        write_bytes(api.repro_json(r) + b"\n")
    else:
        api.print_document(page)
        typer.echo(f"HTML report: {folder / 'repro.html'}")
    raise typer.Exit(0 if r.reproducible else _DIFFERS)


def _say(sentence: str) -> None:
    print(f"  {clean(sentence)}", file=sys.stderr, flush=True)


def _quiet(sentence: str) -> None:
    pass


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("repro", context_settings={"allow_interspersed_args": False})(command)
