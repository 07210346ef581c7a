"""``timesink.profile`` and ``timesink.trace_handler`` in a user's own loop."""

from __future__ import annotations

import gzip
import json
import warnings
from pathlib import Path
from typing import Any

import pytest

import timesink
from timesink.capture.folder import read_record

torch: Any = pytest.importorskip("torch", reason="recording needs torch")
pytestmark = pytest.mark.torch


def work() -> None:
    model = torch.nn.Linear(8, 8)
    model(torch.randn(4, 8)).sum().backward()


def test_two_lines_in_a_loop(tmp_path: Path) -> None:
    with timesink.profile(wait=1, warmup=1, active=2, out=tmp_path, name="job") as prof:
        for _ in range(6):
            work()
            prof.step()
    assert prof.trace_path == tmp_path / "job" / "rank0.trace.json.gz"
    report = prof.report()
    assert report.run.recorded_steps == 2
    assert len(report.analysis.breakdown.steps) == 2
    assert len(report.light) == 6
    html = prof._repr_html_()
    assert report.diagnosis.verdict.bound
    assert "<script" not in html


def test_an_exception_passes_and_what_there_is_is_written(tmp_path: Path) -> None:
    prof = timesink.profile(wait=0, warmup=0, active=9, out=tmp_path, name="job")

    def train() -> None:
        with prof:
            for i in range(9):
                work()
                prof.step()
                if i == 3:
                    raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        train()
    assert prof.trace_path is not None
    record = read_record(tmp_path / "job")
    assert record.exit_code == 1
    assert any(n.startswith("4 of 9 steps recorded") for n in record.notes)


def test_a_loop_that_is_too_short(tmp_path: Path) -> None:
    with timesink.profile(wait=5, out=tmp_path, name="job") as prof:
        work()
        prof.step()
    assert prof.trace_path is None
    assert "0 of 3 steps recorded" in " ".join(read_record(tmp_path / "job").notes)
    assert prof.analysis is None


def test_inside_of_another_profiler(tmp_path: Path) -> None:
    with (
        torch.profiler.profile() as other,
        timesink.profile(wait=0, warmup=0, active=1, out=tmp_path, name="job") as prof,
    ):
        work()
        prof.step()
    assert len(other.events()) > 0
    assert "profiler of the script" in " ".join(read_record(tmp_path / "job").notes)


def test_step_outside_of_the_block() -> None:
    with pytest.raises(RuntimeError, match="with block"):
        timesink.profile().step()


@pytest.mark.parametrize("use_gzip", [True, False])
def test_trace_handler_writes_one_whole_file_per_cycle(tmp_path: Path, use_gzip: bool) -> None:
    handler = timesink.trace_handler(tmp_path / "traces", "me", use_gzip)
    plan = torch.profiler.schedule(wait=0, warmup=1, active=1, repeat=2)
    with torch.profiler.profile(schedule=plan, on_trace_ready=handler) as p:
        for _ in range(4):
            work()
            p.step()
    files = sorted((tmp_path / "traces").iterdir())
    assert len(files) == 2
    for file in files:
        assert file.name.startswith("me.")
        data = gzip.decompress(file.read_bytes()) if use_gzip else file.read_bytes()
        assert json.loads(data)["traceEvents"]
    assert timesink.analyze(files[0]).info.event_count > 0


def test_trace_handler_never_raises(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    handler = timesink.trace_handler(tmp_path / "file" / "below")
    with (
        warnings.catch_warnings(record=True) as caught,
        torch.profiler.profile(on_trace_ready=handler),
    ):
        warnings.simplefilter("always")
        work()
    assert any("was not written" in str(w.message) for w in caught)
