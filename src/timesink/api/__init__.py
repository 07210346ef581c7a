"""Wires the rooms together: what the command line and the library call.

Everything here is a few lines: read with ``store``, compute with ``analyses``, judge with
``diagnoses``, render with ``reports``, run with ``capture``. Rooms are imported when needed, so
that ``timesink run`` starts fast and reading a trace never imports torch.
"""

from __future__ import annotations

from pathlib import Path

from timesink.api.load import (
    Progress,
    analyze,
    default_page,
    find_trace,
    read_trace,
    report,
)
from timesink.api.render import (
    print_quick,
    print_report,
    print_table,
    quick_json,
    serve_perfetto,
    table_json,
    to_html,
    to_html_fragment,
    to_json,
    to_markdown,
    write_reports,
)
from timesink.api.runs import Quick, RunOutcome, is_launcher, launch, quick, run
from timesink.api.tables import OperatorTable, operator_table
from timesink.model.report import Report

__all__ = [
    "OperatorTable",
    "Progress",
    "Quick",
    "RunOutcome",
    "analyze",
    "default_page",
    "find_trace",
    "is_launcher",
    "launch",
    "operator_table",
    "print_quick",
    "print_report",
    "print_table",
    "quick",
    "quick_json",
    "read_trace",
    "report",
    "report_html_fragment",
    "report_run",
    "run",
    "serve_perfetto",
    "table_json",
    "to_html",
    "to_html_fragment",
    "to_json",
    "to_markdown",
    "write_reports",
]

#: Names that the library's results use.
report_html_fragment = to_html_fragment


def report_run(folder: str | Path) -> Report:
    """The report of one run folder, with its timeline; see :func:`report`."""
    return report(folder, timeline=True)
