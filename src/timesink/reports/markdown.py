"""The report as Markdown, for a pull request: short tables, names escaped."""

from __future__ import annotations

import re

from timesink.model.report import Report
from timesink.reports import units
from timesink.reports.cells import cell
from timesink.reports.document import (
    Bar,
    Block,
    Code,
    Distribution,
    Document,
    FindingBlock,
    Items,
    Paragraph,
    Table,
)
from timesink.reports.sections import build
from timesink.reports.sparks import sparks

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~$&])")
_NAME = 100


def to_markdown(report: Report) -> str:
    """All sections that are not pictures."""
    return document_to_markdown(build(report))


def document_to_markdown(document: Document) -> str:
    """Any document, without its pictures and its environment."""
    lines = [f"# {_escape(document.title)}", ""]
    if document.subtitle:
        lines += [_escape(document.subtitle), ""]
    for section in document.sections:
        if section.html_only or section.title == "Environment":
            continue
        lines += [f"## {_escape(section.title)}", ""]
        for block in section.blocks:
            lines += _block(block)
    return "\n".join(lines).rstrip() + "\n"


def _escape(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", units.clean(text))


def _block(block: Block) -> list[str]:
    if isinstance(block, Paragraph):
        text = _escape(block.text)
        return [f"**{text}**" if block.strong else text, ""]
    if isinstance(block, Bar):
        rows = [
            f"| {_escape(p.label)} | {_escape(share)} | {units.time(p.ns)} |"
            for p, share in zip(
                block.parts, units.shares([p.share for p in block.parts]), strict=True
            )
        ]
        return ["| of a step | share | time |", "|---|---:|---:|", *rows, ""]
    if isinstance(block, Table):
        return _table(block)
    if isinstance(block, FindingBlock):
        return _finding(block)
    if isinstance(block, Distribution):
        return _fenced("\n".join(sparks(block)))
    if isinstance(block, Code):
        return _fenced(block.text)
    if isinstance(block, Items):
        return [*(f"- {_escape(i)}" for i in block.items), ""]
    return []


def _fenced(text: str) -> list[str]:
    fence = "`" * 3
    lines = [units.clean(line).replace("`", "'") for line in text.split("\n")]
    return [fence, *lines, fence, ""]


def _table(table: Table) -> list[str]:
    rule = "|".join("---" if c.kind == "text" else "---:" for c in table.columns)
    head = "|".join(f" {_escape(c.title)} " for c in table.columns)
    rows = []
    for row in table.rows[: table.brief]:
        cells = [units.middle(cell(v, c), _NAME) for v, c in zip(row, table.columns, strict=True)]
        rows.append("|" + "|".join(f" {_escape(c)} " for c in cells) + "|")
    more = len(table.rows) - len(rows)
    return [f"|{head}|", f"|{rule}|", *rows, *([f"\n{more:,} more rows."] if more > 0 else []), ""]


def _finding(block: FindingBlock) -> list[str]:
    cost = f"at most {units.share(block.share)} of a step ({units.time(block.cost_ns)})"
    lines = [
        f"### {_escape(block.title)}: {_escape(block.claim) or cost}",
        "",
        *(f"- {_escape(e)}" for e in block.evidence),
        "",
        _escape(block.advice),
        "",
    ]
    if block.command:
        lines += _fenced(block.command)
    if block.caveat:
        lines += [f"*{_escape(block.caveat)}*", ""]
    return lines
