"""Salvaging: a defect costs at most the event it is in (and a neighbour it swallowed)."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from timesink.store.inflate import open_stream
from timesink.store.repair import object_end, repair_value, salvage

names = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=12)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | names,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=5,
)
events = st.lists(
    st.builds(lambda n, a: {"ph": "X", "name": n, "args": a}, names, values), min_size=1, max_size=8
)


def texts(items: list[dict[str, object]]) -> list[bytes]:
    return [json.dumps(i, ensure_ascii=False).encode() for i in items]


@given(events)
def test_whole_events_are_kept_as_they_are(items: list[dict[str, object]]) -> None:
    saved = salvage(b",\n".join(texts(items)))
    assert [json.loads(e) for e in saved.events] == items
    assert saved.lost == 0
    assert saved.notes == ()


@given(events, events, st.data())
def test_one_damaged_byte_costs_at_most_two_events(
    before: list[dict[str, object]], after: list[dict[str, object]], data: st.DataObject
) -> None:
    victim = json.dumps({"ph": "X", "name": "victim", "args": {"k": ["v", 1]}}).encode()
    at = data.draw(st.integers(0, len(victim) - 1))
    byte = bytes([data.draw(st.integers(0, 255))])
    damage = data.draw(st.sampled_from(["flip", "insert", "delete"]))
    rest = victim[at + 1 :] if damage != "insert" else victim[at:]
    damaged = victim[:at] + (b"" if damage == "delete" else byte) + rest
    saved = salvage(b",\n".join([*texts(before), damaged, *texts(after)]))
    kept = [json.loads(e) for e in saved.events]
    if not saved.ended:  # a stray "]" may end the list: then the rest is handed back
        assert len(kept) >= len(before) + len(after) - 1
    assert all(isinstance(e, dict) for e in kept)
    assert [e for e in kept if e in before][: len(before) - 1] == before[: len(before) - 1]


@given(st.binary(max_size=300))
def test_any_bytes_at_all_never_raise(data: bytes) -> None:
    salvage(data)
    repair_value(data)
    object_end(data, 0)


@given(st.lists(st.binary(max_size=2000), min_size=1, max_size=5), st.integers(1, 700))
def test_concatenated_members_inflate_to_their_sum(parts: list[bytes], size: int) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t"
        path.write_bytes(b"".join(gzip.compress(p) for p in parts))
        stream = open_stream(path)
        out = bytearray()
        if any(parts):
            while block := stream.read(size):
                out += block
            assert bytes(out) == b"".join(parts)
            assert stream.notes == []
        stream.close()
