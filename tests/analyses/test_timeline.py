"""The timeline: lanes, levels, what is left out, args."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.analyses import tables as t
from tests.analyses.forests import Node, everyone, forests, rows
from timesink.analyses.lanes import slots
from timesink.analyses.timeline import ARGS_CHARS, args_text, timeline
from timesink.model.trace import DeviceInfo


def test_lanes_of_threads_and_streams_with_levels_and_labels() -> None:
    shown = timeline(t.prepared(
        t.step(4, 100, 200), t.op("aten::linear", 110, 50), t.op("aten::mm", 120, 20),
        t.op("aten::add", 115, 9, tid="2"), t.launch(130, 5, corr=1),
        t.kernel("gemm", 140, 60, corr=1, stream=0), t.kernel("gemm", 150, 20, stream=9),
        devices=(DeviceInfo(0, "Test GPU"),),
    ))  # fmt: skip
    assert (shown.origin_ns, shown.dur_ns, shown.steps) == (100, 200, ((4, 0, 200),))
    assert [(lane.label, lane.kind) for lane in shown.lanes] == [
        ("thread 1", "thread"), ("thread 2", "thread"),
        ("Test GPU (device 0) · stream 0", "stream"), ("Test GPU (device 0) · stream 9", "stream"),
    ]  # fmt: skip
    main = shown.lanes[0]
    assert [shown.names[n] for n in main.name] == [
        "ProfilerStep#4", "aten::linear", "aten::mm", "cudaLaunchKernel",
    ]  # fmt: skip
    assert (main.start_ns, main.dur_ns, main.depth) == (
        (0, 10, 20, 30), (200, 50, 20, 5), (0, 1, 2, 3),
    )  # fmt: skip
    assert [shown.categories[c] for c in main.category][:2] == ["user_annotation", "cpu_op"]
    assert (main.args, shown.args, shown.dropped) == ((-1,) * 4, (), 0)


def test_the_longest_bars_are_kept_on_host_and_device() -> None:
    host = [t.op(f"op{i}", 100 * i, 10 + i) for i in range(20)]
    device = [t.kernel(f"k{i}", 100 * i + 5, 1 + i) for i in range(20)]
    shown = timeline(t.prepared(*host, *device), limit=10)
    kept = {shown.names[n] for lane in shown.lanes for n in lane.name}
    assert kept == {f"{kind}{i}" for kind in ("op", "k") for i in range(15, 20)}
    assert shown.dropped == 30


def test_room_that_one_side_does_not_need_goes_to_the_other() -> None:
    host = [t.op(f"op{i}", 100 * i, 10 + i) for i in range(20)]
    shown = timeline(t.prepared(*host, t.kernel("k", 5, 1)), limit=10)
    assert [len(lane.start_ns) for lane in shown.lanes] == [9, 1]


@given(forests, st.integers(0, 12))
def test_every_bar_is_shown_or_counted_as_dropped(forest: list[Node], limit: int) -> None:
    shown = timeline(t.prepared(*rows(forest)), limit=limit)
    bars = sum(len(lane.start_ns) for lane in shown.lanes)
    everything = sum(1 + len(node.work) for node, _ in everyone(forest))
    assert bars + shown.dropped == everything
    assert bars == min(limit, everything)
    for lane in shown.lanes:
        assert list(lane.start_ns) == sorted(lane.start_ns)
        assert len({len(f) for f in (lane.dur_ns, lane.depth, lane.name, lane.args)}) == 1


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 20)), max_size=12))
def test_bars_of_a_stream_never_lie_on_each_other(spans: list[tuple[int, int]]) -> None:
    spans.sort()
    levels = slots([s for s, _ in spans], [d for _, d in spans])
    taken = [
        (level, ns)
        for (start, dur), level in zip(spans, levels, strict=True)
        for ns in range(start, start + dur)
    ]
    assert len(taken) == len(set(taken))


def test_args_are_fetched_for_shown_bars_and_frames_have_none() -> None:
    asked: list[int] = []

    def raw(ords: Sequence[int]) -> dict[int, dict[str, Any]]:
        asked.extend(ords)
        return {o: {"Ev Idx": o, "Input Dims": [[8, 8]]} for o in ords}

    shown = timeline(
        t.prepared(
            t.python("train.py(3): f", 0, 100), t.op("aten::mm", 10, 50), t.kernel("k", 5, 9)
        ),
        raw,
    )
    assert asked == [1, 2]
    assert [json.loads(text) for text in shown.args] == [{"Input Dims": [[8, 8]]}]
    assert shown.lanes[0].args == (-1, 0)


@given(st.dictionaries(st.text(max_size=30), st.text(max_size=900) | st.integers(), max_size=9))
def test_args_stay_valid_json_of_bounded_length(args: dict[str, Any]) -> None:
    text = args_text(args)
    assert len(text) <= ARGS_CHARS
    if text:
        assert set(json.loads(text)) <= set(args)


def test_args_without_a_json_form_are_text() -> None:
    assert json.loads(args_text({"bandwidth": float("inf"), "n": 3})) == {
        "bandwidth": "inf…",
        "n": 3,
    }


def test_an_empty_trace_has_no_lanes() -> None:
    shown = timeline(t.prepared())
    assert (shown.lanes, shown.dropped, shown.names) == ((), 0, ())
