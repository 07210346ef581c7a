"""The user's ranges: which they are, their time, their device time, their share."""

from __future__ import annotations

import pytest
from hypothesis import given

from tests.analyses import tables as t
from tests.analyses.forests import Node, everyone, forests, rows
from timesink.analyses.ranges import is_user_range, loader_ranges, ranges


@pytest.mark.parametrize(
    "name",
    [
        "ProfilerStep#4", "Optimizer.step#SGD.step", "Optimizer.zero_grad#SGD.zero_grad",
        "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", "timesink::step#3",
        "nccl:all_reduce", "gloo:broadcast", "DistributedDataParallel.forward",
        "FullyShardedDataParallel.forward", "autograd::engine::evaluate_function: MmBackward0",
        "## Call CompiledFxGraph abc ##", "Torch-Compiled Region: 0/1",
        "_compile.compile_inner (dynamo_timed)", "",
    ],
)  # fmt: skip
def test_not_the_users(name: str) -> None:
    assert not is_user_range(name)


@pytest.mark.parametrize("name", ["forward", "model_inference", "[pl]training_step", "my ## block"])
def test_the_users(name: str) -> None:
    assert is_user_range(name)


def test_b11_device_time_is_kernels_not_device_annotations() -> None:
    (row,) = ranges(t.prepared(
        t.annotation("forward", 0, 100), t.op("aten::mm", 10, 50), t.launch(20, 5, corr=1),
        t.kernel("gemm", 40, 30, corr=1), t.device_annotation("forward", 40, 90),
    ))  # fmt: skip
    assert (row.name, row.calls, row.total_ns, row.device_ns) == ("forward", 1, 100, 30)


def test_a_range_in_one_of_its_own_name_counts_once() -> None:
    (row,) = ranges(t.prepared(
        t.annotation("block", 0, 100), t.annotation("block", 10, 40), t.launch(20, 5, corr=1),
        t.kernel("gemm", 40, 30, corr=1),
    ))  # fmt: skip
    assert (row.calls, row.total_ns, row.device_ns, row.max_ns, row.mean_ns) == (
        2,
        100,
        30,
        100,
        70,
    )


def test_share_is_a_union_over_threads_within_the_verdict_steps() -> None:
    found = ranges(t.prepared(
        t.step(0, 0, 100), t.step(1, 100, 100), t.step(2, 200, 100),
        t.annotation("part", 110, 50), t.annotation("part", 120, 60, tid="2"),
        t.annotation("epoch", 50, 200, tid="3"), t.annotation("before", 10, 20),
    ))  # fmt: skip
    assert {r.name: r.share for r in found} == {"part": 70 / 200, "epoch": 150 / 200}


def test_fetches_of_loaders_are_apart_from_the_users_ranges() -> None:
    fetch = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
    p = t.prepared(
        t.step(0, 0, 100), t.annotation(fetch, 1, 90), t.step(1, 100, 100),
        t.annotation(fetch, 110, 40), t.annotation("forward", 150, 20),
    )  # fmt: skip
    assert [(r.name, r.calls, r.total_ns, r.share) for r in loader_ranges(p)] == [
        (fetch, 1, 40, 0.4)
    ]
    assert [r.name for r in ranges(p)] == ["forward"]


@given(forests)
def test_equals_a_naive_walk(forest: list[Node]) -> None:
    expected: dict[str, list[int]] = {}
    for node, above in everyone(forest):
        mine = {f"my {a.name}" for a in above if a.kind == "range"}
        for name in mine:
            expected[name][2] += sum(w.dur for w in node.work)
        if node.kind == "range":
            entry = expected.setdefault(f"my {node.name}", [0, 0, 0])
            entry[0] += 1
            entry[1] += 0 if f"my {node.name}" in mine else node.dur
    found = ranges(t.prepared(*rows(forest)))
    assert {r.name: [r.calls, r.total_ns, r.device_ns] for r in found} == expected
    assert all(0 < r.share <= 1 for r in found)
