"""``timesink quick``: what ``python -m torch.utils.bottleneck`` answered, in one run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from timesink.cli.common import write_bytes
from timesink.cli.run import ModuleFlag, NameOption, OutOption, Script, leave


def command(
    script: Script,
    module: ModuleFlag = False,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="Rows per table.")] = 15,
    max_seconds: Annotated[
        float, typer.Option(min=0, help="Stop recording operators after this many seconds.")
    ] = 60.0,
    out: OutOption = Path("timesink_runs"),
    name: NameOption = None,
    json: Annotated[bool, typer.Option("--json", help="JSON on stdout.")] = False,
) -> None:
    """Environment, Python functions and operators of a script, in ONE run of it.

    The successor of torch.utils.bottleneck; it survives DataLoader workers.

    Examples:

      timesink quick train.py --epochs 1

      timesink quick --limit 30 -m package.train
    """
    from timesink import api

    quick = api.quick(script, module=module, max_seconds=max_seconds, out=out, name=name)
    if json:
        write_bytes(api.quick_json(quick, limit=limit) + b"\n")
    else:
        api.print_quick(quick, limit=limit)
    leave(quick.result.exit_code, quick.result.signal)


def register(app: typer.Typer) -> None:
    """Add the command."""
    settings = {"allow_interspersed_args": False}
    app.command("quick", context_settings=settings)(command)
