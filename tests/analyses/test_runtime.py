"""Runtime calls by caller, and the idle device time charged to synchronising calls."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.analyses import tables as t
from timesink.analyses.runtime import runtime


def test_rows_by_call_operator_and_line() -> None:
    found = runtime(t.prepared(
        t.python("train.py(3): step", 0, 100), t.op("aten::mm", 10, 50), t.launch(20, 5, corr=1),
        t.launch(30, 7, corr=2), t.runtime("cudaMalloc", 200, 9), t.runtime("cudaFree", 300, 2),
        t.runtime("hipMemcpyAsync", 400, 1), t.runtime("cudaGraphLaunch", 500, 1),
    ))  # fmt: skip
    assert [(r.name, r.kind, r.op, r.calls, r.total_ns, r.max_ns, r.line) for r in found] == [
        ("cudaLaunchKernel", "launch", "aten::mm", 2, 12, 7, "train.py(3): step"),
        ("cudaMalloc", "alloc", "", 1, 9, 9, ""),
        ("cudaFree", "free", "", 1, 2, 2, ""),
        ("cudaGraphLaunch", "graph launch", "", 1, 1, 1, ""),
        ("hipMemcpyAsync", "copy", "", 1, 1, 1, ""),
    ]


def test_a_sync_is_charged_until_the_next_device_row_begins() -> None:
    found = runtime(t.prepared(
        t.launch(0, 5, corr=1), t.kernel("a", 10, 90, corr=1),
        t.runtime("cudaStreamSynchronize", 20, 85), t.launch(130, 5, corr=2),
        t.kernel("b", 150, 10, corr=2),
    ))  # fmt: skip
    assert {r.name: r.idle_ns for r in found} == {
        "cudaStreamSynchronize": 50,
        "cudaLaunchKernel": 0,
    }


def test_without_device_rows_nothing_is_charged() -> None:
    (row,) = runtime(t.prepared(t.runtime("cudaDeviceSynchronize", 20, 85)))
    assert row.idle_ns == 0


_span = st.tuples(st.integers(1, 60), st.integers(0, 15))


@given(st.lists(_span, min_size=1, max_size=6), st.lists(_span, min_size=1, max_size=6))
def test_no_idle_ns_is_charged_twice_and_none_while_the_device_works(
    work: list[tuple[int, int]], waits: list[tuple[int, int]]
) -> None:
    found = runtime(t.prepared(
        *(t.kernel("k", ts, dur) for ts, dur in work),
        *(t.runtime("cudaStreamSynchronize", ts, dur, tid=str(i))
          for i, (ts, dur) in enumerate(waits)),
    ))  # fmt: skip
    charged: set[int] = set()
    for ts, dur in waits:
        later = [begin for begin, _ in work if begin >= ts + dur]
        charged |= set(range(ts, min(later, default=ts + dur)))
    charged -= {ns for ts, dur in work for ns in range(ts, ts + dur)}
    assert sum(r.idle_ns for r in found) == len(charged)


def test_first_step_is_left_out_unless_all_steps_are_asked_for() -> None:
    prepared = t.prepared(
        t.step(0, 0, 100), t.launch(10, 5, corr=1), t.step(1, 100, 100), t.launch(110, 7, corr=2)
    )
    assert [r.total_ns for r in runtime(prepared)] == [7]
    assert [r.total_ns for r in runtime(prepared, all_steps=True)] == [12]
