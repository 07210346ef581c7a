"""Puts the commands together."""

from __future__ import annotations

import errno
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from timesink import __version__
from timesink.cli import (
    analyze,
    compare,
    fit,
    history,
    memory,
    ops,
    quick,
    repro,
    run,
    try_,
    tune,
    view,
)
from timesink.cli.common import flush, no_output, reader_may_leave

_HELP = """Where does PyTorch training time really go? Measure, name the bottleneck, prove the fix.

Start with:  timesink run train.py
"""


class _Commands(TyperGroup):
    """Settles what typer would call a failure: a reader of our output that has gone."""

    def invoke(self, ctx: Any) -> Any:
        try:
            with reader_may_leave():
                super().invoke(ctx)
        except OSError as error:
            if error.errno == errno.ENOSPC:
                raise no_output(error) from error
            raise
        flush()


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"timesink {__version__}")
        raise typer.Exit


def build() -> typer.Typer:
    """The application with all commands."""
    app = typer.Typer(
        cls=_Commands,
        help=_HELP,
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )

    @app.callback()
    def root(
        version: Annotated[
            bool, typer.Option("--version", callback=_version, is_eager=True, help="Show version.")
        ] = False,
    ) -> None:
        pass

    for module in (
        run,
        try_,
        tune,
        compare,
        history,
        repro,
        memory,
        fit,
        quick,
        analyze,
        ops,
        view,
    ):
        module.register(app)
    return app
