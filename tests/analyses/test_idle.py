"""Idle gaps: exact totals, and each cause on the smallest trace that shows it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.analyses import tables as t
from tests.realdata import real_trace
from timesink.analyses.idle import LONGEST, idle
from timesink.analyses.prepare import prepare
from timesink.analyses.usage import usage
from timesink.model.results import IdleCause, IdleGap

US = 1000
MS = 1_000_000
LOADER = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"


def gap(*host: t.Row, start: int = 100 * US, launch: int = 1000 * US, end: int = 0) -> IdleGap:
    """The one gap between a kernel that ends at ``start`` and one launched at ``launch``."""
    end = end or launch + 8 * US
    p = t.prepared(
        t.op("aten::first", 0, 20 * US), t.launch(5 * US, 5 * US, corr=1),
        t.kernel("k1", 15 * US, start - 15 * US, corr=1),
        t.op("aten::next", launch - 10 * US, 20 * US), t.launch(launch, 5 * US, corr=2),
        t.kernel("k2", end, 50 * US, corr=2), *host,
    )  # fmt: skip
    (found,) = idle(p)
    assert found.gaps == 1
    assert found.causes == ((found.longest[0].cause, found.total_ns, 1),)
    (one,) = found.longest
    assert (one.start_ns, one.dur_ns, one.before, one.after) == (start, end - start, "k1", "k2")
    return one


def test_waiting_for_data() -> None:
    found = gap(t.annotation(LOADER, 150 * US, 800 * US))
    assert (found.cause, found.host) == (IdleCause.DATA, LOADER)


def test_after_a_synchronising_call() -> None:
    sync = t.runtime("cudaStreamSynchronize", 40 * US, 65 * US)
    found = gap(t.op("aten::item", 30 * US, 80 * US), sync, launch=150 * US)
    assert (found.cause, found.host) == (IdleCause.SYNC, "cudaStreamSynchronize")


def test_a_copy_to_pageable_memory_is_a_synchronising_call() -> None:
    """``.item()``: the copy's call returns only once the queue before it has run."""
    p = t.prepared(
        t.op("aten::mm", 0, 10 * US), t.launch(0, 5 * US, corr=1),
        t.kernel("mm", 9 * US, 500 * US, corr=1),
        t.op("aten::item", 15 * US, 510 * US),
        t.runtime("cudaMemcpyAsync", 20 * US, 495 * US, corr=2),
        t.memcpy("Memcpy DtoH (Device -> Pageable)", 509 * US, 2 * US, corr=2),
        t.runtime("cudaStreamSynchronize", 516 * US, 2 * US),
        t.op("aten::next", 600 * US, 30 * US), t.launch(610 * US, 5 * US, corr=3),
        t.kernel("next", 620 * US, 50 * US, corr=3),
    )  # fmt: skip
    (found,) = idle(p)
    assert found.causes == ((IdleCause.SYNC, 109 * US, 1),)
    assert found.longest[0].host == "cudaMemcpyAsync"


def test_long_work_after_a_short_wait_is_the_cause_itself() -> None:
    """Without the call the host would be 65 µs earlier: that is not what makes 900 µs."""
    sync = t.runtime("cudaStreamSynchronize", 40 * US, 65 * US)
    assert gap(sync).cause == IdleCause.OTHER_PYTHON
    assert gap(sync, t.op("aten::on_the_host", 110 * US, 850 * US)).cause == IdleCause.LAUNCH


def test_data_after_a_synchronisation_is_data() -> None:
    found = gap(
        t.runtime("cudaStreamSynchronize", 40 * US, 65 * US),
        t.annotation(LOADER, 150 * US, 800 * US),
    )
    assert found.cause == IdleCause.DATA


def test_a_synchronising_call_within_the_gap_is_not_its_cause() -> None:
    """The device was idle already when it began: it waited for nothing."""
    found = gap(
        t.op("aten::big", 120 * US, 870 * US), t.runtime("cudaStreamSynchronize", 500 * US, US)
    )
    assert found.cause == IdleCause.LAUNCH


@pytest.mark.parametrize("name", ["cudaMalloc", "hipFree", "cudaHostAlloc"])
def test_allocator(name: str) -> None:
    found = gap(t.op("aten::empty", 110 * US, 850 * US), t.runtime(name, 120 * US, 800 * US))
    assert (found.cause, found.host) == (IdleCause.ALLOCATOR, name)


def test_garbage_collection() -> None:
    assert gap(t.gc(150 * US, 800 * US)).cause == IdleCause.GARBAGE_COLLECTION
    assert gap(t.annotation("timesink::gc", 150 * US, 800 * US)).cause == (
        IdleCause.GARBAGE_COLLECTION
    )


def test_checkpoint() -> None:
    found = gap(t.annotation("timesink::checkpoint", 150 * US, 800 * US))
    assert found.cause == IdleCause.CHECKPOINT_IO


def test_collective_on_the_host() -> None:
    assert gap(t.annotation("gloo:all_reduce", 150 * US, 800 * US)).cause == IdleCause.COLLECTIVE


def test_launch_bound() -> None:
    found = gap(t.op("aten::slow_dispatch", 110 * US, 850 * US))
    assert (found.cause, found.host) == (IdleCause.LAUNCH, "aten::next")


def test_short_python_between_operators_is_launch_bound() -> None:
    assert gap(start=960 * US).cause == IdleCause.LAUNCH


def test_python_between_operators_with_its_line() -> None:
    found = gap(
        t.python("train.py(10): main", 0, 2 * MS), t.python("train.py(31): log", 150 * US, 800 * US)
    )
    assert (found.cause, found.line) == (IdleCause.OTHER_PYTHON, "train.py(31): log")


def test_line_from_the_old_call_stack() -> None:
    stack = "/opt/lib/python3.7/site-packages/torch/nn.py(3): f;train.py(54): <module>"
    found = gap(t.op("aten::slow", 110 * US, 850 * US, stack=stack))
    assert found.line == "train.py(54): <module>"


def test_device_side_dependency() -> None:
    """The second kernel was queued while the first one still ran."""
    assert gap(launch=50 * US, start=100 * US, end=900 * US).cause == IdleCause.DEVICE


def test_a_row_that_waits_long_after_a_launch_within_the_gap() -> None:
    assert gap(launch=150 * US, end=900 * US).cause == IdleCause.DEVICE


def test_unknown_without_a_launch() -> None:
    (found,) = idle(t.prepared(t.kernel("a", 0, 10), t.kernel("b", 90, 10)))
    assert found.causes == ((IdleCause.UNKNOWN, 80, 1),)
    assert found.longest[0].line == found.longest[0].host == ""


def test_data_range_names_the_gap_without_a_launch() -> None:
    p = t.prepared(t.annotation(LOADER, 10, 75), t.kernel("a", 0, 10), t.kernel("b", 90, 10))
    assert idle(p)[0].causes == ((IdleCause.DATA, 80, 1),)


def test_c7_a_kernel_before_its_launch_is_no_negative_gap() -> None:
    p = t.prepared(t.launch(500, 5, corr=1), t.kernel("a", 0, 10), t.kernel("b", 90, 10, corr=1))
    (found,) = idle(p)
    assert (found.total_ns, found.gaps) == (80, 1)


def test_c16_rows_of_one_graph_launch_are_not_launch_bound() -> None:
    rows = [t.kernel("k", 100 * US + 20 * US * i, 10 * US, corr=1) for i in range(50)]
    (found,) = idle(t.prepared(t.runtime("cudaGraphLaunch", 0, 30 * US, corr=1), *rows))
    assert found.causes == ((IdleCause.DEVICE, 49 * 10 * US, 49),)


@given(st.lists(st.tuples(st.integers(1, 90), st.integers(0, 20), st.integers(0, 1)), min_size=1))
def test_gaps_are_the_complement_of_the_union(rows: list[tuple[int, int, int]]) -> None:
    p = t.prepared(*(t.kernel("k", ts, dur, stream=s) for ts, dur, s in rows))
    (found,) = idle(p)
    busy = {at for ts, dur, _ in rows for at in range(ts, ts + dur)}
    inner = set(range(min(r[0] for r in rows), max(r[0] + r[1] for r in rows))) - busy
    assert found.total_ns == len(inner) == sum(ns for _, ns, _ in found.causes)
    assert found.total_ns == usage(p)[0].idle_ns
    assert found.gaps == sum(1 for at in inner if at - 1 not in inner)
    assert len(found.longest) == min(found.gaps, LONGEST)
    lengths = [g.dur_ns for g in found.longest]
    assert lengths == sorted(lengths, reverse=True)


def test_many_gaps_keep_only_the_longest() -> None:
    starts = np.cumsum(np.arange(1, 200)).tolist()
    (found,) = idle(t.prepared(*(t.kernel("k", s, 1) for s in starts)))
    assert found.gaps == 198
    assert [g.dur_ns for g in found.longest] == list(range(198, 198 - LONGEST, -1))


def test_no_device_rows_no_gaps() -> None:
    assert idle(t.prepared(t.op("aten::mm", 0, 10))) == ()


@pytest.mark.real
def test_real_causes_sum_to_the_idle_time() -> None:
    read = pytest.importorskip("timesink.store.read")
    trace = read.read_trace(
        real_trace("hta/df_index_resolver/df_index_resolver.json.gz"), cache=False
    )
    p = prepare(trace.tables, trace.info)
    (found,) = idle(p)
    assert found.total_ns == usage(p)[0].idle_ns == sum(ns for _, ns, _ in found.causes)


@pytest.mark.real
def test_real_loader_without_workers_makes_the_longest_gaps() -> None:
    read = pytest.importorskip("timesink.store.read")
    folder = real_trace("kineto/resnet50_num_workers_0")
    trace = read.read_trace(next(folder.glob("*.gz")), cache=False)
    (found,) = idle(prepare(trace.tables, trace.info))
    assert found.causes[0][0] == IdleCause.DATA
    assert found.longest[0].host == LOADER
    assert found.longest[0].line == "resnet50_profiler_api.py(42): <module>"
