"""Refusals: each names what the file is, by its structure; a word in a name refuses nothing."""

from __future__ import annotations

import cProfile
import json
import pickle
from pathlib import Path
from typing import Any

import pytest

from tests.minitrace import row, training_trace, write_trace
from tests.realdata import ROOT, real_root
from timesink.errors import EmptyTrace, NotATrace, TimesinkError
from timesink.store.read import read_trace


def refusal(tmp_path: Path, content: Any, name: str = "trace.json") -> TimesinkError:
    path = tmp_path / name
    if not isinstance(content, (bytes, str)):
        content = json.dumps(content)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(TimesinkError) as caught:
        read_trace(path, cache=False)
    assert caught.value.message.startswith(name), "names the file"
    assert caught.value.message.endswith("."), "is a sentence"
    assert caught.value.remedy, "says what to do"
    return caught.value


def profile_dump(tmp_path: Path) -> bytes:
    profiler = cProfile.Profile()
    profiler.runcall(json.dumps, [1, 2])
    profiler.dump_stats(tmp_path / "out.prof")
    return (tmp_path / "out.prof").read_bytes()


VIZTRACER = {
    "traceEvents": [{"ph": "X", "cat": "FEE", "name": "f", "ts": 1, "dur": 2, "pid": 1, "tid": 1}],
    "viztracer_metadata": {"version": "1.0.0"},
}
PY_SPY = [
    {"name": "f", "cat": "py-spy", "ph": p, "ts": t, "pid": 1, "tid": 1} for p, t in ("B1", "E2")
]
NSYS = [{"name": "k", "ph": "X", "cat": "cuda", "ts": 1, "dur": 1, "pid": 1, "tid": 1}]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ({"rocprofiler-sdk-tool": [{"metadata": {}}]}, "rocprofv3"),
        ({"schema": "1.1.1-chakra.0.0.4", "pid": 1, "nodes": [{"id": 1}]}, "execution trace"),
        ([[1, 2], [[3, 4], [5, 6]]], "memory timeline"),
        ({"$schema": "https://www.speedscope.app/file-format-schema.json"}, "speedscope"),
        ({"shared": {}, "$schema": "https://www.speedscope.app/file-format-schema.json"},
         "speedscope"),
        (VIZTRACER, "VizTracer"),
        (PY_SPY, "only begin and end rows such as f"),
        (NSYS, "another tool"),
        ({"cells": [], "metadata": {}}, "begins with cells, metadata"),
        (["a", "b"], "list of something else"),
        ("main;f;g 10\nmain;f 3\n", "text file"),
        ("see http:/host:8080/device: 1\n", "text file"),
        ("name,time\nf,1\n", "text file"),
        ("\n <HTML><body>404</body></HTML>", "HTML"),
        ("version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "git lfs pull"),
        ('{"traceEvents": []}'.encode("utf-16"), "UTF-16"),
        (pickle.dumps({"segments": []}), "timesink memory"),
        (b"\x80\x02}q\x00.", "timesink memory"),
        (b"SQLite format 3\x00" + bytes(100), "SQLite"),
        (b"PK\x03\x04" + bytes(100), "zip"),
        (b"\x89PNG\r\n\x1a\n" + bytes(100), "PNG"),
        (b"\x08\x08\x12\x07pytorch\x1a\x052.1.0" + bytes(100), "ONNX"),
        (b"\x0a\x12\x08\x01/host:CPU" + bytes(100), "XLA"),
        (b"\x0a\x12\x08\x01\x18\x01" + bytes(100), "Perfetto"),
        (b"\x18" + bytes(11) + b"\x09" + bytes(8) + b"\x1a\x0dbrain.Event:2", "TensorBoard"),
        (b"\xde\xad\xbe\xef" * 50, "binary file"),
    ],
)  # fmt: skip
def test_other_files_are_named(tmp_path: Path, content: Any, says: str) -> None:
    assert says in refusal(tmp_path, content).message


def test_a_profile_of_cprofile_begins_like_json_and_is_none(tmp_path: Path) -> None:
    assert "cProfile" in refusal(tmp_path, profile_dump(tmp_path)).message


@pytest.mark.parametrize(
    "content",
    [
        "",
        " \n",
        [],
        {"traceEvents": []},
        '{"schemaVersion": 1, "deviceProperties": [{"id": 0, "na',
        {"schemaVersion": 1, "traceEvents": [{"ph": "M", "name": "process_name", "pid": 1}]},
    ],
)
def test_traces_without_events_are_empty_and_not_something_else(
    tmp_path: Path, content: Any
) -> None:
    assert isinstance(refusal(tmp_path, content), EmptyTrace)


@pytest.mark.parametrize(
    "name",
    [
        "<!DOCTYPE html><html>",
        "https://www.speedscope.app/file-format-schema.json",
        '"rocprofiler-sdk-tool"',
        '"viztracer_metadata": {}',
        '"group":"EventTrace"',
        "/host:metadata XPlane",
        "version https://git-lfs",
        '"schema": "1", "nodes"',
    ],
)
@pytest.mark.parametrize("bare", [False, True], ids=["object", "list"])
def test_words_in_names_refuse_nothing(tmp_path: Path, name: str, bare: bool) -> None:
    events = [row("cpu_op", name, 1, 2), row("cpu_op", "aten::mm", 4, 2)]
    document = events if bare else {"schemaVersion": 1, "traceEvents": events}
    trace = read_trace(write_trace(tmp_path / "t.json", document), cache=False)
    assert trace.info.event_count == 2
    assert trace.quality == ()


@pytest.mark.parametrize(
    "events",
    [
        [row("kernel", "k", 1, 2, stream=7, device=0)],
        [row("cuda_runtime", "cudaLaunchKernel", 1, 2, correlation=1), row("kernel", "k", 5, 2)],
        [row("python_function", "train.py(3): step", 1, 2)],
        [row("user_annotation", "ProfilerStep#3", 1, 2)],
        [row("Operator", "aten::mm", 1, 2)],
        [row("mtia_ccp_events", "k", 1, 2)],
        [row("mlu_runtime", "cnLaunch", 1, 2)],
        [row("", "aten::mm", 1, 2)],
    ],
)
def test_small_traces_of_torch_are_accepted(tmp_path: Path, events: list[Any]) -> None:
    trace = read_trace(write_trace(tmp_path / "t.json", {"traceEvents": events}), cache=False)
    assert trace.info.event_count == len(events)


def test_a_torch_trace_that_viztracer_wrote_is_accepted(tmp_path: Path) -> None:
    document = {**training_trace(), "viztracer_metadata": {"version": "1.0.0"}}
    assert read_trace(write_trace(tmp_path / "t.json", document), cache=False).info.event_count


SAYS = {
    "xplane.pb": "XPlane", "LFVAR": "version, group, events", "IBM": "begin and end rows",
    "cmpark": "begin and end rows", "memory_broken": "memory timeline", "_et.": "execution trace",
    "xprof__trace": "another tool", "grof": "another tool",
}  # fmt: skip


@pytest.mark.real
def test_every_real_file_of_another_tool_is_refused_for_what_it_is() -> None:
    files = sorted((real_root() / "not_torch").iterdir())
    assert len(files) >= len(SAYS)
    for path in files:
        with pytest.raises(NotATrace) as caught:
            read_trace(path, cache=False)
        expected = [says for part, says in SAYS.items() if part in path.name]
        assert all(says in caught.value.message for says in expected), path.relative_to(ROOT)
