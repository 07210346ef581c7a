"""Busy, idle and sums of a device, on small inputs and on two real traces."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.analyses import tables as t
from tests.realdata import real_trace
from timesink.analyses.breakdown import breakdown
from timesink.analyses.prepare import prepare
from timesink.analyses.usage import usage
from timesink.model.owners import Owner
from timesink.model.results import DeviceUsage

times = st.tuples(st.integers(1, 60), st.integers(0, 25))
device_rows = st.lists(
    st.one_of(
        times.map(lambda r: t.kernel("gemm", *r)),
        times.map(lambda r: t.kernel("ncclDevKernel_AllReduce", *r, stream=9)),
        times.map(lambda r: t.memcpy("Memcpy HtoD (Pinned -> Device)", *r, stream=0)),
        times.map(lambda r: t.memset(*r)),
    ),
    min_size=1,
    max_size=12,
)


@given(device_rows)
def test_usage_is_that_of_a_naive_array(rows: list[t.Row]) -> None:
    (found,) = usage(t.prepared(*rows))

    def covered(*names: str) -> set[int]:
        mine = [r for r in rows if r["name"].startswith(names)]
        return {at for r in mine for at in range(r["ts"], r["ts"] + r["dur"])}

    compute, transfer, move = covered("gemm"), covered("nccl"), covered("Mem")
    start = min(r["ts"] for r in rows)
    end = max(r["ts"] + r["dur"] for r in rows)
    busy = len(compute | transfer | move)
    overlaps = found.overlaps
    assert found == DeviceUsage(
        device=0,
        rows=len(rows),
        streams=len({r["stream"] for r in rows}),
        span_ns=end - start,
        busy_ns=busy,
        idle_ns=end - start - busy,
        sum_ns=sum(r["dur"] for r in rows),
        compute_ns=len(compute),
        communication_ns=len(transfer),
        copy_ns=len(move),
        exposed_communication_ns=len(transfer - compute),
        exposed_copy_ns=len(move - compute - transfer),
        overlaps=overlaps,
    )
    assert found.sum_ns > found.busy_ns or not overlaps


def test_each_device_for_itself() -> None:
    p = t.prepared(
        t.kernel("a", 0, 10), t.kernel("b", 50, 10, device=2), t.kernel("c", 20, 10),
        t.kernel("d", 5, 10, device=2, stream=0),
    )  # fmt: skip
    found = usage(p)
    assert [(u.device, u.span_ns, u.busy_ns, u.idle_ns) for u in found] == [
        (0, 30, 20, 10), (2, 55, 20, 35),
    ]  # fmt: skip


@pytest.mark.parametrize("bug", ["b5", "b6", "b7", "b8"])
def test_b5_b6_b7_b8_overlaps_on_one_stream_keep_both_and_are_said(bug: str) -> None:
    """B5 a duration far beyond the next start, B6 one start twice, B7 and B8 a slight overlap."""
    second = {"b5": (10, 5), "b6": (0, 30), "b7": (95, 30), "b8": (99, 30)}[bug]
    p = t.prepared(t.kernel("a", 0, 100), t.kernel("b", *second))
    (found,) = usage(p)
    assert found.rows == 2
    assert found.overlaps == 1
    assert found.sum_ns == 100 + second[1]
    assert found.busy_ns == max(100, sum(second)) < found.sum_ns
    (note,) = [n for n in p.notes if n.code == "overlapping-rows"]
    assert note.count == 1
    assert note.severity == "info"


def test_streams_beside_each_other_are_no_overlap() -> None:
    p = t.prepared(t.kernel("a", 0, 100), t.kernel("b", 10, 100, stream=0))
    assert usage(p)[0].overlaps == 0
    assert "overlapping-rows" not in {n.code for n in p.notes}


def test_no_device_rows_no_usage() -> None:
    assert usage(t.prepared(t.op("aten::mm", 0, 10))) == ()


@pytest.mark.real
def test_df_index_resolver_to_the_nanosecond() -> None:
    read = pytest.importorskip("timesink.store.read")
    path = real_trace("hta/df_index_resolver/df_index_resolver.json.gz")
    trace = read.read_trace(path, cache=False)
    (found,) = usage(prepare(trace.tables, trace.info))
    assert (found.span_ns, found.idle_ns) == (1_732_965_000, 732_352_000)


@pytest.mark.real
def test_nccl_data_against_rows_summed_independently() -> None:
    read = pytest.importorskip("timesink.store.read")
    path = real_trace("hta/nccl_parser_config/nccl_data.json.gz")
    trace = read.read_trace(path, cache=False)
    p = prepare(trace.tables, trace.info)
    (found,) = usage(p)
    rows = sorted(zip(p.device["ts"].to_list(), p.device["dur"].to_list(), strict=True))
    busy, reach = 0, 0
    for ts, dur in rows:
        busy += max(ts + dur - max(ts, reach), 0)
        reach = max(reach, ts + dur)
    assert found.busy_ns == busy
    assert round(busy / 1e6, 3) == 157.500
    owned = breakdown(p)
    device = sum(
        s.of(o)
        for s in owned.steps
        for o in (Owner.DEVICE_COMPUTE, Owner.EXPOSED_COMMUNICATION, Owner.EXPOSED_COPIES)
    )
    assert device <= busy
