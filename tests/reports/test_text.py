"""Markdown and JSON."""

from __future__ import annotations

import dataclasses
import json
import os
import re
from pathlib import Path

import pytest

from tests import fakes
from timesink.model.owners import Owner
from timesink.model.report import Report
from timesink.reports.json_ import SCHEMA_VERSION, to_json
from timesink.reports.markdown import to_markdown

DOCS = Path(__file__).parents[2] / "docs" / "json.md"
GOLDEN = Path(__file__).with_name("golden.md")
EVERY = pytest.mark.parametrize("text", fakes.HOSTILE, ids=range(len(fakes.HOSTILE)))


def test_json_keys_are_the_fields_in_order() -> None:
    value = json.loads(to_json(fakes.report()))
    fields = [f.name for f in dataclasses.fields(Report)]
    assert list(value) == ["schema_version", *fields]
    assert value["schema_version"] == SCHEMA_VERSION


def test_json_values() -> None:
    value = json.loads(to_json(fakes.report()))
    assert value["diagnosis"]["verdict"]["bound"] == "input"
    assert value["analysis"]["kernels"][3]["delay_median_ns"] is None
    assert value["analysis"]["idle"][0]["causes"][0] == ["waiting for data", 700_000_000, 11]
    for step in value["analysis"]["breakdown"]["steps"]:
        assert len(step["owner_ns"]) == len(Owner)
        assert sum(step["owner_ns"]) == step["step"]["end_ns"] - step["step"]["start_ns"]
    assert value["timeline"] is None


def test_json_never_holds_nan() -> None:
    bad = dataclasses.replace(fakes.kernels()[0], mean_ns=float("nan"), share=float("inf"))
    made = fakes.report(analysis=dataclasses.replace(fakes.analysis(), kernels=(bad,)))

    def refuse(name: str) -> None:
        raise AssertionError(name)

    kernel = json.loads(to_json(made), parse_constant=refuse)["analysis"]["kernels"][0]
    assert kernel["mean_ns"] is None
    assert kernel["share"] is None


@EVERY
def test_json_of_hostile_names(text: str) -> None:
    value = json.loads(to_json(fakes.hostile(text)).decode("utf-8"))
    if text.isprintable():
        assert value["title"] == text


def test_the_documentation_names_the_keys() -> None:
    documented = re.findall(r"^\| `(\w+)` \|", DOCS.read_text("utf-8"), re.MULTILINE)
    assert documented == list(json.loads(to_json(fakes.report())))
    assert f"`schema_version` is {SCHEMA_VERSION}" in DOCS.read_text("utf-8")


def test_markdown_is_the_golden_file() -> None:
    """To renew it after a change that is meant: TIMESINK_RENEW=1 pytest tests/reports."""
    text = to_markdown(fakes.report())
    if os.environ.get("TIMESINK_RENEW"):
        GOLDEN.write_text(text, "utf-8")
    assert text == GOLDEN.read_text("utf-8")


def test_markdown() -> None:
    text = to_markdown(fakes.report())
    assert text.startswith("# train-1\n")
    assert "**Input-bound: 62 % of a step is spent waiting for data.**" in text
    assert "| data loading | 62.0 % | 62.0 ms |" in text
    assert "```\ntimesink try --with num-workers=2 train.py --epochs 1\n```" in text
    assert "20 more rows." in text


@EVERY
def test_markdown_of_hostile_names(text: str) -> None:
    """No name opens HTML, a link or a code span, leaves its cell or its line."""
    out = to_markdown(fakes.hostile(text))
    out.encode("utf-8")
    in_code = False
    for line in out.split("\n"):
        if line == "```":
            in_code = not in_code
            continue
        assert not re.search(r"[\x00-\x1f\x7f-\x9f\u2028\u202e]", line)
        if not in_code:
            assert not re.search(r"(?<!\\)[<`\[&]", line), line[:200]
    assert not in_code


def test_markdown_tables_keep_their_columns() -> None:
    out = to_markdown(fakes.hostile("a | b"))
    widths: list[set[int]] = []
    last = ""
    for line in out.split("\n"):
        if line.startswith("|"):
            if not last.startswith("|"):
                widths.append(set())
            widths[-1].add(len(re.findall(r"(?<!\\)\|", line)))
        last = line
    assert len(widths) > 3
    assert all(len(w) == 1 for w in widths)
