"""The report as one self-contained HTML page that works offline, and as a notebook fragment.

The page loads nothing: a content security policy forbids the network and every script but ours,
which it names by their hashes. All text passes ``units.clean`` and the template's escaping.
"""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from timesink.model.report import Report
from timesink.model.timeline import Timeline
from timesink.reports import units
from timesink.reports.cells import cell
from timesink.reports.charts import distribution_chart
from timesink.reports.document import Document, Section, Table
from timesink.reports.pack import pack
from timesink.reports.palette import COLOURS, slug
from timesink.reports.sections import build
from timesink.reports.svg import draw

#: Rows of one table that go into the page.
MAX_ROWS = 2000
#: Characters of one text in a table; the middle of longer ones is left out.
NAME_CHARS = 2000
#: Rows of a table in a notebook cell.
FRAGMENT_ROWS = 8
#: Characters of a text that show until its row is clicked: in the first column, in the others.
_FIRST, _OTHER = 100, 48


@dataclass(frozen=True, slots=True)
class Cell:
    """One value in a table of the page: whole, cut short, and as the number to sort by."""

    kind: str
    full: str
    cut: str
    value: str


def to_html(report: Report) -> str:
    """One self-contained page: no request leaves it, no script but ours runs in it."""
    return document_to_html(build(report), report.timeline)


def document_to_html(document: Document, timeline: Timeline | None = None) -> str:
    """Any document as one self-contained page."""
    scripts = (_asset("page.js"), _timeline_script())
    shown = timeline is not None and bool(timeline.lanes)
    page = _environment().get_template("page.html")
    return page.render(
        document=document,
        style=Markup(_colours() + _asset("page.css")),
        scripts=[Markup(script) for script in scripts],
        hashes=Markup(" ".join(map(_hash, scripts))),
        timeline=timeline,
        data=Markup(pack(timeline)) if timeline and shown else "",
        max_rows=MAX_ROWS,
    )


def to_html_fragment(report: Report) -> str:
    """A small fragment for a notebook cell: inline styles only, no script, no ids."""
    document = build(report)
    wanted = ("Verdict", "Findings", "Operators", "Longest operations", "Data quality")
    sections = [s for s in document.sections if s.title in wanted]
    fragment = _environment().get_template("fragment.html")
    return fragment.render(sections=sections, colours=COLOURS, limit=FRAGMENT_ROWS)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("timesink.reports", "assets"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_final,
    )
    environment.filters |= {
        "anchor": _anchor,
        "cell": cell,
        "cells": _cells,
        "draw": draw,
        "chart": distribution_chart,
        "kind": lambda block: type(block).__name__,
        "long": _long,
        "share": units.share,
        "shares": lambda parts: units.shares([p.share for p in parts]),
        "short": units.middle,
        "slug": slug,
        "time": units.time,
    }
    return environment


def _final(value: Any) -> Any:
    """Every text that a template prints: no control characters, no lone surrogates."""
    if isinstance(value, str) and not isinstance(value, Markup):
        return units.clean(value)
    return value


def _cells(table: Table) -> list[list[Cell]]:
    """The rows that go into the page, each value as a person and as the sorting script read it."""
    rows = table.rows[:MAX_ROWS]
    columns = []
    for i, column in enumerate(table.columns):
        full = [units.middle(cell(row[i], column), NAME_CHARS) for row in rows]
        cut = units.distinct(full, _FIRST if i == 0 else _OTHER)
        numbers = column.kind != "text"
        values = [_sort_value(row[i]) if numbers else "" for row in rows]
        columns.append([Cell(column.kind, *c) for c in zip(full, cut, values, strict=True)])
    return [list(row) for row in zip(*columns, strict=True)]


def _sort_value(value: Any) -> str:
    """The number that a cell is sorted by; empty for unknown, which goes last."""
    return "" if value is None else repr(float(value))


def _long(table: Table) -> bool:
    """Whether a table is worth a filter and starts with its first rows only."""
    return len(table.rows) > table.brief > 0


def _anchor(section: Section) -> str:
    return "-".join(section.title.lower().split())


@cache
def _asset(name: str) -> str:
    return files("timesink.reports").joinpath("assets", name).read_text("utf-8")


@cache
def _timeline_script() -> str:
    """The parts of the timeline's script, joined into one function."""
    folder = files("timesink.reports").joinpath("assets", "timeline")
    parts = sorted(folder.iterdir(), key=lambda part: part.name)
    body = "\n".join(part.read_text("utf-8") for part in parts if part.name.endswith(".js"))
    return f'"use strict";\n(() => {{\n{body}}})();\n'


def _hash(script: str) -> str:
    digest = hashlib.sha256(script.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


@cache
def _colours() -> str:
    """The palette as style sheet variables, for light and dark."""
    light = "".join(f"--{slug(k)}:{v[0]};" for k, v in COLOURS.items())
    dark = "".join(f"--{slug(k)}:{v[1]};" for k, v in COLOURS.items())
    classes = "".join(f".{slug(k)}{{--c:var(--{slug(k)})}}\n" for k in COLOURS)
    return (
        f":root{{{light}}}\n"
        f"@media (prefers-color-scheme:dark){{:root:not([data-theme=light]){{{dark}}}}}\n"
        f":root[data-theme=dark]{{{dark}}}\n{classes}"
    )
