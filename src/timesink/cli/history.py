"""``timesink history``: the ledger of experiments, newest last."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from timesink.cli.common import JsonOption, write_bytes


def command(
    out: Annotated[Path, typer.Argument(metavar="[FOLDER]", help="Where the ledger is.")] = Path(
        "timesink_runs"
    ),
    last: Annotated[int, typer.Option("--last", min=0, help="Show only the last N.")] = 0,
    json: JsonOption = False,
) -> None:
    """List the experiments: what was tried, before and after, and whether training is the same.

    Examples:

      timesink history

      timesink history --last 5 --json
    """
    from timesink import api

    entries, damaged = api.history(out)
    shown = entries[-last:] if last else entries
    if json:
        write_bytes(api.history_json(shown) + b"\n")
    else:
        api.print_history(shown, damaged)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("history")(command)
