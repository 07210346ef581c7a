"""``timesink view``: look at the trace, in Perfetto or in the built-in timeline."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from timesink.cli.common import PathArgument, RankOption, progress, write_text


def command(
    path: PathArgument,
    offline: Annotated[
        bool, typer.Option("--offline", help="The built-in timeline: a local HTML file.")
    ] = False,
    port: Annotated[
        int, typer.Option("--port", help="ui.perfetto.dev may only read from port 9001.")
    ] = 9001,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open the browser.")
    ] = True,
    rank: RankOption = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Where --offline writes the page.")
    ] = None,
    memory: Annotated[
        bool, typer.Option("--memory", help="Say how to load the snapshot in torch's own viewer.")
    ] = False,
) -> None:
    """Open a trace in Perfetto (served on 127.0.0.1 only) or offline.

    Examples:

      timesink view timesink_runs/train-1

      timesink view trace.json.gz --offline
    """
    from timesink import api

    if memory:
        typer.echo(_viewer(api.find_snapshot(path, rank=rank)))
        return
    trace = api.find_trace(path, rank=rank)
    if not offline:
        api.serve_perfetto(trace, port=port, open_browser=browser)
        return
    with progress("reading") as update:
        report = api.report(path, rank=rank, progress=update, timeline=True)
    page = output or api.default_page(path, trace)
    write_text(page, api.to_html(report))
    typer.echo(f"Timeline: {page}")
    if browser:
        webbrowser.open(page.resolve().as_uri())


def _viewer(snapshot: Path) -> str:
    return (
        f"Snapshot: {snapshot.resolve()}\n"
        "Open https://pytorch.org/memory_viz and drop that file on the page: it is read in the "
        "browser and not sent.\n"
        f"Without network: python -m torch.cuda._memory_viz trace_plot {snapshot} -o memory.html "
        "(it unpickles without restrictions: only for files of your own)."
    )


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("view")(command)
