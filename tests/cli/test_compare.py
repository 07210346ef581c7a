"""``timesink compare`` as a person types it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.cli.test_commands import timesink
from tests.minitrace import training_trace, write_trace
from tests.realdata import real_trace


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path]:
    slower = training_trace()
    for event in slower["traceEvents"]:
        if "ts" in event and event.get("ph") == "X":
            event["ts"], event["dur"] = event["ts"] * 2, event["dur"] * 2
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    return (
        write_trace(tmp_path / "a" / "t.json.gz", training_trace()),
        write_trace(tmp_path / "b" / "t.json.gz", slower),
    )


def test_twice_as_long_is_said_and_not_called_significant(pair: tuple[Path, Path]) -> None:
    done = timesink("compare", *pair, "--no-cache")
    assert done.returncode == 0, done.stderr
    assert "1.00 ms → 2.00 ms (+100 %)" in done.stdout
    assert "cannot be said" in re.sub(r"\s+", " ", done.stdout)
    assert str(pair[0]) in done.stdout, "two files of one name are told apart by their paths"


def test_conditions_set_the_exit_code(pair: tuple[Path, Path]) -> None:
    failed = timesink("compare", *pair, "--no-cache", "--fail-if", "step_time > 5%")
    assert failed.returncode == 3
    assert "FAILED: step_time > 5%" in failed.stdout
    passed = timesink("compare", *pair, "--no-cache", "--fail-if", "step_time > 150%")
    assert passed.returncode == 0
    assert "passed: step_time > 150%" in passed.stdout
    bad = timesink("compare", *pair, "--no-cache", "--fail-if", "step_tme > 5%")
    assert bad.returncode == 2
    assert "Traceback" not in bad.stderr
    assert "no metric step_tme" in bad.stderr


def test_json_html_and_markdown_say_the_same(pair: tuple[Path, Path], tmp_path: Path) -> None:
    html, markdown = tmp_path / "c.html", tmp_path / "c.md"
    done = timesink(
        "compare", *pair, "--no-cache", "--json", "--html", html, "--markdown", markdown
    )
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    step = document["numbers"][0]
    assert (step["name"], step["before"], step["after"], step["change"]) == (
        "step_time", 1e6, 2e6, 1.0,
    )  # fmt: skip
    total = sum(o["after"] - o["before"] for o in document["owners"].values())
    assert total == pytest.approx(step["delta"])
    assert "1.00 ms → 2.00 ms" in html.read_text()
    assert "1.00 ms → 2.00 ms" in markdown.read_text()


def test_what_is_no_trace_is_one_sentence(pair: tuple[Path, Path], tmp_path: Path) -> None:
    other = tmp_path / "x.json"
    other.write_text("{}")
    for args in ((pair[0], other), (pair[0], tmp_path / "absent")):
        done = timesink("compare", *args)
        assert done.returncode == 2
        assert done.stderr.startswith("timesink: ")
        assert "Traceback" not in done.stderr


def test_a_real_pair_fp32_against_amp(tmp_path: Path) -> None:
    folder = "incredere__gpu-profiling-pytorch-lab"
    before = real_trace(f"{folder}/59c80c__fp32.pt.trace.json.gz")
    after = real_trace(f"{folder}/c0e060__amp.pt.trace.json.gz")
    document = json.loads(timesink("compare", before, after, "--json").stdout)
    kernels = {k["name"]: k["status"] for k in document["kernels"]}
    assert {"vanished"} == {s for n, s in kernels.items() if n.startswith("volta_sgemm")}
    assert {"appeared"} == {s for n, s in kernels.items() if n.startswith("turing_fp16")}
    compute = document["owners"]["device compute"]
    assert compute["after"] < 0.5 * compute["before"]
