"""Chunks of events to columns: exact times, unexpected types, damage, chunk boundaries."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from timesink.store.decode import decode
from timesink.store.work import pack, unpack, work


def text(*events: Any) -> bytes:
    return b",".join(e if isinstance(e, bytes) else json.dumps(e).encode() for e in events)


def row(ts: str, dur: str = "1", more: str = "") -> bytes:
    return (
        f'{{"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 2, "ts": {ts}, '
        f'"dur": {dur}{more}}}'
    ).encode()


@pytest.mark.parametrize(
    ("ts", "ns"),
    [
        ("0", 0),
        ("0.001", 1),
        ("1669783687464181", 1669783687464181000),
        ("4458676522690.655", 4458676522690655),  # between 2^42 and 2^43: ts * 1000 ties
        ("1669783687464181.123", 1669783687464181123),  # beyond float64
        ('"1704161511424160.441"', 1704161511424160441),  # Ascend: text
        ("-3.5", -3500),
        ("1e3", 1_000_000),
    ],
)
def test_times_are_exact(ts: str, ns: int) -> None:
    assert decode(row(ts)).tables["events"]["ts"].tolist() == [ns]


@given(st.lists(st.integers(0, 2**63 // 10**3 - 1), min_size=1, max_size=20), st.booleans())
@settings(max_examples=200, deadline=None)
def test_three_decimals_survive_at_any_magnitude(nanoseconds: list[int], quoted: bool) -> None:
    spelt = [f"{ns // 1000}.{ns % 1000:03}" for ns in nanoseconds]
    rows = [row(f'"{s}"' if quoted else s) for s in spelt]
    got = decode(text(*rows)).tables["events"]["ts"].tolist()
    assert got == [int(Decimal(s) * 1000) for s in spelt] == nanoseconds


@pytest.mark.parametrize("ts", ["9223372036854775", "-9223372036854775808", "1e308", '"5e15"'])
def test_times_whose_ends_would_overflow_are_none(ts: str) -> None:
    columns = decode(text(row("1", ts), row(ts, "1"), row("1")))
    assert columns.tables["events"]["ord"].tolist() == [2]
    assert columns.counts["unfinished"] == 2


def test_unfinished_rows_are_counted_and_left_out() -> None:
    columns = decode(text(row("1", "-1"), row("2", "null"), row("3", "0"), row("null")))
    assert columns.tables["events"]["ord"].tolist() == [2]
    assert columns.counts["unfinished"] == 3
    assert columns.elements == 4


def test_values_of_unexpected_type_are_unknown() -> None:
    event = {
        "ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 1, "dur": 1,
        "args": {"stream": "main", "device": None, "correlation": 2.5, "bytes": [1],
                 "External id": "12", "Sequence number": {}},
    }  # fmt: skip
    events = decode(text(event)).tables["events"]
    found = {k: events[k].tolist() for k in ("stream", "device", "corr", "bytes", "ext", "seq")}
    assert found == {
        "stream": [-1], "device": [-1], "corr": [-1], "bytes": [-1], "ext": [12], "seq": [-1],
    }  # fmt: skip


@pytest.mark.parametrize("odd", [b"1", b'"x"', b"[]", b"null", b'{"ph": ["X"]}', b'{"args": 3}'])
def test_odd_elements_keep_their_place(odd: bytes) -> None:
    columns = work(text(row("1"), odd, row("2")), 0, b"ph")
    assert columns.tables["events"]["ord"].tolist() == [0, 2]
    assert columns.tables["events"]["ts"].tolist() == [1000, 2000]


def test_shapes_are_interned_as_compact_json() -> None:
    spaced, tight = ', "args": {"Input Dims": [[2, 3], []]}', ', "args": {"Input Dims":[[2,3],[]]}'
    columns = decode(text(row("1", "1", spaced), row("2", "1", tight), row("3")))
    shapes = columns.tables["events"]["shape"]
    assert shapes[0] == shapes[1] != shapes[2] == 0
    assert columns.strings[shapes[0]] == "[[2,3],[]]"


def test_external_id_of_2021_is_spelt_in_lower_case() -> None:
    event = {"ph": "X", "cat": "Kernel", "name": "k", "ts": 1, "dur": 1,
             "args": {"external id": 5, "correlation": 9}}  # fmt: skip
    assert decode(text(event)).tables["events"]["ext"].tolist() == [5]


def test_memory_rows_and_addresses_beyond_int64() -> None:
    event = {
        "ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "pid": 1, "tid": 2,
        "ts": 1.5, "args": {"Addr": 2**64 - 16, "Bytes": -64, "Device Type": 0, "Device Id": -1,
                            "Total Allocated": 128, "Total Reserved": 0},
    }  # fmt: skip
    memory = decode(text(event)).tables["memory"]
    assert memory["addr"].tolist() == [2**64 - 16]
    assert memory["bytes"].tolist() == [-64]
    assert memory["allocated"].tolist() == [128]
    assert memory["reserved"].tolist() == [0]


def test_counters_are_one_row_per_series() -> None:
    event = {"ph": "C", "name": "queue", "pid": 1, "ts": 2, "args": {"a": 1, "b": 2.5, "c": "x"}}
    columns = decode(text(row("1"), event))
    counters = columns.tables["counters"]
    assert [columns.strings[c] for c in counters["series"]] == ["a", "b"]
    assert counters["value"].tolist() == [1.0, 2.5]


def test_flow_ids_beyond_float_are_whole() -> None:
    flow = {"ph": "s", "id": 2**53 + 1, "cat": "ac2g", "name": "ac2g", "pid": 1, "tid": 2, "ts": 1}
    assert decode(text(flow)).tables["flows"]["id"].tolist() == [2**53 + 1]


def test_duplicate_keys_last_wins_and_is_counted() -> None:
    columns = work(row("1", "5", ', "dur": 7'), 0, b"ph")
    assert columns.tables["events"]["dur"].tolist() == [7000]
    assert [(n.code, n.count) for n in columns.notes] == [("duplicate-key", 1)]


def test_damage_costs_only_its_own_event() -> None:
    broken = b'{"ph": "X", "cat": "cpu_op", "name": "a "quoted" b", "ts": 2, "dur": 1}'
    columns = work(text(row("1"), broken, row("3")), 1000, b"ph")
    assert columns.tables["events"]["ts"].tolist() == [1000, 3000]
    assert "unreadable-event" in [n.code for n in columns.notes]


values = st.one_of(
    st.integers(-(2**70), 2**70), st.floats(allow_nan=False, allow_infinity=False), st.text(),
    st.none(), st.booleans(), st.lists(st.integers(), max_size=2),
)  # fmt: skip
keys = st.sampled_from(
    ["ph", "cat", "name", "pid", "tid", "ts", "dur", "id", "External id", "correlation", "stream"]
)


@given(
    st.lists(st.dictionaries(keys, values, max_size=6), max_size=6), st.sampled_from("XBEisfMCn")
)
@settings(max_examples=300, deadline=None)
def test_valid_json_of_any_types_never_fails(events: list[dict[str, Any]], phase: str) -> None:
    """And survives the pipe to a worker unchanged."""
    shaped = [{"ph": phase, **e, "args": dict(e)} for e in events]
    columns = work(text(*shaped), 0, b"ph")
    assert columns.elements == len(events)
    again = unpack(pack(columns))
    assert (again.strings, again.tracks) == (columns.strings, columns.tracks)
    for name, table in columns.tables.items():
        for column, array in table.items():
            np.testing.assert_array_equal(array, again.tables[name][column])
