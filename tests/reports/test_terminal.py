from __future__ import annotations

import dataclasses
import io
import re
from typing import Any

import pytest
from rich.console import Console

from tests import fakes
from timesink.model.report import Report
from timesink.reports.tables import print_rows
from timesink.reports.terminal import print_report


def printed(report: Report, width: int = 80, verbose: bool = False, **console: Any) -> str:
    out = io.StringIO()
    print_report(report, Console(file=out, width=width, **console), verbose=verbose)
    return out.getvalue()


def test_the_verdict_comes_first_and_piped_output_is_plain() -> None:
    text = printed(fakes.report())
    lines = [line for line in text.splitlines() if line]
    assert lines[0] == "train-1"
    assert "Input-bound: 62 % of a step is spent waiting for data." in lines[:5]
    assert "\x1b" not in text


def test_colour_on_a_terminal() -> None:
    assert "\x1b[" in printed(fakes.report(), force_terminal=True, color_system="standard")


def test_what_a_short_report_holds() -> None:
    text = printed(fakes.report())
    for part in (
        "at most 62.0 % of a step (62.0 ms)",
        "timesink try --with num-workers=2 train.py --epochs 1",
        "Longest CPU operator: aten::conv2d, 9.00 ms in step 3",
        "Longest device operation: ampere_sgemm_128x64_tn, 4.00 ms",
        "3 events had an illegal escape and were repaired.",
        "aten::op0",
        "20 more",
    ):
        assert part in text, part
    assert re.search(r"^A  data loading +62\.0 %  62\.0 ms$", text, re.MULTILINE)


def test_verbose_shows_every_operator_and_the_environment() -> None:
    brief, verbose = printed(fakes.report()), printed(fakes.report(), verbose=True)
    assert "aten::op19 " not in brief
    assert "aten::op19 " in verbose
    assert "torch.version" in verbose


@pytest.mark.parametrize("width", [40, 80, 140])
def test_lines_fit(width: int) -> None:
    text = printed(fakes.report(), width, verbose=True)
    command = "timesink try"  # never broken, so that it can be copied
    too_long = [x for x in text.splitlines() if len(x) > width and command not in x]
    if width >= 80:
        assert too_long == []
    assert "62.0 %" in text


def test_kernels_stay_distinguishable_at_80_columns() -> None:
    rows = [x.split("  ")[0] for x in printed(fakes.report()).splitlines() if "void at:" in x]
    assert len(rows) == 3
    assert len(set(rows)) == 3


def test_unknown_is_not_zero() -> None:
    line = next(x for x in printed(fakes.report(), 140, True).splitlines() if "SubF" in x)
    assert "unknown" in line


def test_without_an_analysis() -> None:
    text = printed(fakes.report(analysis=None, timeline=None, light=None))
    assert "Input-bound" in text
    assert "Operators" not in text


def test_ascii_where_the_encoding_is_not_utf8() -> None:
    raw = io.BytesIO()
    out = io.TextIOWrapper(raw, encoding="ascii", errors="strict")
    print_report(fakes.report(), Console(file=out, width=80), verbose=True)
    out.flush()
    assert b"12.3 us" in raw.getvalue()


@pytest.mark.parametrize("text", fakes.HOSTILE, ids=range(len(fakes.HOSTILE)))
def test_names_cannot_act_on_the_terminal(text: str) -> None:
    out = printed(fakes.hostile(text), verbose=True)
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\u202e\u2066]", out)
    out.encode("utf-8")


def test_rich_markup_in_names_is_printed_as_it_is() -> None:
    assert "[red]x[/red]" in printed(fakes.hostile("[red]x[/red]"))


def test_operator_table() -> None:
    out = io.StringIO()
    rows = [("aten::mm\x1b[31m", 3, 1_500_000), ("aten::add", 1, 10)]
    print_rows(
        "Operators", ("name", "calls", "cpu_self_ns"), rows, 5, 2, Console(file=out, width=80)
    )
    lines = out.getvalue().splitlines()
    assert lines[0] == "Operators: 2 of 5, over 2 steps"
    assert lines[1].split() == ["name", "calls", "self", "CPU"]
    assert lines[2].split() == ["aten::mm\\x1b[31m", "3", "1.50", "ms"]


def test_device_use_launches_and_slow_steps() -> None:
    text = printed(fakes.report(), 200, verbose=True)
    assert re.search(r"^0 +27\.3 % +300 ms +800 ms", text, re.MULTILINE)
    assert re.search(r"^ +900 +0 +0 +8\.00 µs +20\.0 µs", text, re.MULTILINE)
    assert re.search(r"^0 +train +1\.00 s +500 ms .* first$", text, re.MULTILINE)


def test_a_device_that_is_not_known_is_not_called_idle() -> None:
    analysis = fakes.analysis()
    breakdown = dataclasses.replace(analysis.breakdown, device_known=False)
    made = fakes.report(analysis=dataclasses.replace(analysis, breakdown=breakdown))
    text = printed(made, 200, verbose=True)
    assert "busy share" not in text
    assert "device compute  " not in text
    assert re.search(r"^my block .* unknown +20\.0 %$", text, re.MULTILINE)
