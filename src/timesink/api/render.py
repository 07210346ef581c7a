"""From a report to text, files and servers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from timesink.api.tables import OperatorTable
from timesink.model.report import Report

if TYPE_CHECKING:
    from timesink.api.runs import Quick


def to_html(report: Report) -> str:
    """One self-contained offline page."""
    from timesink.reports.html import to_html as render

    return render(report)


def to_html_fragment(report: Report) -> str:
    """A small fragment for a notebook cell."""
    from timesink.reports.html import to_html_fragment as render

    return render(report)


def to_markdown(report: Report) -> str:
    """Markdown that can be pasted into a pull request."""
    from timesink.reports.markdown import to_markdown as render

    return render(report)


def to_json(report: Report) -> bytes:
    """JSON with a ``schema_version``."""
    from timesink.reports.json_ import to_json as render

    return render(report)


def print_report(report: Report, *, verbose: bool = False, stderr: bool = False) -> None:
    """Print the report for a person."""
    from rich.console import Console

    from timesink.reports.terminal import print_report as render

    render(report, Console(stderr=stderr), verbose=verbose)


def write_reports(report: Report, folder: str | Path) -> Path:
    """Write report.html, report.md and steps.parquet into a run folder; returns the page."""
    from timesink.capture.folder import write_atomic

    folder = Path(folder)
    page = folder / "report.html"
    write_atomic(page, to_html(report).encode("utf-8", "replace"))
    write_atomic(folder / "report.md", to_markdown(report).encode("utf-8", "replace"))
    if report.light is not None and len(report.light):
        write_atomic(folder / "steps.parquet", _steps_parquet(report))
    return page


def _steps_parquet(report: Report) -> bytes:
    """The light steps as Parquet: one row per step, times in ns."""
    import io
    from dataclasses import fields

    import polars as pl

    light = report.light
    assert light is not None
    columns = {f.name: getattr(light, f.name) for f in fields(light) if f.name != "notes"}
    buffer = io.BytesIO()
    pl.DataFrame({k: list(v) for k, v in columns.items()}).write_parquet(buffer)
    return buffer.getvalue()


def print_table(table: OperatorTable) -> None:
    """Print an operator or kernel table for a person."""
    from rich.console import Console

    from timesink.reports.tables import print_rows

    print_rows(table.title, table.fields, table.values, table.total, table.steps, Console())


def table_json(table: OperatorTable) -> bytes:
    """An operator or kernel table as JSON with a ``schema_version``."""
    from timesink.reports.json_ import dump

    rows = [dict(zip(table.fields, values, strict=True)) for values in table.values]
    return dump(
        {"table": table.title.lower(), "steps": table.steps, "total": table.total, "rows": rows}
    )


def print_quick(quick: Quick, *, limit: int) -> None:
    """Print environment, Python functions and operators."""
    from rich.console import Console

    from timesink.reports.quick import print_quick as render

    render(
        quick.result.environment, quick.functions, quick.operators, quick.notes, limit, Console()
    )


def quick_json(quick: Quick, *, limit: int) -> bytes:
    """The same as JSON."""
    from timesink.reports.json_ import dump

    return dump(
        {
            "environment": dict(quick.result.environment.fields),
            "functions": quick.functions[:limit],
            "operators": quick.operators[:limit],
            "notes": quick.notes,
            "exit_code": quick.result.exit_code,
        }
    )


def serve_perfetto(trace: Path, *, port: int, open_browser: bool) -> None:
    """Serve one trace on 127.0.0.1 for ui.perfetto.dev until interrupted."""
    from timesink.reports.perfetto import serve

    serve(trace, port=port, open_browser=open_browser)
