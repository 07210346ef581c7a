"""``timesink analyze``: where the time goes in any existing trace, one or many ranks."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from timesink.cli.common import (
    JsonOption,
    NoCacheOption,
    PathArgument,
    RankOption,
    progress,
    write_bytes,
    write_text,
)


def command(
    path: PathArgument,
    html: Annotated[
        Path | None, typer.Option("--html", help="Write the self-contained HTML report here.")
    ] = None,
    markdown: Annotated[
        Path | None, typer.Option("--markdown", help="Write the report as Markdown here.")
    ] = None,
    json: JsonOption = False,
    rank: RankOption = None,
    session: Annotated[
        str | None, typer.Option("--session", help="Which run, when a folder holds several.")
    ] = None,
    no_cache: NoCacheOption = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Longer tables.")] = False,
) -> None:
    """Say where the time goes in a trace, a folder of ranks, or a run.

    Examples:

      timesink analyze trace.json.gz

      timesink analyze profiles/ --html report.html

      timesink analyze timesink_runs/train-1 --json
    """
    from timesink import api

    with progress("reading") as update:
        report = api.report(
            path,
            rank=rank,
            session=session,
            cache=not no_cache,
            progress=update,
            timeline=html is not None,
        )
    if html:
        write_text(html, api.to_html(report))
    if markdown:
        write_text(markdown, api.to_markdown(report))
    if json:
        write_bytes(api.to_json(report) + b"\n")
    else:
        api.print_report(report, verbose=verbose)
        if html:
            typer.echo(f"HTML report: {html}")


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("analyze")(command)
