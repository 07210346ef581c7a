"""Interval algebra against a naive bitmap."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from timesink.analyses import intervals as iv

SIZE = 40
Pairs = list[tuple[int, int]]
pairs = st.lists(
    st.tuples(st.integers(0, SIZE), st.integers(0, SIZE)).map(lambda p: (min(p), max(p))),
    max_size=12,
)


def arrays(given_pairs: Pairs) -> iv.Intervals:
    array = np.array(given_pairs, np.int64).reshape(-1, 2)
    return array[:, 0], array[:, 1]


def bitmap(given_pairs: Pairs) -> np.ndarray:
    bits = np.zeros(SIZE, bool)
    for a, b in given_pairs:
        bits[a:b] = True
    return bits


def bits_of(found: iv.Intervals) -> np.ndarray:
    """The bitmap of a set, after checking that it is sorted, disjoint, apart and not empty."""
    a, b = found
    assert a.dtype == b.dtype == np.int64
    assert (a < b).all()
    assert (a[1:] > b[:-1]).all()
    return bitmap(list(zip(a.tolist(), b.tolist(), strict=True)))


@given(pairs)
def test_union_is_the_bitmap(one: Pairs) -> None:
    found = iv.union(*arrays(one))
    assert (bits_of(found) == bitmap(one)).all()
    assert iv.measure(found) == bitmap(one).sum()


@given(pairs, pairs)
def test_intersect_and_subtract_are_the_bitmaps(one: Pairs, other: Pairs) -> None:
    a, b = iv.union(*arrays(one)), iv.union(*arrays(other))
    assert (bits_of(iv.intersect(a, b)) == (bitmap(one) & bitmap(other))).all()
    assert (bits_of(iv.subtract(a, b)) == (bitmap(one) & ~bitmap(other))).all()


@given(pairs, st.integers(0, SIZE), st.integers(0, SIZE))
def test_complement_is_the_bitmap(one: Pairs, x: int, y: int) -> None:
    low, high = min(x, y), max(x, y)
    window = bitmap([(low, high)])
    found = iv.complement(iv.union(*arrays(one)), low, high)
    assert (bits_of(found) == (window & ~bitmap(one))).all()


@given(pairs, pairs)
def test_covered_counts_the_bits_of_each_window(one: Pairs, windows: Pairs) -> None:
    found = iv.covered(iv.union(*arrays(one)), *arrays(windows))
    assert found.tolist() == [int(bitmap(one)[a:b].sum()) for a, b in windows]


@given(pairs, st.data())
def test_overlapping_finds_rows_that_start_too_early(one: Pairs, data: st.DataObject) -> None:
    streams = [data.draw(st.integers(0, 2)) for _ in one]
    starts, ends = arrays(one)
    stream = np.array(streams, np.int64)
    found = iv.overlapping(np.zeros_like(stream), stream, starts, ends)
    for s in set(streams):
        mine = sorted((a, i) for i, (a, _) in enumerate(one) if streams[i] == s)
        reach = -1
        for a, i in mine:
            assert found[i] == (a < reach and one[i][1] > a)
            reach = max(reach, one[i][1])


def test_b4_epoch_scale_times_stay_exact() -> None:
    start = 1_623_143_089_861_123_457
    found = iv.union(np.array([start, start + 5]), np.array([start + 7, start + 11]))
    assert iv.measure(found) == 11
    assert found[0].tolist() == [start]
