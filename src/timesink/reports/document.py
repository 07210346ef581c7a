"""The neutral document that every renderer prints: blocks of plain values.

Built by pure functions from a ``Report``; no renderer looks at the report itself, so all of them
say the same.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

Kind = Literal["text", "time", "count", "bytes", "share"]


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Running text. ``strong``: the one sentence to read."""

    text: str
    strong: bool = False


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a bar: a share 0..1 and the time behind it in ns (per step)."""

    label: str
    share: float
    ns: float


@dataclass(frozen=True, slots=True)
class Bar:
    """A whole split into parts. ``colours`` are looked up by label."""

    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Column:
    """One column. ``kind`` says how values are shown and sorted."""

    title: str
    kind: Kind = "text"


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of plain values (numbers in ns, bytes, shares 0..1; None is unknown).

    ``brief``: how many rows a short report shows; ``name`` is stable, for tests and anchors.
    """

    name: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Any, ...], ...]
    brief: int = 10


@dataclass(frozen=True, slots=True)
class Series:
    """One line or stacked layer of a chart."""

    label: str
    values: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Chart:
    """``kind`` "stack" (bars per step), "line" or "steps" (one bar per step with marks).

    ``x`` has one entry per value. ``unit`` is the kind of the values. ``marks``: per value, a word
    ("profiled", "compiled", "boundary", ""). ``thinned`` says what was left out, if anything.
    """

    name: str
    kind: Literal["stack", "line", "steps"]
    x: tuple[float, ...]
    series: tuple[Series, ...]
    unit: Kind
    x_label: str
    marks: tuple[str, ...] = ()
    thinned: str = ""


@dataclass(frozen=True, slots=True)
class Distribution:
    """How often which value was seen: ``edges`` of equal bins, and per series the share 0..1 of
    its values in each bin (one fewer than edges). ``beyond``: what lies above the last edge."""

    name: str
    edges: tuple[float, ...]
    series: tuple[Series, ...]
    unit: Kind = "time"
    beyond: str = ""


@dataclass(frozen=True, slots=True)
class FindingBlock:
    """A finding, ready to print. ``command`` is the line to type, "" where there is none.
    ``claim``: what it is said to cost, instead of "at most … of a step"."""

    title: str
    rule: str
    share: float
    cost_ns: float
    evidence: tuple[str, ...]
    advice: str
    command: str
    caveat: str
    claim: str = ""


@dataclass(frozen=True, slots=True)
class Items:
    """A list of sentences."""

    items: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Code:
    """Lines to copy: a command or a piece of code or of a diff."""

    text: str


@dataclass(frozen=True, slots=True)
class TimelineBlock:
    """The place of the built-in timeline (HTML only)."""


Block = Paragraph | Bar | Table | Chart | Distribution | FindingBlock | Items | TimelineBlock | Code


@dataclass(frozen=True, slots=True)
class Section:
    """A titled part. ``html_only`` sections are charts that text cannot show.
    ``detail``: left out of a short report on a terminal."""

    title: str
    blocks: tuple[Block, ...]
    html_only: bool = False
    detail: bool = False


@dataclass(frozen=True, slots=True)
class Document:
    """A report as sections, in reading order."""

    title: str
    subtitle: str
    sections: tuple[Section, ...] = field(default=())
