"""Operators step by step."""

from __future__ import annotations

from tests.analyses import tables as t
from timesink.analyses.trends import GRAPH_NODE, trends
from timesink.model.results import Trend


def test_growth_of_an_operator_and_of_the_backward_graph() -> None:
    rows = []
    for n in range(3):
        at = 1000 * n
        rows += [t.step(n, at, 1000), t.op("aten::mm", at, 10 * (n + 1), shape="[[2]]")]
        rows += [t.backward("MmBackward0", at + 100 + 50 * i, 20) for i in range(n + 1)]
    found = trends(t.prepared(*rows))
    name = f"{GRAPH_NODE}: MmBackward0"
    assert found == (
        Trend(name, "", (1, 2, 3), (20, 40, 60)),
        Trend("aten::mm", "[[2]]", (1, 1, 1), (10, 20, 30)),
        Trend(GRAPH_NODE, "", (1, 2, 3), (20, 40, 60)),
    )


def test_shapes_are_followed_apart_and_only_the_top_is_kept() -> None:
    rows = [t.step(0, 0, 1000), t.step(1, 1000, 1000)]
    rows += [t.op("aten::mm", 100 * i, 10 + i, shape=f"[{i}]") for i in range(8)]
    assert [(r.shape, r.calls) for r in trends(t.prepared(*rows), top=2)] == [
        ("[7]", (1, 0)),
        ("[6]", (1, 0)),
    ]


def test_time_of_a_recursive_call_counts_once() -> None:
    (row,) = trends(t.prepared(
        t.step(0, 0, 1000), t.op("f", 0, 100), t.op("f", 10, 50), t.step(1, 1000, 1000),
    ))  # fmt: skip
    assert (row.calls, row.total_ns) == ((2, 0), (100, 0))


def test_no_trend_without_two_steps_or_operators() -> None:
    assert trends(t.prepared(t.op("aten::mm", 0, 10))) == ()
    assert trends(t.prepared(t.step(0, 0, 10), t.step(1, 10, 10))) == ()
