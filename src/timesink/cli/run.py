"""``timesink run``: measure an unmodified training script."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from timesink.cli.common import flush, reader_may_leave, write_bytes
from timesink.errors import BadUsage, TimesinkError
from timesink.reports.units import clean

if TYPE_CHECKING:
    from timesink.model.report import Report

Script = Annotated[
    list[str],
    typer.Argument(metavar="SCRIPT [ARGS]...", help="The script and its own arguments."),
]
ModuleFlag = Annotated[bool, typer.Option("-m", help="SCRIPT is a module, as in python -m.")]
OutOption = Annotated[
    Path, typer.Option("--out", "-o", help="The folder that run folders are made in.")
]
NameOption = Annotated[
    str | None, typer.Option("--name", help="Name of the run folder.", show_default="script-time")
]


def command(
    script: Script,
    module: ModuleFlag = False,
    wait: Annotated[
        int | None,
        typer.Option(min=0, help="Steps before the profiler window.", show_default="3"),
    ] = None,
    warmup: Annotated[
        int | None,
        typer.Option(min=0, help="Warm-up steps, recorded then dropped.", show_default="1"),
    ] = None,
    active: Annotated[
        int | None,
        typer.Option(min=0, help="Steps to record; 0: light only.", show_default="5"),
    ] = None,
    shapes: Annotated[
        bool, typer.Option("--shapes/--no-shapes", help="Input shapes (a few % in the window).")
    ] = True,
    with_stack: Annotated[
        bool, typer.Option("--with-stack", help="Python lines (slows the window 2-5 times).")
    ] = False,
    memory: Annotated[
        bool,
        typer.Option(
            "--memory", help="Allocations with their lines: the first 8 steps, twice as slow."
        ),
    ] = False,
    max_seconds: Annotated[
        float, typer.Option("--max-seconds", min=0, help="Longest window, in seconds.")
    ] = 120.0,
    ranks: Annotated[
        str, typer.Option("--ranks", help="Ranks whose window is recorded, e.g. 0,1.")
    ] = "",
    seed: Annotated[
        int | None,
        typer.Option(min=0, help="Seed every generator, and the hash of text, before the script."),
    ] = None,
    deterministic: Annotated[
        bool, typer.Option("--deterministic", help="With --seed: deterministic algorithms only.")
    ] = False,
    out: OutOption = Path("timesink_runs"),
    name: NameOption = None,
    json: Annotated[
        bool, typer.Option("--json", help="The report as JSON on stdout, after the script's own.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Write files only.")] = False,
) -> None:
    """Run a training script unchanged and say where its time goes.

    The script's own arguments follow its name. Its exit code is passed through.

    Examples:

      timesink run train.py --epochs 1

      timesink run -m package.train --lr 0.1

      timesink run --with-stack --active 2 train.py

      torchrun --nproc-per-node=2 -m timesink run train.py
    """
    from timesink import api
    from timesink.model.run import Schedule

    if deterministic and seed is None:
        raise BadUsage("--deterministic needs a seed.", "Add --seed 1, say.")
    if api.is_launcher(script[0], module):
        api.launch(script[1:], _own_options(script[0]))

    # With memory from the first step on: lazily made state appears in it, and it need not be quick.
    usual = (0, 0, 8) if memory else (3, 1, 5)
    first, second, third = (
        n if n is not None else u for n, u in zip((wait, warmup, active), usual, strict=True)
    )
    schedule = Schedule(first, second, third, shapes, with_stack, memory, max_seconds)
    outcome = api.run(
        script, module=module, schedule=schedule, out=out, name=name, ranks=_ranks(ranks),
        seed=seed, deterministic=deterministic,
    )  # fmt: skip
    if outcome.reports_here:
        _report(outcome.folder, json=json, quiet=quiet)
    leave(outcome.exit_code, outcome.signal)


def _own_options(script: str) -> list[str]:
    """What was typed between ``run`` and the launcher, less the -m that belongs to it."""
    return [a for a in sys.argv[2 : sys.argv.index(script)] if a != "-m"]


def _ranks(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(r) for r in text.split(",") if r.strip())
    except ValueError:
        raise BadUsage(f"--ranks {text} is not a list of numbers.", "Write e.g. 0,1.") from None


def _report(folder: Path, *, json: bool, quiet: bool) -> None:
    """Write the report files and print; on stderr, so that the script's own stdout stays its own.

    A report that cannot be made must not change the script's exit code.
    """
    from timesink import api

    try:
        report = api.report(folder, timeline=True)
        page = api.write_reports(report, folder)
        with reader_may_leave():
            _show(report, page, json=json, quiet=quiet)
    except Exception as error:
        with contextlib.suppress(OSError):
            _say(f"no report: {error}", f"Recorded: {folder}")


def _say(*sentences: str) -> None:
    print("timesink: " + "\n          ".join(map(clean, sentences)), file=sys.stderr)


def _show(report: Report, page: Path, *, json: bool, quiet: bool) -> None:
    from timesink import api

    if json:
        write_bytes(api.to_json(report) + b"\n")
    elif not quiet:
        api.print_report(report, stderr=True)
        print(f"HTML report: {page}", file=sys.stderr)


def leave(exit_code: int, killed_by: int | None) -> None:
    """Exit as the script did: with its code, or by the signal that ended it."""
    with contextlib.suppress(TimesinkError, OSError):
        flush()
        if sys.stderr is not None:
            sys.stderr.flush()
    if killed_by:
        if hasattr(signal, "SIGKILL") and killed_by != signal.SIGKILL:
            signal.signal(killed_by, signal.SIG_DFL)
        os.kill(os.getpid(), killed_by)
    raise typer.Exit(exit_code)


def register(app: typer.Typer) -> None:
    """Add the command."""
    settings = {"allow_interspersed_args": False}
    app.command("run", context_settings=settings)(command)
