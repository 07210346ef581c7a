"""The copy table: routes from every vendor's spelling, exposure against a naive count of ns."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.analyses import tables as t
from timesink.analyses.copies import Route, copies, route


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Memcpy HtoD (Pageable -> Device)", Route("HtoD", "Pageable", "Device")),
        ("Memcpy DtoH (Device -> Pinned)", Route("DtoH", "Device", "Pinned")),
        ("Memcpy DtoD (Device -> Device)", Route("DtoD", "Device", "Device")),
        ("Memcpy PtoP (Device -> Device)", Route("PtoP", "Device", "Device")),
        ("Memcpy HtoD (Host -> Device)", Route("HtoD", "Host", "Device")),
        ("Memcpy HtoD", Route("HtoD")),
        ("CopyHostToDevice", Route("HtoD")),
        ("CopyDeviceToHost", Route("DtoH")),
        ("CopyDeviceToDevice", Route("DtoD")),
        ("Memcpy (Pinned -> Device)", Route("HtoD", "Pinned", "Device")),
        ("hipMemcpyAsync", Route("copy")),
        ("MEMCPY_ASYNC", Route("copy")),
        ("Memset (Device)", Route("memset", "", "Device")),
        ("Memset (Unknown)", Route("memset", "", "Unknown")),
        ("FillBuffer", Route("memset")),
        ("", Route("copy")),
    ],
)
def test_route_of_a_name(name: str, expected: Route) -> None:
    assert route(name) == expected


def test_rows_by_route_with_bytes_and_pinning() -> None:
    found = copies(t.prepared(
        t.memcpy("Memcpy HtoD (Pageable -> Device)", 0, 50, bytes=100),
        t.memcpy("Memcpy HtoD (Pageable -> Device)", 60, 20, bytes=28),
        t.memcpy("Memcpy HtoD (Pinned -> Device)", 100, 10), t.memset(200, 5, bytes=8),
    ))  # fmt: skip
    assert [(r.kind, r.source, r.calls, r.total_ns, r.bytes, r.max_ns) for r in found] == [
        ("HtoD", "Pageable", 2, 70, 128, 50), ("HtoD", "Pinned", 1, 10, 0, 10),
        ("memset", "", 1, 5, 8, 5),
    ]  # fmt: skip
    assert [r.pinned for r in found] == [False, True, None]


def test_a_copy_on_the_stream_of_compute_is_told_from_one_on_its_own() -> None:
    found = copies(t.prepared(
        t.kernel("gemm", 0, 10, stream=7), t.kernel("ncclDevKernel_AllGather", 0, 10, stream=20),
        t.memcpy("Memcpy HtoD (Pageable -> Device)", 20, 9, stream=7),
        t.memcpy("Memcpy HtoD (Pinned -> Device)", 20, 8, stream=8),
        t.memcpy("Memcpy DtoD (Device -> Device)", 20, 7, stream=20),
    ))  # fmt: skip
    assert [r.on_compute_stream for r in found] == [True, False, False]


_interval = st.tuples(st.integers(1, 40), st.integers(0, 12), st.integers(0, 1))


@given(st.lists(_interval, max_size=8), st.lists(_interval, min_size=1, max_size=8))
def test_exposed_is_the_time_no_kernel_of_the_device_runs(
    busy: list[tuple[int, int, int]], moved: list[tuple[int, int, int]]
) -> None:
    (row,) = copies(t.prepared(
        *(t.kernel("gemm", ts, dur, device=d) for ts, dur, d in busy),
        *(t.memcpy("Memcpy DtoH", ts, dur, device=d, stream=9) for ts, dur, d in moved),
    )) or (None,)  # fmt: skip
    expected = 0
    for device in (0, 1):
        copied = {ns for ts, dur, d in moved if d == device for ns in range(ts, ts + dur)}
        expected += len(copied - {ns for ts, dur, d in busy if d == device
                                  for ns in range(ts, ts + dur)})  # fmt: skip
    assert row is not None
    assert row.exposed_ns == expected
    assert row.total_ns == sum(dur for _, dur, _ in moved)


def test_no_copies_no_rows() -> None:
    assert copies(t.prepared(t.kernel("gemm", 0, 10))) == ()
    assert copies(t.prepared()) == ()
