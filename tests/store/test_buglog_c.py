"""Public reports on missing data, clocks and ranks (C, and B3, B4, B16): what the reader hands on.

What analyses make of it is tested in ``tests/analyses``; more rows are in ``test_buglog.py``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.minitrace import row, training_trace, write_trace
from timesink.errors import EmptyTrace
from timesink.store import cut
from timesink.store.read import read_trace
from timesink.store.schema import DEVICE_KINDS, Kind
from timesink.store.trace import Trace


def read(tmp_path: Path, events: list[Any], **head: Any) -> Trace:
    document = {"schemaVersion": 1, **head, "traceEvents": events}
    return read_trace(write_trace(tmp_path / "t.json", document), cache=False)


def kinds(trace: Trace) -> list[int]:
    return trace.tables.events.sort("ord")["kind"].to_list()


def notes(trace: Trace) -> dict[str, int]:
    return {n.code: n.count for n in trace.quality}


OP = row("cpu_op", "aten::mm", 10, 5, **{"External id": 1})
LAUNCH = row("cuda_runtime", "cudaLaunchKernel", 12, 2, correlation=1)
KERNEL = row("kernel", "sgemm", 20, 5, pid=0, tid=7, device=0, stream=7, correlation=1)


def test_b03_rows_without_an_end_are_in_no_table(tmp_path: Path) -> None:
    bad = [{**OP, "dur": dur} for dur in (-1, -0.001, None, "x")]
    bad.append({k: v for k, v in OP.items() if k != "dur"})
    trace = read(tmp_path, [OP, *bad])
    assert trace.tables.events.height == 1
    assert notes(trace) == {"unfinished": 5}


def test_b04_a_thousand_device_rows_at_time_zero(tmp_path: Path) -> None:
    epoch = 1_623_143_089_861_123
    lost = [{**KERNEL, "ts": 0, "dur": 0}] * 1000
    trace = read(tmp_path, [*lost, {**OP, "ts": epoch}, {**KERNEL, "ts": epoch + 9}])
    assert trace.info.start_ns == epoch * 1000
    assert trace.tables.events.height == 2
    assert notes(trace) == {"device-rows-without-time": 1000}


def test_b16_allocator_rows_are_instants(tmp_path: Path) -> None:
    args = {"Total Reserved": 0, "Total Allocated": -512, "Bytes": -512, "Device Id": -1,
            "Device Type": 0, "Addr": 2**63 + 1}  # fmt: skip
    instant = {"ph": "i", "cat": "cpu_instant_event", "name": "[memory]", "pid": 1, "tid": 2,
               "ts": 11.25, "s": "t", "args": args}  # fmt: skip
    trace = read(tmp_path, [OP, instant])
    memory = trace.tables.memory
    assert memory.select("ts", "bytes", "allocated", "addr").row(0) == (
        11_250, -512, -512, 2**63 + 1,
    )  # fmt: skip
    assert trace.tables.events.height == 1
    assert read(tmp_path, [OP]).tables.memory.height == 0


def test_c01_no_device_rows_although_it_ran_on_one(tmp_path: Path) -> None:
    trace = read(tmp_path, [OP, LAUNCH], deviceProperties=[{"id": 0, "name": "GPU"}])
    assert trace.info.vendor == "nvidia"
    assert not set(kinds(trace)) & set(DEVICE_KINDS)
    assert read(tmp_path, [OP]).info.vendor == "cpu"


def test_c03_rows_of_the_range_profiler_are_no_kernels(tmp_path: Path) -> None:
    ranged = row("cuda_profiler_range", "smsp__inst", 10, 50, pid=0, tid=7)
    trace = read(tmp_path, [ranged, LAUNCH])
    assert kinds(trace) == [Kind.OTHER, Kind.RUNTIME]


@pytest.mark.parametrize("kept", [0, 3])
def test_c04_c05_launches_keep_their_number_where_rows_are_lost(tmp_path: Path, kept: int) -> None:
    launches = [{**LAUNCH, "args": {"correlation": n}} for n in range(1, 11)]
    rows = [{**KERNEL, "args": {**KERNEL["args"], "correlation": n}} for n in range(1, kept + 1)]
    events = read(tmp_path, [*launches, *rows]).tables.events
    called = events.filter(pl.col("kind") == int(Kind.RUNTIME))["corr"].to_list()
    ran = events.filter(pl.col("kind") == int(Kind.KERNEL))["corr"].to_list()
    assert sorted(called) == list(range(1, 11))
    assert sorted(ran) == list(range(1, kept + 1))


def test_c06_c07_rows_before_their_launch_and_outside_the_span_are_kept(tmp_path: Path) -> None:
    span = row("Trace", "PyTorch Profiler (0)", 10, 20, pid="Spans", tid="PyTorch Profiler")
    early, late = {**KERNEL, "ts": 1.5}, {**KERNEL, "ts": 10**9}
    trace = read(tmp_path, [span, LAUNCH, early, late])
    kernels = trace.tables.events.filter(pl.col("kind") == int(Kind.KERNEL))
    assert kernels["ts"].to_list() == [1500, 10**12]
    assert trace.quality == ()


@pytest.mark.parametrize("number", [0, None, "none"])
def test_c11_no_correlation_is_none(tmp_path: Path, number: Any) -> None:
    lone = {**KERNEL, "args": {"stream": 3, "device": 0, "correlation": number}}
    events = read(tmp_path, [lone]).tables.events
    assert events.select("corr", "stream", "dur").row(0) == (-1, 3, 5000)


def test_c12_streams_of_every_rank_are_told(tmp_path: Path) -> None:
    rows = [{**KERNEL, "tid": s, "args": {**KERNEL["args"], "stream": s}} for s in (0, 7, 20)]
    trace = read(tmp_path, rows)
    assert set(trace.tables.events["stream"]) == {0, 7, 20}
    assert trace.tables.tracks.filter("is_device")["tid"].to_list() == ["0", "7", "20"]


def test_c16_hundreds_of_rows_of_one_launch(tmp_path: Path) -> None:
    launch = row("cuda_runtime", "cudaGraphLaunch", 12, 2, correlation=9)
    rows = [{**KERNEL, "ts": 20 + n, "args": {"correlation": 9, "stream": 7}} for n in range(400)]
    events = read(tmp_path, [launch, *rows]).tables.events
    assert events["corr"].to_list() == [9] * 401


def test_c18_no_rank_no_collections_no_copies(tmp_path: Path) -> None:
    trace = read(tmp_path, [OP])
    assert trace.info.rank is None
    assert trace.info.rank_source == ""
    assert trace.quality == ()


@pytest.mark.parametrize("bad", [None, [], "x", {"rank": None}, {"rank": "0"}, {"rank": -1}])
def test_c18_odd_distributed_info_is_no_rank(tmp_path: Path, bad: Any) -> None:
    assert read(tmp_path, [OP], distributedInfo=bad).info.rank is None


def test_c18_metadata_only(tmp_path: Path) -> None:
    name = {"ph": "M", "name": "process_name", "pid": 1, "tid": 0, "args": {"name": "python"}}
    with pytest.raises(EmptyTrace, match="metadata only"):
        read(tmp_path, [name] * 3)


def test_c20_no_step_marks(tmp_path: Path) -> None:
    trace = read(tmp_path, [OP, LAUNCH, KERNEL])
    assert Kind.USER_ANNOTATION not in kinds(trace)
    assert (trace.info.start_ns, trace.info.end_ns) == (10_000, 25_000)


@pytest.mark.parametrize("number", [None, 0])
def test_c21_record_function_id_absent_or_zero_changes_nothing(
    tmp_path: Path, number: int | None
) -> None:
    args = {"External id": 1} if number is None else {"External id": 1, "Record function id": 0}
    events = read(tmp_path, [{**OP, "args": args}, {**OP, "ts": 30, "args": args}]).tables.events
    assert events["ext"].to_list() == [1, 1]


def test_c22_reading_holds_a_few_chunks_and_not_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The buffer of text never grows with the file."""
    monkeypatch.setattr(cut, "CHUNK", 1 << 16)
    largest = 0
    fill = cut.Cutter._fill

    def watched(self: cut.Cutter, size: int) -> None:
        nonlocal largest
        fill(self, size)
        largest = max(largest, len(self._buffer))

    monkeypatch.setattr(cut.Cutter, "_fill", watched)
    path = write_trace(tmp_path / "t.json", training_trace(steps=8000))
    assert read_trace(path, cache=False, workers=0).info.event_count == 40_000
    assert path.stat().st_size > 4 * (1 << 20)
    assert largest < (1 << 20) + 3 * (1 << 16)
