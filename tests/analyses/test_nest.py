"""Nesting against a naive stack, crossings included."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from timesink.analyses import nest as module
from timesink.analyses.nest import nest

Rows = list[tuple[int, int]]


def ordered(rows: Rows) -> Rows:
    return sorted(rows, key=lambda r: (r[0], -r[1]))


def naive(rows: Rows) -> tuple[list[int], list[int], list[int]]:
    """(clipped end, parent, depth) by a plain stack."""
    ends, parents, depths, stack = [], [], [], list[int]()
    for i, (ts, dur) in enumerate(rows):
        while stack and ends[stack[-1]] <= ts:
            stack.pop()
        end = min([ts + dur, *(ends[j] for j in stack[-1:])])
        ends.append(end)
        parents.append(stack[-1] if stack else -1)
        depths.append(len(stack))
        if end > ts:
            stack.append(i)
    return ends, parents, depths


def build(rows: Rows) -> module.Tree:
    ts = np.array([r[0] for r in rows], np.int64)
    return nest(ts, ts + np.array([r[1] for r in rows], np.int64))


rows_of_a_thread = st.lists(
    st.tuples(st.integers(0, 60), st.one_of(st.just(0), st.integers(0, 30))), max_size=40
).map(ordered)


@given(rows_of_a_thread)
@settings(max_examples=300)
def test_b9_nesting_is_that_of_a_stack(rows: Rows) -> None:
    tree = build(rows)
    ends, parents, depths = naive(rows)
    assert tree.end.tolist() == ends
    assert tree.parent.tolist() == parents
    assert tree.depth.tolist() == depths
    assert tree.clipped == sum(e < t + d for e, (t, d) in zip(ends, rows, strict=True))


@given(rows_of_a_thread)
@settings(max_examples=200)
def test_b1_self_is_never_negative_and_sums_to_the_wall_of_the_roots(rows: Rows) -> None:
    tree = build(rows)
    own = tree.self_ns
    assert (own >= 0).all()
    covered = {t for ts, dur in rows for t in range(ts, ts + dur)}
    roots = tree.parent < 0
    assert own.sum() == (tree.end - tree.ts)[roots].sum()
    # rows that stick out of their parent are clipped, so the roots may cover less than all rows
    assert own.sum() <= len(covered)
    if not tree.clipped:
        assert own.sum() == len(covered)


@given(rows_of_a_thread, st.data())
@settings(max_examples=200)
def test_enclosing_is_the_innermost_open_row(rows: Rows, data: st.DataObject) -> None:
    tree = build(rows)
    at = data.draw(st.integers(0, 95))
    low = sum(ts < at for ts, _ in rows)
    high = sum(ts <= at for ts, _ in rows)
    before = data.draw(st.integers(low, high))
    open_rows = [i for i in range(before) if tree.ts[i] <= at < tree.end[i]]
    found = tree.enclosing(np.array([before]), np.array([at]))
    assert found.tolist() == [open_rows[-1] if open_rows else -1]


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=40)
def test_b9_large_trees_with_few_crossings(seed: int) -> None:
    """The search for small crossed subtrees gives what one walk over everything gives."""
    random = np.random.default_rng(seed)
    rows: Rows = [(0, 100_000)]
    for start in range(0, 99_000, 1_000):
        rows.append((start, 900))
        rows += [(start + int(o), int(d)) for o, d in random.integers(0, 300, (6, 2))]
    rows.append((int(random.integers(0, 90_000)), int(random.integers(0, 20_000))))
    rows = ordered(rows)
    small = module._SMALL
    try:
        module._SMALL = 256
        tree = build(rows)
    finally:
        module._SMALL = small
    ends, parents, _ = naive(rows)
    assert tree.end.tolist() == ends
    assert tree.parent.tolist() == parents


@pytest.mark.parametrize("rows", [[], [(5, 0)], [(5, 10)], [(5, 0), (5, 0)]])
def test_few_rows(rows: Rows) -> None:
    tree = build(rows)
    assert tree.parent.tolist() == [-1] * len(rows)
    assert tree.self_ns.tolist() == [d for _, d in rows]


def test_b10_a_frame_without_return_is_clamped_to_its_parent() -> None:
    tree = build([(0, 100), (10, 10_000), (20, 5)])
    assert tree.end.tolist() == [100, 100, 25]
    assert tree.self_ns.tolist() == [10, 85, 5]
    assert tree.clipped == 1
