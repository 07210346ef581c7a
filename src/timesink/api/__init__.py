"""Wires the rooms together: what the command line and the library call.

Everything here is a few lines: read with ``store``, compute with ``analyses``, judge with
``diagnoses``, render with ``reports``, run with ``capture``. Rooms are imported when needed, so
that ``timesink run`` starts fast and reading a trace never imports torch.
"""

from __future__ import annotations

from pathlib import Path

from timesink.api.compare import check_gates, compare, comparison_json, comparison_page
from timesink.api.experiments import (
    begin,
    change,
    checked,
    document_html,
    document_markdown,
    experiment_json,
    explained_page,
    history,
    history_json,
    load_experiment,
    print_document,
    print_history,
    run_experiment,
    two_commands,
)
from timesink.api.fit import fit, fit_json, fit_page
from timesink.api.load import (
    Progress,
    analyze,
    default_page,
    find_trace,
    read_trace,
    report,
)
from timesink.api.memory import (
    find_snapshot,
    memory_comparison_page,
    memory_json,
    memory_page,
    memory_report,
    memory_snapshot,
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
from timesink.api.repro import begin_repro, repro_json, repro_page, run_repro
from timesink.api.runs import Quick, RunOutcome, is_launcher, launch, quick, run
from timesink.api.tables import OperatorTable, operator_table
from timesink.api.tune import tune, tuning_json, tuning_page
from timesink.model.report import Report

__all__ = [
    "OperatorTable",
    "Progress",
    "Quick",
    "RunOutcome",
    "analyze",
    "begin",
    "begin_repro",
    "change",
    "check_gates",
    "checked",
    "compare",
    "comparison_json",
    "comparison_page",
    "default_page",
    "document_html",
    "document_markdown",
    "experiment_json",
    "explained_page",
    "find_snapshot",
    "find_trace",
    "fit",
    "fit_json",
    "fit_page",
    "history",
    "history_json",
    "is_launcher",
    "launch",
    "load_experiment",
    "memory_comparison_page",
    "memory_json",
    "memory_page",
    "memory_report",
    "memory_snapshot",
    "operator_table",
    "print_document",
    "print_history",
    "print_quick",
    "print_report",
    "print_table",
    "quick",
    "quick_json",
    "read_trace",
    "report",
    "report_html_fragment",
    "report_run",
    "repro_json",
    "repro_page",
    "run",
    "run_experiment",
    "run_repro",
    "serve_perfetto",
    "table_json",
    "to_html",
    "to_html_fragment",
    "to_json",
    "to_markdown",
    "tune",
    "tuning_json",
    "tuning_page",
    "two_commands",
    "write_reports",
]

#: Names that the library's results use.
report_html_fragment = to_html_fragment


def report_run(folder: str | Path) -> Report:
    """The report of one run folder, with its timeline; see :func:`report`."""
    return report(folder, timeline=True)
