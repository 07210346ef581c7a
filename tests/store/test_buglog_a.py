"""Public reports of section A once more, where it is hard: between chunks, in workers, at the end.

The plain case of each report is in ``test_buglog.py``.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from timesink.errors import NotATrace
from timesink.store import cut
from timesink.store.read import read_trace
from timesink.store.trace import Trace


def event(n: int, name: str | None = None, more: str = "") -> bytes:
    name = f"aten::op{n % 7}" if name is None else name
    return (
        f'  {{\n    "ph": "X", "cat": "cpu_op", "name": "{name}", "pid": 1, "tid": 2,\n'
        f'    "ts": {10 * n}, "dur": 5,\n    "args": {{"External id": {n}{more}}}\n  }}'
    ).encode()


def document(events: list[bytes], tail: bytes = b"") -> bytes:
    return (
        b'{"schemaVersion": 1,\n"traceEvents": [\n' + b",\n".join(events) + b"\n]" + tail + b"}\n"
    )


def read(tmp_path: Path, data: bytes, workers: int = 0, name: str = "t.json") -> Trace:
    (tmp_path / name).write_bytes(data)
    return read_trace(tmp_path / name, cache=False, workers=workers)


def ids(trace: Trace) -> list[int]:
    return trace.tables.events.sort("ord")["ext"].to_list()


def codes(trace: Trace) -> dict[str, int]:
    return {n.code: n.count for n in trace.quality}


@pytest.fixture
def _small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cut, "CHUNK", 1 << 14)


COUNT = 600  # about 100 kB: many chunks of 16 kB
TAIL = b',\n"traceName": "C:\\runs\\_x\\t.json", "baseTimeNanoseconds": 1700000000000000000\n'


def damaged(kind: str, n: int) -> bytes:
    return {
        "a01": event(n, r"C:\conda\_lib\new.py(3): f"),
        "a03": event(n, "aten::x\x01"),
        "a04": event(n, "aten::QQ").replace(b"QQ", b"\xf0A"),
        "a05 pair": event(n, '{"key": "value"}.py'),
        "a05 single": event(n, 'it"s'),
        "a06": event(n, None, ', "GB/s": inf'),
        "a07": event(n).replace(b', "tid"', b', tid"'),
    }[kind]


@pytest.mark.usefixtures("_small_chunks")
@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("kind", ["a01", "a03", "a04", "a05 pair", "a05 single", "a06", "a07"])
def test_a01_to_a07_damage_anywhere_costs_at_most_its_event(
    tmp_path: Path, kind: str, workers: int
) -> None:
    places = [0, 1, COUNT // 2, COUNT - 2, COUNT - 1]
    if workers:
        places = [COUNT // 2]
    for place in places:
        events = [event(n) for n in range(COUNT)]
        events[place] = damaged(kind, place)
        trace = read(tmp_path, document(events, TAIL), workers)
        lost = {place} if kind.startswith("a05") else set()
        assert ids(trace) == [n for n in range(COUNT) if n not in lost], place
        assert trace.info.base_ns == 1700000000000000000
        assert not trace.info.truncated
        assert codes(trace).get("unreadable-event", 0) == len(lost)
        assert "several-writers" not in codes(trace)


@pytest.mark.usefixtures("_small_chunks")
def test_a01_damage_in_every_event_loses_none(tmp_path: Path) -> None:
    events = [damaged(k, n) for n, k in enumerate(["a01", "a03", "a04", "a06", "a07"] * 100)]
    trace = read(tmp_path, document(events))
    assert ids(trace) == list(range(500))
    assert codes(trace)["illegal-escape"] >= 200  # at least \c and \_ in each path
    assert {codes(trace)[c] for c in ("control-byte", "bad-utf8", "not-a-number")} == {100}


@pytest.mark.usefixtures("_small_chunks")
def test_a05_places_are_those_of_the_decompressed_file(tmp_path: Path) -> None:
    events = [event(n) for n in range(COUNT)]
    events[400] = damaged("a05 pair", 400)
    data = document(events)
    trace = read(tmp_path, gzip.compress(data), name="t.json.gz")
    (note,) = trace.quality
    assert note.message == f"1 event unreadable at byte {data.index(events[400]) + 2}"


@pytest.mark.usefixtures("_small_chunks")
def test_a11_a_second_document_in_the_middle_of_the_first(tmp_path: Path) -> None:
    first = document([event(n) for n in range(COUNT)])
    second = document([event(n) for n in range(COUNT, COUNT + 100)])
    at = len(first) // 2
    trace = read(tmp_path, first[:at] + second + first[at:])
    kept = set(ids(trace))
    assert len(kept & set(range(COUNT))) >= COUNT - 2
    assert len(kept & set(range(COUNT, COUNT + 100))) >= 98
    assert "several-writers" in codes(trace)


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
@pytest.mark.usefixtures("_small_chunks")
def test_a14_cut_anywhere_keeps_all_that_is_whole(tmp_path: Path, packed: bool) -> None:
    events = [event(n) for n in range(60)]
    data = document(events, TAIL)
    ends = [data.index(e) + len(e) for e in events]
    for size in range(len(data) // 2, ends[-1], 97):
        whole = sum(end <= size for end in ends)
        content = gzip.compress(data[:size]) if packed else data[:size]
        trace = read(tmp_path, content)
        assert ids(trace) == list(range(whole))
        assert trace.info.truncated
        assert "truncated" in codes(trace)
        assert "several-writers" not in codes(trace)


def test_a17_a_rocprofv3_dump_with_bytes_that_are_not_utf8(tmp_path: Path) -> None:
    with pytest.raises(NotATrace, match="rocprofv3"):
        read(tmp_path, b'{\n "rocprofiler-sdk-tool": [{"strings": ["\xff\xfe"]}]}')


@pytest.mark.parametrize("bad", [None, "a01", "a04"], ids=["clean", "escape", "utf8"])
def test_a18_duplicate_keys_give_one_answer_on_every_path(tmp_path: Path, bad: str | None) -> None:
    twice = event(0).replace(b'"dur": 5', b'"dur": 5, "dur": 7')
    events = [twice, event(1), *([damaged(bad, 2)] if bad else [])]
    trace = read(tmp_path, document(events))
    assert trace.tables.events["dur"].to_list()[:2] == [7000, 5000]
    assert codes(trace)["duplicate-key"] == 1


def test_a20_odd_events_cost_only_themselves(tmp_path: Path) -> None:
    odd: list[Any] = [
        {"ph": "X", "name": "no time", "pid": 1, "tid": 2},
        {"ph": "X", "name": None, "pid": None, "tid": None, "ts": 1, "dur": 1, "cat": "cpu_op"},
        {"ph": 5, "ts": "soon"},
        {"ph": "X", "name": "x", "ts": 1, "dur": 1, "args": [1]},
        {},
        {"ph": "s", "id": None, "ts": 3},
    ]
    events = [event(0), *(json.dumps(o).encode() for o in odd), event(1)]
    trace = read(tmp_path, document(events))
    assert {0, 1} <= set(ids(trace))
    assert trace.info.event_count == len(events)
