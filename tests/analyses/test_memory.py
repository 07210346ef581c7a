"""Allocator curves: peaks, deltas, totals that are not in the trace, thinning."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.analyses import tables as t
from timesink.analyses.memory import memory, memory_notes


def test_b16_no_rows_no_curve_rather_than_zero() -> None:
    built = t.tables(t.op("aten::mm", 0, 10))
    assert memory(built) == ()
    assert memory_notes(built) == ()


def test_b16_a_window_that_starts_with_frees() -> None:
    (curve,) = memory(t.tables(
        t.memory(10, -300, 700, 2000), t.memory(20, 100, 800, 2000), t.memory(30, -500, 300, 1000),
    ))  # fmt: skip
    assert (curve.device, curve.rows) == ("cpu", 3)
    assert curve.allocated == (700, 800, 300)
    assert (curve.peak_allocated, curve.peak_ns, curve.peak_reserved) == (800, 20, 2000)
    assert curve.window_delta == -700


def test_b16_without_totals_deltas_are_added_up_and_it_is_said() -> None:
    built = t.tables(t.memory(10, -300), t.memory(20, 500), t.memory(30, -100))
    (curve,) = memory(built)
    assert curve.allocated == (0, 500, 400)
    assert (curve.window_delta, set(curve.reserved)) == (100, {0})
    (note,) = memory_notes(built)
    assert (note.code, note.count) == ("memory-totals-absent", 3)
    assert "lower bound" in note.message


def test_missing_totals_between_given_ones_follow_the_deltas() -> None:
    built = t.tables(
        t.memory(1, 50), t.memory(2, 50, 600, 900), t.memory(3, -100), t.memory(4, 10, 510, 950)
    )
    (curve,) = memory(built)
    assert curve.allocated == (550, 600, 500, 510)
    assert curve.reserved == (900, 900, 900, 950)
    assert memory_notes(built) == ()


def test_devices_are_apart_and_accelerators_first() -> None:
    curves = memory(t.tables(
        t.memory(1, 5, 5), t.memory(2, 7, 7, device_type=1, device=1),
        t.memory(3, 8, 8, device_type=1, device=0), t.memory(4, 9, 9, device_type=99, device=0),
    ))  # fmt: skip
    assert [c.device for c in curves] == ["cuda:0", "cuda:1", "device type 99:0", "cpu"]


_deltas = st.lists(st.integers(-50, 50), min_size=1, max_size=300)


@given(_deltas, st.integers(4, 20))
def test_thinning_keeps_ends_and_peaks(deltas: list[int], points: int) -> None:
    level, rows = 10_000, []
    for i, delta in enumerate(deltas):
        level += delta
        rows.append(t.memory(i, delta, level, 20_000 - delta))
    built = t.tables(*rows)
    (whole,) = memory(built, points=1000)
    (thin,) = memory(built, points=points)
    assert len(thin.ts_ns) <= points + 3
    assert max(thin.allocated) == max(whole.allocated) == whole.peak_allocated
    assert max(thin.reserved) == thin.peak_reserved == whole.peak_reserved
    assert (thin.ts_ns[0], thin.ts_ns[-1]) == (0, len(deltas) - 1)
    assert (thin.window_delta, thin.rows) == (sum(deltas), len(deltas))
    assert set(zip(thin.ts_ns, thin.allocated, strict=True)) <= set(
        zip(whole.ts_ns, whole.allocated, strict=True)
    )
