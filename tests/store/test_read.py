"""Reading whole files: layouts, cores, order, kinds, what is said about a trace."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from polars.testing import assert_frame_equal

from tests.minitrace import row, training_trace, write_trace
from timesink.errors import UnreadableFile
from timesink.store import cut, pool
from timesink.store.read import read_trace
from timesink.store.schema import EVENTS, FLOWS, MEMORY, TRACKS, Kind
from timesink.store.trace import Trace


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cut, "CHUNK", 1 << 17)


def written(tmp_path: Path, document: Any, name: str = "t.json") -> Path:
    path = tmp_path / name
    path.write_text(json.dumps(document))
    return path


def read(path: Path, **more: Any) -> Trace:
    return read_trace(path, cache=False, **more)


def test_columns_are_the_schema(tmp_path: Path) -> None:
    tables = read(write_trace(tmp_path / "t.json", training_trace())).tables
    for frame, schema in (
        (tables.events, EVENTS), (tables.memory, MEMORY), (tables.flows, FLOWS),
        (tables.tracks, TRACKS),
    ):  # fmt: skip
        assert dict(frame.schema) == schema


@pytest.mark.parametrize("first", ["ph", "name", "args", "pid"])
@pytest.mark.parametrize("indent", [None, 2])
def test_any_first_key_and_layout(
    tmp_path: Path, first: str, indent: int | None, small_chunks: None
) -> None:
    document = training_trace(steps=2000)
    want = len(document["traceEvents"])
    document["traceEvents"] = [
        {first: e[first], **{k: v for k, v in e.items() if k != first}}
        for e in document["traceEvents"]
    ]
    path = tmp_path / "t.json"
    path.write_text(json.dumps(document, indent=indent))
    trace = read(path)
    assert trace.tables.events.height == want
    assert trace.quality == ()


def test_keys_after_the_events_and_metadata_anywhere(tmp_path: Path) -> None:
    document = training_trace()
    base = document.pop("baseTimeNanoseconds")
    name = {"ph": "M", "name": "thread_name", "pid": 100, "tid": 101, "args": {"name": "main ]"}}
    document["traceEvents"].append(name)
    document |= {"traceName": "C:/x/[Strategy]Single.json", "baseTimeNanoseconds": base}
    trace = read(written(tmp_path, document))
    assert trace.info.base_ns == base
    assert trace.info.generation == "K3a"
    assert "main ]" in trace.tables.tracks["thread_name"].to_list()


def test_windows_path_in_the_last_line(tmp_path: Path) -> None:
    text = json.dumps(training_trace())[:-1] + ',\n"traceName": "C:\\Users\\_me\\trace.json"\n}'
    path = tmp_path / "t.json"
    path.write_text(text)
    trace = read(path)
    assert trace.tables.events.height == len(training_trace()["traceEvents"])
    assert [n.code for n in trace.quality] == ["illegal-escape"]


def test_events_key_inside_a_head_value_is_not_the_list(tmp_path: Path) -> None:
    document = {"note": 'a "traceEvents": [ in a string', **training_trace()}
    assert read(written(tmp_path, document)).tables.events.height == 20


@pytest.mark.parametrize("name", ["t.json", "t.json.gz"])
def test_cores_do_not_change_the_answer(tmp_path: Path, name: str, small_chunks: None) -> None:
    path = write_trace(tmp_path / name, training_trace(steps=3000))
    one, two = read(path, workers=1), read(path, workers=2)
    assert one.info == two.info
    for table in ("events", "flows", "tracks"):
        assert_frame_equal(getattr(one.tables, table), getattr(two.tables, table))


def test_a_dead_worker_costs_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small_chunks: None
) -> None:
    start = pool._start

    def doomed() -> subprocess.Popen[bytes] | None:
        process = start()
        assert process is not None
        os.kill(process.pid, signal.SIGKILL)
        return process

    monkeypatch.setattr(pool, "_start", doomed)
    path = write_trace(tmp_path / "t.json", training_trace(steps=3000))
    assert_frame_equal(read(path, workers=2).tables.events, read(path).tables.events)


def test_workers_end_with_their_input() -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "timesink.store.worker"], stdin=subprocess.PIPE
    )
    assert process.stdin is not None
    process.stdin.close()
    assert process.wait(timeout=30) == 0


def test_a_worker_is_light() -> None:
    code = "import sys, timesink.store.worker; print('polars' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_progress_ends_at_the_size(tmp_path: Path) -> None:
    path = write_trace(tmp_path / "t.json.gz", training_trace())
    seen: list[tuple[int, int]] = []
    read(path, progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (path.stat().st_size, path.stat().st_size)


def test_raw_events_across_chunks(tmp_path: Path, small_chunks: None) -> None:
    document = training_trace(steps=3000)
    path = write_trace(tmp_path / "t.json.gz", document)
    trace = read(path)
    events = document["traceEvents"]
    wanted = [len(events) - 1, 0, 7000]
    assert trace.raw_args(wanted) == {i: events[i]["args"] for i in wanted}
    assert trace.raw_event(3) == events[3]
    assert trace.raw_event(10**9) == {}


def test_order_is_by_time_then_longest_then_place(tmp_path: Path) -> None:
    rows = [row("cpu_op", str(i), ts, dur) for i, (ts, dur) in
            enumerate([(5, 1), (1, 2), (1, 9), (1, 2)])]  # fmt: skip
    tables = read(written(tmp_path, {"traceEvents": rows})).tables
    assert tables.events["ord"].to_list() == [2, 1, 3, 0]


def test_begin_and_end_rows_are_joined(tmp_path: Path) -> None:
    def half(ph: str, name: str, ts: float) -> dict[str, Any]:
        return {"ph": ph, "cat": "cpu_op", "name": name, "pid": 1, "tid": 1, "ts": ts}

    rows = [half("B", "outer", 1), half("B", "inner", 2), half("E", "", 3), half("E", "", 6),
            half("B", "open", 7)]  # fmt: skip
    trace = read(written(tmp_path, {"traceEvents": rows}))
    events = trace.tables.events
    texts = [trace.tables.text(c) for c in events["name"]]
    assert list(zip(texts, events["ts"], events["dur"], strict=True)) == [
        ("outer", 1000, 5000), ("inner", 2000, 1000),
    ]  # fmt: skip
    assert [(n.code, n.count) for n in trace.quality] == [("unmatched", 1)]


def test_device_rows_at_time_zero_do_not_set_the_start(tmp_path: Path, small_chunks: None) -> None:
    epoch = 1_669_783_687_000_000
    rows = [row("kernel", "k", 0, 0, stream=7, device=0, correlation=i) for i in range(2000)]
    rows += [row("cpu_op", "a", epoch + i, 1) for i in range(5)]
    trace = read(written(tmp_path, {"traceEvents": rows}))
    assert trace.info.start_ns == epoch * 1000
    assert trace.tables.events.height == 5
    assert [(n.code, n.count) for n in trace.quality] == [("device-rows-without-time", 2000)]


def test_device_rows_at_time_zero_of_a_relative_clock_are_kept(tmp_path: Path) -> None:
    rows = [row("kernel", "k", 0, 3, stream=7, device=0), row("cpu_op", "a", 1, 1)]
    trace = read(written(tmp_path, {"traceEvents": rows}))
    assert (trace.info.start_ns, trace.info.end_ns) == (0, 3000)
    assert trace.tables.events.height == 2
    assert trace.quality == ()


def test_correlation_zero_is_none_and_stream_zero_is_a_stream(tmp_path: Path) -> None:
    kernel = row("kernel", "k", 1, 1, stream=0, device=0, correlation=0)
    events = read(written(tmp_path, {"traceEvents": [kernel]})).tables.events
    assert events.select("corr", "stream", "device").row(0) == (-1, 0, 0)


def test_stream_of_a_host_row_is_not_trusted(tmp_path: Path) -> None:
    op = row("cpu_op", "a", 1, 1, stream="default", device=3)
    events = read(written(tmp_path, {"traceEvents": [op]})).tables.events
    assert events.select("stream", "device").row(0) == (-1, -1)


@pytest.mark.parametrize(
    ("category", "name", "kind"),
    [
        ("Operator", "aten::mm", Kind.CPU_OP),
        ("Operator", "ProfilerStep#3", Kind.USER_ANNOTATION),
        ("Operator", "enumerate(DataLoader)#X.__next__", Kind.USER_ANNOTATION),
        ("Operator", "Optimizer.step#SGD.step", Kind.USER_ANNOTATION),
        ("Kernel", "k", Kind.KERNEL),
        ("Memcpy", "Memcpy HtoD", Kind.MEMCPY),
        ("Runtime", "cudaLaunchKernel", Kind.RUNTIME),
        ("mtia_ccp_events", "k", Kind.KERNEL),
        ("mlu_memcpy", "k", Kind.MEMCPY),
        ("xpu_runtime", "urEnqueue", Kind.RUNTIME),
        ("gpu_user_annotation", "step", Kind.DEVICE_ANNOTATION),
        ("cuda_sync", "Stream Sync", Kind.SYNC),
        ("Python GC", "gc", Kind.GC),
        ("python_function", "f", Kind.PYTHON),
        ("never seen before", "x", Kind.OTHER),
    ],
)
def test_kinds(tmp_path: Path, category: str, name: str, kind: Kind) -> None:
    rows = [row(category, name, 1, 1), row("cpu_op", "aten::mm", 2, 1)]
    events = read(written(tmp_path, {"traceEvents": rows})).tables.events
    assert events["kind"][0] == kind


def test_rank_from_head_then_from_name(tmp_path: Path) -> None:
    document = training_trace()
    named = read(written(tmp_path, document, "rank-3.json")).info
    assert (named.rank, named.rank_source) == (3, "file name")
    document["distributedInfo"] = {"rank": 1, "world_size": 2, "backend": "nccl"}
    told = read(written(tmp_path, document, "rank-3b.json")).info
    assert (told.rank, told.rank_source, told.world_size, told.backend) == (
        1, "distributedInfo", 2, "nccl",
    )  # fmt: skip


def test_truncated_in_the_middle_of_a_string(tmp_path: Path) -> None:
    path = write_trace(tmp_path / "t.json", training_trace())
    path.write_bytes(path.read_bytes()[: -(path.stat().st_size // 2)])
    trace = read(path)
    assert trace.info.truncated
    assert 5 < trace.tables.events.height < 20
    assert "truncated" in [n.code for n in trace.quality]


def test_concatenated_members(tmp_path: Path) -> None:
    text = json.dumps(training_trace()).encode()
    path = tmp_path / "t.json.gz"
    path.write_bytes(gzip.compress(text[:777]) + gzip.compress(text[777:]))
    assert read(path).tables.events.height == 20


@pytest.mark.parametrize("name", ["missing.json", "."])
def test_no_file(tmp_path: Path, name: str) -> None:
    with pytest.raises(UnreadableFile):
        read_trace(tmp_path / name)


def test_an_error_in_a_decoding_thread_is_raised_and_never_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(pool, "_either", broken)
    with pytest.raises(MemoryError):
        list(pool.decoded(iter([cut.Chunk(0, b"{}")]), b"", 2))


def test_args_and_ids_of_other_kinds_are_unknown(tmp_path: Path) -> None:
    document = training_trace()
    events = document["traceEvents"]
    events[0]["args"] = [1]
    memory = {"ph": "i", "name": "[memory]", "pid": 1, "tid": 1, "ts": 3}
    for device in (0, 2**40):
        args = {"Addr": 1, "Bytes": 8, "Device Type": 0, "Device Id": device}
        events.append({**memory, "args": args})
    trace = read(write_trace(tmp_path / "t.json", document))
    assert trace.raw_args([0]) == {0: {}}
    assert trace.tables.memory["device"].to_list() == [0, -1]
