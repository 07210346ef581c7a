"""The kernel table: sums against a naive walk, classes, launch delays, graphs."""

from __future__ import annotations

from collections import defaultdict

import pytest
from hypothesis import given

from tests.analyses import tables as t
from tests.analyses.forests import Node, all_work, forests, rows
from timesink.analyses.copies import copies
from timesink.analyses.kernels import SORT_KEYS, kernels, sort_kernels
from timesink.errors import BadUsage
from timesink.model.results import KernelRow


@given(forests)
def test_kernels_and_copies_equal_naive_sums(forest: list[Node]) -> None:
    expected: dict[str, list[int]] = defaultdict(list)
    for work in all_work(forest):
        if not work.name.startswith("Memcpy"):
            expected[work.name].append(work.dur)
    prepared = t.prepared(*rows(forest))
    found = kernels(prepared)
    assert {r.name: (r.calls, r.total_ns, r.min_ns, r.max_ns) for r in found} == {
        name: (len(d), sum(d), min(d), max(d)) for name, d in expected.items()
    }
    everything = sum(w.dur for w in all_work(forest))
    assert sum(r.total_ns for r in found) + sum(c.total_ns for c in copies(prepared)) == everything
    if any(r.total_ns for r in found):
        assert sum(r.share for r in found) == pytest.approx(1.0)


@given(forests)
def test_communication_equals_a_naive_sum(forest: list[Node]) -> None:
    found = kernels(t.prepared(*rows(forest)))
    expected = sum(w.dur for w in all_work(forest) if w.name.startswith(("nccl", "cross_device")))
    assert sum(r.total_ns for r in found if r.kind == "communication") == expected


def test_b18_collectives_without_nccl_in_the_name_and_a_bucket_for_the_unnamed() -> None:
    found = kernels(t.prepared(
        t.kernel("cross_device_reduce_2stage<half>", 0, 10), t.kernel("", 20, 7),
        t.kernel("gemm", 40, 5), t.kernel("ncclDevKernel_AllReduce_Sum_f32", 60, 3),
    ))  # fmt: skip
    assert [r.kind for r in found] == ["communication", "unclassified", "compute", "communication"]


def test_c7_a_kernel_before_its_launch_has_delay_zero() -> None:
    (row,) = kernels(t.prepared(t.launch(100, 5, corr=1), t.kernel("gemm", 60, 30, corr=1)))
    assert row.delay_median_ns == 0


def test_c11_a_kernel_without_a_launch_keeps_its_time_and_has_no_delay() -> None:
    (row,) = kernels(t.prepared(t.launch(0, 5, corr=1), t.kernel("gemm", 60, 30, corr=-1)))
    assert (row.total_ns, row.delay_median_ns, row.op) == (30, None, "")


def test_c16_kernels_of_a_graph_launch_are_marked_and_have_no_delay() -> None:
    graph = t.runtime("cudaGraphLaunch", 0, 5, corr=1)
    (row,) = kernels(t.prepared(graph, *(t.kernel("gemm", 9 * i, 5, corr=1) for i in range(1, 6))))
    assert (row.graph, row.calls, row.delay_median_ns) == (True, 5, None)


def test_streams_and_the_operator_with_most_of_the_time() -> None:
    (row,) = kernels(t.prepared(
        t.op("aten::add", 0, 10), t.launch(1, 2, corr=1), t.kernel("k", 5, 10, corr=1, stream=7),
        t.op("aten::mul", 20, 10), t.launch(21, 2, corr=2), t.kernel("k", 30, 90, corr=2, stream=0),
    ))  # fmt: skip
    assert (row.streams, row.op, row.delay_median_ns, row.mean_ns) == ((0, 7), "aten::mul", 6.5, 50)


def test_verdict_steps_own_what_they_launched_wherever_it_ran() -> None:
    prepared = t.prepared(
        t.step(0, 0, 100), t.launch(90, 5, corr=1), t.kernel("late", 150, 10, corr=1),
        t.step(1, 100, 100), t.launch(110, 5, corr=2), t.kernel("own", 250, 10, corr=2),
    )  # fmt: skip
    assert [r.name for r in kernels(prepared)] == ["own"]
    assert {r.name for r in kernels(prepared, all_steps=True)} == {"own", "late"}


ROWS = (
    KernelRow("b", "compute", 4, 40, 10.0, 1, 12, 0.4, (7,), 5.0),
    KernelRow("a", "compute", 1, 20, 20.0, 9, 20, 0.2, (7,), None),
    KernelRow("c", "compute", 2, 60, 30.0, 3, 45, 0.6, (7,), 1.0),
)


@pytest.mark.parametrize(
    ("key", "order"),
    [("total", "cba"), ("cuda_time_total", "cba"), ("self_device_time_total", "cba"),
     ("calls", "bca"), ("mean", "cab"), ("max", "cab"), ("delay", "bca"), ("name", "abc")],
)  # fmt: skip
def test_sorting(key: str, order: str) -> None:
    assert "".join(r.name for r in sort_kernels(ROWS, key)) == order


def test_an_unknown_key_names_the_valid_ones() -> None:
    with pytest.raises(BadUsage) as caught:
        sort_kernels(ROWS, "color")
    assert all(key in str(caught.value) for key in SORT_KEYS)
