"""The tables of ``timesink ops``: any result rows, field by field."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from timesink.reports.document import Column, Kind, Table
from timesink.reports.terminal import print_table

_TITLES = {
    "name": "name",
    "phase": "phase",
    "calls": "calls",
    "cpu_self_ns": "self CPU",
    "cpu_total_ns": "total CPU",
    "device_self_ns": "self device",
    "device_total_ns": "total device",
    "cpu_max_ns": "max",
    "kind": "class",
    "delay_median_ns": "launch delay",
    "op": "launched by",
}


def print_rows(
    title: str,
    fields: Sequence[str],
    values: Sequence[Sequence[Any]],
    total: int,
    steps: int,
    console: Console,
) -> None:
    """Print rows whose fields are named as in the model (``*_ns`` are times)."""
    columns = tuple(
        Column(_TITLES.get(f, f.removesuffix("_ns").replace("_", " ")), _kind(f)) for f in fields
    )
    plural = "s" if steps != 1 else ""
    console.print(Text(f"{title}: {len(values):,} of {total:,}, over {steps} step{plural}", "bold"))
    if not values:
        console.print("none recorded")
        return
    print_table(Table(title.lower(), columns, tuple(map(tuple, values))), console, None)


def _kind(field: str) -> Kind:
    if field.endswith("_ns"):
        return "time"
    if field == "calls":
        return "count"
    return "share" if field == "share" else "text"
