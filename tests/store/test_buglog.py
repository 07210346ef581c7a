"""Public reports about reading traces, sections A and C: each with a small input written by us.

The ids are those of the list of reports that the tool was designed from; the trigger of each is in
the test. Reports about analysis results (B and some of C) are in ``tests/analyses``.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tests.minitrace import row, training_trace, write_trace
from timesink.errors import EmptyTrace, MixedSessions, NotATrace, TimesinkError, UnreadableFile
from timesink.store import sessions
from timesink.store.read import read_trace
from timesink.store.schema import Kind
from timesink.store.trace import Trace


def op(name: str, ts: float, dur: float = 1.0, **args: Any) -> str:
    """One operator as Kineto lays it out."""
    return event("cpu_op", json.dumps(name)[1:-1], ts, dur, **args)


def event(cat: str, raw_name: str, ts: Any, dur: Any, **args: Any) -> str:
    """One event whose name is put in as it is, unescaped."""
    return (
        f'  {{\n    "ph": "X", "cat": "{cat}", "name": "{raw_name}", "pid": 1, "tid": 2,\n'
        f'    "ts": {ts}, "dur": {dur},\n    "args": {json.dumps(args)}\n  }}'
    )


def document(events: list[str], head: str = '"schemaVersion": 1,', tail: str = "") -> str:
    return f'{{\n  {head}\n  "traceEvents": [\n' + ",\n".join(events) + f"\n  ]{tail}\n}}\n"


def read(tmp_path: Path, content: str | bytes, name: str = "trace.json") -> Trace:
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_trace(path, cache=False)


def names(trace: Trace) -> list[str]:
    tables = trace.tables
    return [tables.text(c) for c in tables.events["name"]]


def note(trace: Trace, code: str) -> str:
    found = [n for n in trace.quality if n.code == code]
    assert len(found) == 1, trace.quality
    return found[0].message


GOOD = [op("aten::a", 10), op("aten::b", 20), op("aten::c", 30)]


def test_clean_input_has_no_notes(tmp_path: Path) -> None:
    assert read(tmp_path, document(GOOD)).quality == ()


def test_a01_illegal_escapes_of_a_windows_path(tmp_path: Path) -> None:
    bad = event("python_function", r"C:\conda\_lib\new.py(3): f", 15, 2)
    trace = read(tmp_path, document([GOOD[0], bad, *GOOD[1:]]))
    assert len(names(trace)) == 4
    assert r"C:\conda\_lib" in names(trace)[1]
    message = note(trace, "illegal-escape")
    assert message.startswith("2 illegal escapes repaired (Windows path)")


@pytest.mark.parametrize("place", ["head", "tail"])
def test_a02_windows_path_in_the_trace_name(tmp_path: Path, place: str) -> None:
    key = r'"traceName": "C:\Users\me\_logs\trace.json"'
    head = f'"schemaVersion": 1, {key},' if place == "head" else '"schemaVersion": 1,'
    tail = f", {key}" if place == "tail" else ""
    trace = read(tmp_path, document(GOOD, head, tail))
    assert names(trace) == ["aten::a", "aten::b", "aten::c"]
    assert "illegal escapes repaired" in note(trace, "illegal-escape")


def test_a03_raw_control_bytes_in_a_name(tmp_path: Path) -> None:
    trace = read(tmp_path, document([event("cpu_op", "aten::x\x01\ty", 5, 1), *GOOD]))
    assert names(trace)[0] == "aten::x\x01\ty"
    assert note(trace, "control-byte").startswith("1 ")


def test_a04_names_that_are_not_utf8(tmp_path: Path) -> None:
    events = [e.encode() for e in GOOD]
    events += [op("aten::xA", 40).encode().replace(b"xA", b"\xf0A")]
    events += [op("aten::xB", 50).encode().replace(b"xB", b"\xc0\xb9B")]
    trace = read(tmp_path, document([]).encode().replace(b"[\n\n", b"[" + b",".join(events)))
    assert len(set(names(trace))) == 5, "two different damaged names became one"
    assert note(trace, "bad-utf8").startswith("2 ")


def test_a05_an_unescaped_quote_costs_one_event(tmp_path: Path) -> None:
    bad = event("python_function", '{"key": "value"}.py(1): f', 15, 2)
    text = document([GOOD[0], bad, *GOOD[1:]])
    trace = read(tmp_path, text)
    assert names(trace) == ["aten::a", "aten::b", "aten::c"]
    assert note(trace, "unreadable-event") == f"1 event unreadable at byte {text.index(bad) + 2}"


@pytest.mark.parametrize("token", ["inf", "-inf", "nan", "NaN", "Infinity", "-Infinity"])
def test_a06_not_a_number(tmp_path: Path, token: str) -> None:
    bad = event("gpu_memcpy", "Memcpy HtoD", 15, 0, bandwidth=12345).replace("12345", token)
    trace = read(tmp_path, document([GOOD[0], bad, *GOOD[1:]]))
    assert len(names(trace)) == 4
    assert note(trace, "not-a-number").startswith("1 ")


def test_a07_a_key_without_its_opening_quote(tmp_path: Path) -> None:
    bad = op("aten::x", 15).replace('"tid"', 'tid"')
    trace = read(tmp_path, document([GOOD[0], bad, *GOOD[1:]]))
    assert "aten::x" in names(trace)
    assert "byte" in note(trace, "missing-quote")


def test_a08_a_bare_list_of_torch_without_kineto(tmp_path: Path) -> None:
    rows = [
        {"name": "aten::mm", "ph": "X", "ts": 10.5, "dur": 3.25, "tid": 1, "pid": "CPU functions",
         "args": {}},
        {"name": "aten::mm", "ph": "s", "ts": 10.5, "tid": 1, "pid": "CPU functions", "id": 0,
         "cat": "cpu_to_cuda", "args": {}},
        {"name": "aten::mm", "ph": "f", "ts": 12.0, "tid": 0, "pid": "CUDA functions", "id": 0,
         "cat": "cpu_to_cuda", "args": {}},
        {"name": "aten::mm", "ph": "X", "ts": 12.0, "dur": 2.0, "tid": 0, "pid": "CUDA functions",
         "args": {}},
    ]  # fmt: skip
    trace = read(tmp_path, json.dumps(rows), "x.pt.trace.json")
    assert trace.info.generation == "legacy"
    kinds = trace.tables.events["kind"].to_list()
    assert kinds == [Kind.CPU_OP, Kind.KERNEL]


def test_a09_a_bracket_in_the_trace_name(tmp_path: Path) -> None:
    trace = read(tmp_path, document(GOOD, tail=', "traceName": "[Strategy]DDP.step] }"'))
    assert len(names(trace)) == 3
    assert trace.quality == ()


def test_a10_unexpected_types_and_python_literals(tmp_path: Path) -> None:
    odd = op("aten::x", 15, stream="main", device=[1], correlation={"a": 1}, bytes="many")
    python = op("aten::y", 16, flag=12345).replace("12345", "True")
    trace = read(tmp_path, document([odd, python, *GOOD]))
    events = trace.tables.events
    assert events.height == 5
    assert events["stream"].to_list() == [-1] * 5
    assert events["corr"].to_list() == [-1] * 5


def test_a11_two_writers_on_one_path(tmp_path: Path) -> None:
    first, second = document(GOOD), document([op("aten::d", 40)])
    trace = read(tmp_path, first + second)
    assert names(trace)[:3] == ["aten::a", "aten::b", "aten::c"]
    assert "more than one process" in note(trace, "several-writers")


def test_a11_interleaved_writers(tmp_path: Path) -> None:
    first, second = document(GOOD * 20), document([op("aten::d", 40)] * 5)
    trace = read(tmp_path, first[: len(first) // 2] + second + first[len(first) // 2 :])
    assert len(names(trace)) >= 55
    assert any(n.severity == "error" for n in trace.quality)


def test_a12_concatenated_gzip_members_are_legal(tmp_path: Path) -> None:
    text = document(GOOD).encode()
    half = len(text) // 2
    data = gzip.compress(text[:half]) + gzip.compress(text[half:])
    trace = read(tmp_path, data, "trace.json.gz")
    assert len(names(trace)) == 3
    assert trace.quality == ()


def test_a12_a_broken_member_keeps_what_came_before(tmp_path: Path) -> None:
    text = document([op(f"aten::op{i}", i) for i in range(20_000)]).encode()
    data = bytearray(gzip.compress(text, 6))
    data[len(data) // 2 : len(data) // 2 + 40] = b"\xff" * 40
    trace = read(tmp_path, bytes(data), "trace.json.gz")
    assert 1000 < len(names(trace)) < 20_000
    assert any(n.code in ("gzip-broken", "truncated") for n in trace.quality)


def test_a13_a_valid_gzip_of_nothing(tmp_path: Path) -> None:
    with pytest.raises(EmptyTrace, match="0 bytes") as refusal:
        read(tmp_path, gzip.compress(b""), "trace.json.gz")
    assert "2025-11" in str(refusal.value) or "November 2025" in str(refusal.value)


@pytest.mark.parametrize("cut", [30, 200, 333, 420])
def test_a14_a_truncated_file(tmp_path: Path, cut: int) -> None:
    text = document(GOOD * 4)
    trace = read(tmp_path, text[: len(text) - cut])
    assert names(trace) == sorted(names(trace))
    assert 8 <= len(names(trace)) < 12
    assert trace.info.truncated
    assert "truncated" in note(trace, "truncated")


def test_a15_temporary_files_in_a_folder_are_mentioned(tmp_path: Path) -> None:
    (tmp_path / "a.json.tmp").write_text("{")
    write_trace(tmp_path / "b.json", training_trace())
    found = sessions.find_traces(tmp_path)
    assert [p.name for p in found.traces] == ["b.json"]
    assert [p.name for p, _ in found.ignored] == ["a.json.tmp"]
    assert read_trace(write_trace(tmp_path / "c.json.tmp", training_trace())).info.event_count


def test_a16_times_as_text_with_sixteen_digits(tmp_path: Path) -> None:
    rows = [
        {"ph": "X", "name": "aten::a", "pid": 1, "tid": 1, "ts": "1704161511422855.116",
         "dur": 0.123, "cat": "cpu_op", "args": {}},
        {"ph": "X", "name": "aten::b", "pid": 1, "tid": 1, "ts": "1704161511422855.117",
         "dur": "0.001", "cat": "cpu_op", "args": {}},
    ]  # fmt: skip
    events = read(tmp_path, json.dumps(rows)).tables.events
    assert events["ts"].to_list() == [1704161511422855116, 1704161511422855117]
    assert events["dur"].to_list() == [123, 1]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"rocprofiler-sdk-tool": [{"metadata": {}}]}', "rocprofv3"),
        ('{"schema": "1.0.1", "nodes": [{"name": "x"}]}', "execution trace"),
        ("[[1, 2, 3], [[1, 2]], [0]]", "memory timeline"),
        ('{"$schema": "https://www.speedscope.app/file-format-schema.json"}', "speedscope"),
        ('[{"name": "f", "ph": "B", "ts": 1, "pid": 0, "tid": 0}]', "another tool"),
        ("name,time\nf,1\n", "text file"),
        ("<!DOCTYPE html><html></html>", "HTML"),
        ('{"answer": 42}', "JSON without trace events"),
    ],
)
def test_a17_other_formats_are_named(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(NotATrace, match=says) as refusal:
        read(tmp_path, text)
    assert refusal.value.remedy


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"\x80\x04\x95\x00\x00", "pickle"),
        (b"SQLite format 3\x00", "SQLite"),
        (b"PK\x03\x04rest", "zip"),
        (b"\x89PNG\r\n", "PNG"),
        (b"\x0a\x8e\x0e\x00\x01/host:metadata\x00", "XLA"),
    ],
)
def test_a17_binary_formats_are_named(tmp_path: Path, data: bytes, says: str) -> None:
    with pytest.raises(NotATrace, match=says):
        read(tmp_path, data, "trace.json.gz")


@pytest.mark.parametrize("damaged", [False, True], ids=["fast path", "salvage path"])
def test_a18_the_last_of_duplicate_keys_counts(tmp_path: Path, damaged: bool) -> None:
    twice = op("aten::x", 15).replace('"dur": 1.0', '"dur": 1.0, "dur": 7.0')
    events = [twice, *GOOD]
    if damaged:
        events.append(event("cpu_op", r"\q", 60, 1))
    trace = read(tmp_path, document(events))
    row_ = trace.tables.events.filter(trace.tables.events["ts"] == 15_000)
    assert row_["dur"].to_list() == [7000]
    if not damaged:
        assert note(trace, "duplicate-key")


def test_a19_metadata_after_the_events(tmp_path: Path) -> None:
    tail = ', "displayTimeUnit": "ns", "baseTimeNanoseconds": 1700000000000000000'
    trace = read(tmp_path, document(GOOD, tail=tail))
    assert trace.info.base_ns == 1700000000000000000
    assert trace.info.generation == "K3a"
    assert trace.tables.events["ts"].to_list() == [10_000, 20_000, 30_000], "the unit changed ts"


def test_a20_an_event_without_a_track(tmp_path: Path) -> None:
    odd = op("aten::x", 15).replace(', "tid": 2', "")
    assert len(names(read(tmp_path, document([odd, *GOOD])))) == 4


def test_b03_unfinished_rows_are_counted(tmp_path: Path) -> None:
    bad = [event("cpu_op", "aten::x", 15, -1), event("cpu_op", "aten::y", 16, "null")]
    trace = read(tmp_path, document([*bad, *GOOD]))
    assert len(names(trace)) == 3
    assert note(trace, "unfinished").startswith("2 ")


def test_c08_ranks_with_and_without_a_base_time_are_not_aligned(tmp_path: Path) -> None:
    infos = []
    for rank in (0, 1):
        content = training_trace()
        content["distributedInfo"] = {"rank": rank, "world_size": 2}
        if rank:
            del content["baseTimeNanoseconds"]
        infos.append(read_trace(write_trace(tmp_path / f"r{rank}.json", content)).info)
    session = sessions.only(sessions.group(infos))
    assert any("base time" in n for n in session.notes)


def test_c09_nanoseconds_are_exact(tmp_path: Path) -> None:
    events = [event("cpu_op", "aten::a", "4503599627370.497", "0.001"),
              event("cpu_op", "aten::b", "1695835535123456.789", "1234567.891")]  # fmt: skip
    table = read(tmp_path, document(events)).tables.events
    assert table["ts"].to_list() == [4503599627370497, 1695835535123456789]
    assert table["dur"].to_list() == [1, 1234567891]


def test_c13_amd_names_under_cuda_runtime(tmp_path: Path) -> None:
    rows = [
        row("cuda_runtime", "hipLaunchKernel", 10, 2, correlation=5),
        row("kernel", "Cijk_Alik", 20, 5, pid=0, tid=0, device=0, stream=0, correlation=5),
    ]
    document_ = {"traceEvents": rows, "roctracer_version": 4}
    trace = read_trace(write_trace(tmp_path / "t.json", document_))
    assert trace.info.vendor == "amd"
    assert trace.tables.events["stream"].to_list() == [-1, 0]


def test_c14_xpu_launches_without_rows(tmp_path: Path) -> None:
    rows = [row("xpu_runtime", "urEnqueueKernelLaunch", 10, 2, correlation=1)]
    trace = read_trace(write_trace(tmp_path / "t.json", {"traceEvents": rows}))
    assert trace.info.vendor == "xpu"
    assert trace.tables.events["kind"].to_list() == [Kind.RUNTIME]


def test_c18_metadata_only_is_an_empty_trace(tmp_path: Path) -> None:
    rows = [{"ph": "M", "name": "process_name", "pid": 1, "tid": 0, "args": {"name": "python"}}]
    with pytest.raises(EmptyTrace, match="metadata only"):
        read_trace(write_trace(tmp_path / "t.json", {"schemaVersion": 1, "traceEvents": rows}))


@pytest.mark.parametrize(
    ("name", "rank", "source"),
    [("rank-3.x.json", 3, "file name"), ("worker12.y.json", 12, "file name"),
     ("host_4711.123.pt.trace.json", None, "")],
)  # fmt: skip
def test_c18_ranks_from_file_names(
    tmp_path: Path, name: str, rank: int | None, source: str
) -> None:
    info = read_trace(write_trace(tmp_path / name, training_trace())).info
    assert (info.rank, info.rank_source) == (rank, source)


def test_c18_ranks_by_order_where_nothing_tells(tmp_path: Path) -> None:
    infos = [read_trace(write_trace(tmp_path / f"{n}.json", training_trace())).info for n in "ab"]
    session = sessions.only(sessions.group(infos))
    assert [i.rank for i in session.infos] == [0, 1]
    assert session.rank_source == "order"


def two_runs(tmp_path: Path) -> list[Any]:
    infos = []
    for run in (0, 1):
        for rank in (0, 1):
            content = training_trace()
            content["distributedInfo"] = {"rank": rank, "world_size": 3}
            content["baseTimeNanoseconds"] += run * 300 * 10**9
            path = tmp_path / f"run{run}_{rank}.json"
            infos.append(read_trace(write_trace(path, content)).info)
    return infos


def test_c19_two_runs_in_one_folder_are_not_mixed(tmp_path: Path) -> None:
    groups = sessions.group(two_runs(tmp_path))
    assert [[i.rank for i in g.infos] for g in groups] == [[0, 1], [0, 1]]
    assert all(g.missing == (2,) for g in groups)
    with pytest.raises(MixedSessions, match="2 runs") as refusal:
        sessions.only(groups)
    assert "run0_0" in refusal.value.message
    assert "run1_0" in refusal.value.message
    assert "--session" in refusal.value.remedy


def test_missing_and_unreadable_files_have_their_own_sentences(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFile, match="does not exist"):
        read_trace(tmp_path / "none.json")
    with pytest.raises(UnreadableFile, match="folder"):
        read_trace(tmp_path)
    for content in (b"", b"   \n", b'{"traceEvents": []}'):
        with pytest.raises(EmptyTrace):
            read(tmp_path, content)
    assert issubclass(EmptyTrace, TimesinkError)
