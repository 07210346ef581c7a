"""Mending and salvaging: what is kept, what is said, and that neither time nor memory explodes."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from timesink.store.mend import object_end, repair_value, repaired
from timesink.store.notes import Notes
from timesink.store.read import read_trace
from timesink.store.repair import Salvaged, added, note, salvage


def event(name: str = "aten::mm", extra: str = "") -> bytes:
    args = f'{{"k": [1, {{"x": "]}}"}}]{extra}}}'
    times = '"ts": 1.5, "dur": 1, "cat": "cpu_op"'
    return f'{{\n  "ph": "X", "name": "{name}", {times}, "args": {args}}}'.encode()


GOOD = [event(f"aten::{c}") for c in "abc"]


def joined(*events: bytes) -> bytes:
    return b",\n".join(events)


def names(saved: Salvaged) -> list[str]:
    return [json.loads(e)["name"] for e in saved.events]


def codes(saved: Salvaged) -> dict[str, int]:
    return {n.code: n.count for n in saved.notes}


def test_what_msgspec_does_by_itself() -> None:
    """The facts that the module's docstring states; a new release may change them."""
    decode = msgspec.json.Decoder().decode
    assert decode(b'{"a": 1, "a": 2}') == {"a": 2}
    for bad in (b'"a\x01"', rb'"\q"', b'"\xff"', rb'"\ud83d"', b"nan", b"inf", b"1e999"):
        with pytest.raises((msgspec.DecodeError, UnicodeDecodeError)):
            decode(bad)


@pytest.mark.parametrize(
    ("bad", "code", "name"),
    [
        (event(r"C:\conda\_lib"), "illegal-escape", r"C:\conda\_lib"),
        (event("a\x01\x1fb"), "control-byte", "a\x01\x1fb"),
        (event("a\nb\tc"), "control-byte", "a\nb\tc"),
        (event("QQ").replace(b"QQ", b"\xf0A"), "bad-utf8", "\ufffdA"),
        (event(r"a\ud83d"), "lone-surrogate", "a\ufffd"),
        (event(r"\\ud83d \ud83d"), "lone-surrogate", "\\ud83d \ufffd"),
        (event("nan inf None", ', "v": nan'), "not-a-number", "nan inf None"),
        (event(r"\" nan", ', "v": -inf'), "not-a-number", '" nan'),
        (event().replace(b', "name"', b', name"'), "missing-quote", "aten::mm"),
    ],
)
def test_each_defect_is_mended_and_named(bad: bytes, code: str, name: str) -> None:
    saved = salvage(joined(GOOD[0], bad, *GOOD[1:]))
    assert names(saved) == ["aten::a", name, "aten::b", "aten::c"]
    assert set(codes(saved)) == {code}
    assert saved.lost == 0


@pytest.mark.parametrize(
    "token",
    ["inf", "-inf", "+inf", "Infinity", "-Infinity", "nan", "NaN", "-nan", "nan(snan)",
     "-nan(ind)", "1.#INF", "-1.#IND", "1.#QNAN", "None", "1e999", "-1e400"],
)  # fmt: skip
def test_every_spelling_of_no_number_is_missing(token: str) -> None:
    saved = salvage(event("x", f', "v": {token}'))
    assert json.loads(saved.events[0])["args"]["v"] is None
    assert codes(saved) == {"not-a-number": 1}


@pytest.mark.parametrize(("token", "value"), [("True", True), ("False", False)])
def test_literals_of_python(token: str, value: bool) -> None:
    assert json.loads(salvage(event("x", f', "v": {token}')).events[0])["args"]["v"] is value


def test_several_defects_in_one_event() -> None:
    bad = event("C:\\_x \x02 Q", ', "v": nan').replace(b"Q", b"\xff")
    saved = salvage(joined(bad, *GOOD))
    assert names(saved)[0] == "C:\\_x \x02 \ufffd"
    assert set(codes(saved)) == {"illegal-escape", "control-byte", "bad-utf8", "not-a-number"}


def test_the_place_of_a_lost_event_is_absolute() -> None:
    bad = event('{"key": "value"}.py')
    chunk = joined(GOOD[0], bad, *GOOD[1:])
    saved = salvage(chunk, 5000)
    assert names(saved) == ["aten::a", "aten::b", "aten::c"]
    assert saved.lost == 1
    at = 5000 + chunk.index(bad)
    assert [n.message for n in saved.notes] == [f"1 event unreadable at byte {at}"]


def test_an_event_with_another_first_key_is_not_lost() -> None:
    other = b'{"name": "other", "ph": "X", "ts": 3}'
    for chunk in (joined(event(r"\q"), other, *GOOD), joined(other, *GOOD, event(r"\q"), other)):
        assert names(salvage(chunk)).count("other") == chunk.count(other)
    damaged = joined(event("a\x01"), other.replace(b"other", b"o\x02"), *GOOD)
    assert names(salvage(damaged))[1] == "o\x02"


def test_nested_objects_that_begin_like_events() -> None:
    nested = b'{"name": "m", "ph": "M", "args": {"name": "python"}}'
    saved = salvage(joined(nested, event("x").replace(b'"ph"', b'"name": "\x01", "ph"'), nested),
                    key=b"name")  # fmt: skip
    assert [json.loads(e).get("args", {}).get("name") for e in saved.events][::2] == ["python"] * 2
    assert saved.lost == 0


def test_bytes_between_events_are_counted() -> None:
    saved = salvage(joined(GOOD[0], b"garbage", *GOOD[1:]) + b", " + event(r"\q"))
    assert len(saved.events) == 4
    assert codes(saved)["stray-bytes"] >= len("garbage")


TAIL = b',\n "traceName": "C:\\\\t.json"\n}\n'


@pytest.mark.parametrize("last", [event(r"\q"), event('a "b" c'), event('a " b')])
def test_the_end_of_the_list_is_found_behind_any_last_event(last: bytes) -> None:
    saved = salvage(joined(*GOOD, last) + b"\n]" + TAIL)
    assert names(saved)[:3] == ["aten::a", "aten::b", "aten::c"]
    assert saved.ended
    assert saved.rest == TAIL
    assert "truncated" not in codes(saved)


def test_an_unpaired_quote_at_the_end_of_a_chunk_is_no_truncation() -> None:
    saved = salvage(joined(*GOOD, event('a " b')))
    assert codes(saved) == {"unreadable-event": 1}
    assert not saved.ended


def test_a_cut_event_is_a_truncation() -> None:
    whole = joined(*GOOD)
    saved = salvage(whole[: whole.rindex(b"aten::c") + 4])
    assert names(saved) == ["aten::a", "aten::b"]
    assert set(codes(saved)) == {"truncated"}


def test_a_stray_bracket_between_events_ends_nothing() -> None:
    saved = salvage(GOOD[0] + b"],\n" + joined(event(r"\q"), *GOOD[1:]))
    assert len(saved.events) == 4
    assert not saved.ended


def test_a_second_document_in_the_middle() -> None:
    second = b'{"schemaVersion": 1, "traceEvents": [' + joined(event("d"), event("e"))
    saved = salvage(joined(*GOOD[:2]) + b"\n]}" + second + b"," + GOOD[2])
    assert names(saved) == ["aten::a", "aten::b", "d", "e", "aten::c"]
    assert codes(saved) == {"several-writers": 1}


def test_notes_add_up_in_words_too() -> None:
    notes = Notes()
    for at in (70, 900, 3):
        notes.merge(note("unreadable-event", 1, at))
    notes.merge(note("illegal-escape", 1, 5))
    first, second = notes.result()
    assert first.message == "3 events unreadable, the first at byte 70"
    assert first.count == 3
    assert second.message.startswith("1 illegal escape repaired")
    assert added(second, 1).message.startswith("2 illegal escapes repaired")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (rb'"C:\Users\me\_logs"', r"C:\Users\me\_logs".replace(r"\b", "\b")),
        (b'"plain"', "plain"),
        (b'{"a": nan}', {"a": None}),
        (b'"Q\xff"', "Q\ufffd"),
    ],
)
def test_repair_of_a_value(text: bytes, value: Any) -> None:
    fixed = repair_value(text)
    assert fixed is not None
    assert json.loads(fixed) == value


@pytest.mark.parametrize("text", [b"", b"{", b'"', b"[1,", b"x y"])
def test_values_beyond_repair(text: bytes) -> None:
    assert repair_value(text) is None


def test_a_huge_string_takes_memory_in_proportion() -> None:
    long = "z" * 4_000_000
    chunk = joined(GOOD[0], event(long + r"\q"), event(long + "\x01"), GOOD[1])
    tracemalloc.start()
    saved = salvage(chunk)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(saved.events) == 4
    assert peak < 12 * len(chunk)


@pytest.mark.parametrize(
    "hostile",
    [b'{"ph": "' + b'\\"{' * 200_000, b'{"ph": ' + b'"' * 200_001, b'{"ph": ' + b"[" * 200_000,
     b'{"ph": "' + b"\\" * 400_001, b'{"ph": "' + b", a" * 200_000],
    ids=["escaped quotes", "quotes", "brackets", "backslashes", "keys"],
)  # fmt: skip
def test_hostile_text_takes_time_in_proportion(hostile: bytes) -> None:
    """Anything worse than linear would take minutes here."""
    saved = salvage(joined(GOOD[0], hostile))
    assert names(saved) == ["aten::a"]
    assert saved.lost == 1


safe = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=12)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | safe,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(safe, inner, max_size=3),
    max_leaves=6,
)
whole_events = st.builds(lambda n, a: {"ph": "X", "name": n, "args": a}, safe, json_values)


def texts(items: list[dict[str, Any]]) -> list[bytes]:
    return [json.dumps(i, ensure_ascii=False).encode() for i in items]


@settings(deadline=None, max_examples=200)
@given(
    st.lists(whole_events, min_size=2, max_size=6), whole_events,
    st.lists(whole_events, min_size=2, max_size=6), st.data(),
)  # fmt: skip
def test_one_corruption_costs_its_event_and_at_most_a_neighbour(
    before: list[dict[str, Any]],
    victim: dict[str, Any],
    after: list[dict[str, Any]],
    data: st.DataObject,
) -> None:
    good = texts([victim])[0]
    at = data.draw(st.integers(0, len(good) - 1))
    byte = bytes([data.draw(st.integers(0, 255))])
    kind = data.draw(st.sampled_from(["flip", "insert", "delete"]))
    bad = good[:at] + (b"" if kind == "delete" else byte) + good[at + (kind != "insert") :]
    saved = salvage(joined(*texts(before), bad, *texts(after)))
    kept = [json.loads(e) for e in saved.events]
    assert kept[: len(before) - 1] == before[:-1]
    if saved.ended:  # a bracket taken for the list's end: then the rest is handed back
        assert texts(after)[-1] in saved.rest
    else:
        assert kept[len(kept) - len(after) + 1 :] == after[1:]
    whole = [*before, victim, *after]
    assert saved.notes or len(kept) >= len(whole) or kept != whole, "nothing is lost in silence"


@given(st.binary(max_size=300))
def test_no_bytes_raise(data: bytes) -> None:
    for text in (data, joined(GOOD[0], data, GOOD[1])):
        saved = salvage(text)
        assert all(isinstance(json.loads(e), dict) for e in saved.events)
    repaired(data)
    repair_value(data)
    assert -1 <= object_end(data, 0) <= len(data)


@given(json_values)
def test_the_end_of_any_value_is_found(value: Any) -> None:
    text = json.dumps([value]).encode()
    assert object_end(text + b', "x": [1]}', 0) == len(text)


def test_an_unreadable_last_event_leaves_the_tail_readable(tmp_path: Path) -> None:
    body = b'{"schemaVersion": 1, "traceEvents": [' + joined(*GOOD, event('a " b'))
    path = tmp_path / "t.json"
    path.write_bytes(body + b'\n], "baseTimeNanoseconds": 1700000000000000000\n}')
    trace = read_trace(path, cache=False)
    assert trace.info.base_ns == 1700000000000000000
    assert not trace.info.truncated
    assert [n.code for n in trace.quality] == ["unreadable-event"]
