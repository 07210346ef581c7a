"""Launch statistics: links, delays, what is lost, what waited for the host."""

from __future__ import annotations

import pytest
from hypothesis import given

from tests.analyses import tables as t
from tests.analyses.forests import Node, everyone, forests, rows
from timesink.analyses.launches import launches

US = 1000


def test_nothing_to_say_without_launches_and_device_rows() -> None:
    assert launches(t.prepared(t.op("aten::mm", 0, 10))) is None
    assert launches(t.prepared()) is None


@given(forests)
def test_equals_a_naive_walk(forest: list[Node]) -> None:
    found = launches(t.prepared(*rows(forest)))
    calls = [n for n, _ in everyone(forest) if n.kind == "launch"]
    if not calls:
        assert found is None
        return
    assert found is not None
    work = [w for n in calls for w in n.work]
    delays = [max(w.delay, 0) for w in work]
    assert (found.launches, found.rows, found.linked) == (len(calls), len(work), len(work))
    assert (found.unlaunched, found.lost) == (0, sum(not n.work for n in calls))
    assert found.negative == sum(w.delay < 0 for w in work)
    assert found.delay_max_ns == max(delays, default=0)
    assert found.delay_mean_ns * max(len(delays), 1) == pytest.approx(sum(delays))


def test_c7_negative_delays_are_floored_and_counted() -> None:
    found = launches(t.prepared(
        t.launch(100, 5, corr=1), t.kernel("a", 60, 30, corr=1),
        t.launch(200, 5, corr=2), t.kernel("b", 210, 30, corr=2),
    ))  # fmt: skip
    assert found is not None
    assert (found.negative, found.delay_mean_ns, found.delay_max_ns) == (1, 5, 10)


def test_c16_graph_launches_are_counted_apart_and_have_no_delay() -> None:
    found = launches(t.prepared(
        t.runtime("cudaGraphLaunch", 0, 5, corr=1),
        *(t.kernel("k", 100 * i, 50, corr=1) for i in range(1, 8)),
    ))  # fmt: skip
    assert found is not None
    assert (found.launches, found.graph_launches, found.rows, found.linked) == (0, 1, 7, 7)
    assert (found.delay_max_ns, found.short, found.queue_empty, found.lost) == (0, 0, 0, 0)


def test_rows_without_a_launch_and_launches_without_a_row() -> None:
    found = launches(t.prepared(
        t.launch(0, 5, corr=1), t.launch(10, 5, corr=2), t.kernel("a", 60, 30, corr=2),
        t.kernel("b", 100, 30), t.kernel("c", 200, 30, corr=77),
    ))  # fmt: skip
    assert found is not None
    assert (found.lost, found.unlaunched, found.linked) == (1, 2, 1)


def test_queue_empty_means_idle_device_and_a_start_right_after_the_launch() -> None:
    found = launches(t.prepared(
        t.launch(0, 5 * US, corr=1), t.kernel("waited", 6 * US, 20 * US, corr=1),
        t.launch(7 * US, 5 * US, corr=2), t.kernel("queued", 26 * US, 5 * US, corr=2),
        t.launch(8 * US, 5 * US, corr=3), t.kernel("idle but late", 60 * US, 50 * US, corr=3),
        t.launch(200 * US, 5 * US, corr=4), t.kernel("waited", 212 * US, 5 * US, corr=4),
    ))  # fmt: skip
    assert found is not None
    assert (found.queue_empty, found.short) == (2, 2)
    assert (found.launch_call_mean_ns, found.kernel_mean_ns) == (5 * US, 20 * US)
