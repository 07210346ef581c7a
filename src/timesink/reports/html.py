"""The report as one self-contained page: no request ever leaves it (its policy forbids them)."""

from __future__ import annotations

import json
from importlib import resources
from typing import Any

from jinja2 import Environment, PackageLoader, select_autoescape
from markupsafe import Markup

from timesink import __version__
from timesink.model.report import Report
from timesink.model.timeline import Lane, Timeline
from timesink.reports import svg, units
from timesink.reports.cells import cell
from timesink.reports.document import (
    Bar,
    Block,
    Chart,
    FindingBlock,
    Items,
    Paragraph,
    Table,
    TimelineBlock,
)
from timesink.reports.sections import build

#: Rows of a table that are put into the page.
ROWS = 2000
_KINDS = {
    Paragraph: "paragraph",
    Bar: "bar",
    Table: "table",
    Chart: "chart",
    FindingBlock: "finding",
    Items: "items",
    TimelineBlock: "timeline",
}


def to_html(report: Report) -> str:
    """The whole page. Names are escaped by the template, data by the JSON filter."""
    return _environment().get_template("report.html").render(**_context(report))


def to_html_fragment(report: Report) -> str:
    """Verdict, bar and findings for a notebook cell; styles touch nothing outside of it."""
    return _environment().get_template("fragment.html").render(**_context(report))


def _context(report: Report) -> dict[str, Any]:
    light, dark = svg.colour_rules()
    return {
        "document": build(report),
        "timeline": _timeline(report.timeline),
        "version": __version__,
        "colours_light": Markup(light),
        "colours_dark": Markup(dark),
        "style": Markup(_asset("report.css")),
        "script": Markup(_asset("report.js") + _asset("timeline.js")),
        "rows": ROWS,
    }


def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("timesink.reports", "assets"),
        autoescape=select_autoescape(default=True),
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "clean": units.clean,
        "share": units.share,
        "time": units.time,
        "cell": cell,
        "sort_key": _sort_key,
        "chart": svg.chart,
        "css": svg.css_name,
        "data": data,
    }
    environment.tests["paragraph"] = lambda b: isinstance(b, Paragraph)
    environment.globals["kind"] = _kind
    return environment


def _kind(block: Block) -> str:
    return _KINDS[type(block)]


def _sort_key(value: Any) -> str:
    if value is None:
        return "-1"
    return repr(float(value)) if isinstance(value, (int, float)) else units.clean(str(value))


def _asset(name: str) -> str:
    return resources.files("timesink.reports").joinpath("assets", name).read_text("utf-8")


def data(value: Any) -> Markup:
    """JSON for inside a ``<script type="application/json">``: it cannot end the element."""
    text = json.dumps(value, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    return Markup(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))


def _timeline(timeline: Timeline | None) -> dict[str, Any] | None:
    """Compact arrays: starts as differences, lanes with bars only."""
    if timeline is None or not timeline.lanes:
        return None
    return {
        "dur": timeline.dur_ns,
        "names": [units.clean(n) for n in timeline.names],
        "categories": [units.clean(c) for c in timeline.categories],
        "args": [units.clean(a) for a in timeline.args],
        "steps": timeline.steps,
        "dropped": timeline.dropped,
        "lanes": [_lane(lane) for lane in timeline.lanes if lane.start_ns],
    }


def _lane(lane: Lane) -> dict[str, Any]:
    starts = lane.start_ns
    return {
        "label": units.clean(lane.label),
        "kind": lane.kind,
        "start": [starts[0], *(b - a for a, b in zip(starts, starts[1:], strict=False))],
        "dur": lane.dur_ns,
        "depth": lane.depth,
        "name": lane.name,
        "cat": lane.category,
        "args": lane.args,
    }
