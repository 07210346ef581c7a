"""``timesink ops``: the key_averages table, from the trace."""

from __future__ import annotations

import csv
import io
from typing import Annotated, Any

import typer

from timesink.cli.common import (
    JsonOption,
    NoCacheOption,
    PathArgument,
    RankOption,
    progress,
    write_bytes,
)
from timesink.errors import BadUsage
from timesink.reports.units import clean


def command(
    path: PathArgument,
    sort: Annotated[
        str | None,
        typer.Option(
            "--sort",
            help="self_cpu, total_cpu, self_device, total_device, calls, max, name, or a key name "
            "of torch such as cuda_time_total. Default: device time where there is any.",
        ),
    ] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=0, help="Rows; 0 for all.")] = 20,
    group_by: Annotated[
        str, typer.Option("--group-by", help="Also split by: shape, stack, module (commas).")
    ] = "",
    kernels: Annotated[bool, typer.Option("--kernels", help="Device kernels instead.")] = False,
    all_steps: Annotated[
        bool, typer.Option("--all-steps", help="Count the first and compiling steps too.")
    ] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Comma-separated values, times in ns.")] = (
        False
    ),
    json: JsonOption = False,
    rank: RankOption = None,
    no_cache: NoCacheOption = False,
) -> None:
    """Operators or kernels with self and total time, as torch's key_averages() does.

    Examples:

      timesink ops timesink_runs/train-1

      timesink ops trace.json.gz --sort self_cpu_time_total --limit 30

      timesink ops trace.json.gz --group-by shape --csv > ops.csv

      timesink ops trace.json.gz --kernels
    """
    from timesink import api

    if as_csv and json:
        raise BadUsage("--csv and --json exclude each other.", "Choose one.")
    groups = tuple(g.strip() for g in group_by.split(",") if g.strip())
    with progress("reading") as update:
        table = api.operator_table(
            path,
            sort=sort,
            limit=limit or None,
            group_by=groups,
            kernels=kernels,
            all_steps=all_steps,
            rank=rank,
            cache=not no_cache,
            progress=update,
        )
    if json:
        write_bytes(api.table_json(table) + b"\n")
    elif as_csv:
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(table.fields)
        writer.writerows([_shown(v) for v in row] for row in table.values)
        write_bytes(text.getvalue().encode())
    else:
        api.print_table(table)


def _shown(value: Any) -> Any:
    """Names without control characters: a table may end up on a terminal."""
    return clean(value) if isinstance(value, str) else value


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("ops")(command)
