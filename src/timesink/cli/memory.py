"""``timesink memory``: why it ran out, what leaks, what the peak is made of."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from timesink.cli.common import JsonOption, write_bytes, write_text


def command(
    path: Annotated[
        Path, typer.Argument(help="A run, a trace, a folder of ranks or a snapshot pickle.")
    ],
    after: Annotated[
        Path | None,
        typer.Argument(help="A second one: what differs between them.", show_default=False),
    ] = None,
    rank: Annotated[int | None, typer.Option(help="The rank to show.")] = None,
    html: Annotated[Path | None, typer.Option("--html", help="Write a page here.")] = None,
    markdown: Annotated[Path | None, typer.Option("--markdown", help="Write it here.")] = None,
    json: JsonOption = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Longer tables.")] = False,
) -> None:
    """Say what memory is made of: the failed allocation, what grows, who holds the peak.

    Examples:

      timesink run --memory train.py

      timesink memory timesink_runs/train-20261201-1330

      timesink memory memory.pickle --html memory.html

      timesink memory timesink_runs/before timesink_runs/after
    """
    from timesink import api

    report = api.memory_report(path, rank=rank)
    page = api.memory_page(report)
    if after is not None:
        other = api.memory_report(after, rank=rank)
        page = api.memory_comparison_page(report, other)
    if html is not None:
        write_text(html, api.document_html(page))
    if markdown is not None:
        write_text(markdown, api.document_markdown(page))
    if json:
        for found in (report, other) if after is not None else (report,):
            write_bytes(api.memory_json(found) + b"\n")
    elif html is None and markdown is None:
        api.print_document(page, verbose=verbose)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("memory")(command)
