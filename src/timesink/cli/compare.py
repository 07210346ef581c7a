"""``timesink compare``: two measurements side by side, and conditions on them for CI."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from timesink.cli.common import (
    JsonOption,
    NoCacheOption,
    RankOption,
    reader_may_leave,
    write_bytes,
    write_text,
)

#: Exit code where a condition of ``--fail-if`` holds.
_FAILED = 3


def command(
    before: Annotated[Path, typer.Argument(metavar="BEFORE", show_default=False)],
    after: Annotated[Path, typer.Argument(metavar="AFTER", show_default=False)],
    fail_if: Annotated[
        list[str] | None,
        typer.Option("--fail-if", metavar="CONDITION", help='Exit 3 if, say, "step_time > 5%".'),
    ] = None,
    html: Annotated[Path | None, typer.Option("--html", help="Write a page here.")] = None,
    markdown: Annotated[Path | None, typer.Option("--markdown", help="Write it here.")] = None,
    json: JsonOption = False,
    rank: RankOption = None,
    no_cache: NoCacheOption = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Longer tables.")] = False,
) -> None:
    """Compare two runs, traces or folders of ranks: what changed, per step.

    A single pair says what differs, not whether it is more than noise: for that, timesink try.

    Examples:

      timesink compare timesink_runs/train-1 timesink_runs/train-2

      timesink compare old.json.gz new.json.gz --html changes.html

      timesink compare main/ branch/ --fail-if "step_time > 5%" --fail-if "peak_memory > 100MiB"
    """
    from timesink import api

    comparison = api.compare(before, after, rank=rank, cache=not no_cache)
    gates = api.check_gates(fail_if or [], comparison)
    page = api.comparison_page(comparison, gates)
    if html:
        write_text(html, api.document_html(page))
    if markdown:
        write_text(markdown, api.document_markdown(page))
    if json:
        write_bytes(api.comparison_json(comparison, gates) + b"\n")
    else:
        with reader_may_leave():  # whoever reads no further still gets the exit code
            api.print_document(page, verbose=verbose)
            if html:
                typer.echo(f"HTML report: {html}")
    if any(g.holds for g in gates):
        raise typer.Exit(_FAILED)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("compare")(command)
