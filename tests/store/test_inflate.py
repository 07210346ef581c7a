"""Compressed bytes as they are really written: members, padding, damage, several writers."""

from __future__ import annotations

import gzip
import random
import zlib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from timesink.errors import EmptyTrace, UnreadableFile
from timesink.store import inflate
from timesink.store.inflate import Stream, open_stream


def text(seed: int, lines: int = 20_000) -> bytes:
    """Lines that compress like a trace does."""
    draw = random.Random(seed)
    return b"".join(b'{"ph": "X", "ts": %d}\n' % draw.randrange(10**9) for _ in range(lines))


def inflated(path: Path, size: int = 1 << 16) -> tuple[bytes, Stream]:
    stream = open_stream(path)
    out = bytearray()
    while block := stream.read(size):
        out += block
    stream.close()
    return bytes(out), stream


def write(tmp_path: Path, data: bytes, name: str = "t.json.gz") -> Path:
    path = tmp_path / name
    path.write_bytes(data)
    return path


@pytest.fixture(params=["isal", "zlib"])
def _library(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both libraries must give the same answers."""
    if request.param == "isal":
        pytest.importorskip("isal")
    else:
        monkeypatch.setattr(inflate, "_zlib", zlib)


pytestmark = pytest.mark.usefixtures("_library")


@pytest.mark.parametrize("name", ["t.json", "t.json.gz"])
@pytest.mark.parametrize("packed", [False, True])
def test_compression_is_told_by_the_bytes_not_the_name(
    tmp_path: Path, name: str, packed: bool
) -> None:
    content = text(1, 100)
    path = write(tmp_path, gzip.compress(content) if packed else content, name)
    out, stream = inflated(path)
    assert out == content
    assert stream.compressed is packed
    assert stream.compressed_read == stream.size == path.stat().st_size
    assert stream.notes == []


@pytest.mark.parametrize("zeros", [1, 511, 3 << 20])
def test_zero_padding_after_and_between_members_is_legal(tmp_path: Path, zeros: int) -> None:
    one, two = text(1, 50), text(2, 50)
    padding = bytes(zeros)
    path = write(tmp_path, gzip.compress(one) + padding + gzip.compress(two) + padding)
    out, stream = inflated(path)
    assert out == one + two
    assert stream.notes == []


def test_bytes_after_the_last_member_are_named(tmp_path: Path) -> None:
    content = text(1, 50)
    out, stream = inflated(write(tmp_path, gzip.compress(content) + b"and some text"))
    assert out == content
    assert [n.code for n in stream.notes] == ["gzip-garbage"]
    assert stream.compressed_read == stream.size


def test_a_member_behind_much_garbage_is_found(tmp_path: Path) -> None:
    one, two = text(1, 50), text(2, 50)
    garbage = b"x" * (5 << 19)  # longer than one block of reading
    out, stream = inflated(write(tmp_path, gzip.compress(one) + garbage + gzip.compress(two)))
    assert out == one + two
    assert [n.code for n in stream.notes] == ["gzip-garbage"]


@pytest.mark.parametrize("size", [1 << 10, 1 << 22])
def test_a_truncated_member_gives_what_it_has(tmp_path: Path, size: int) -> None:
    content = text(1)
    data = gzip.compress(content)
    out, stream = inflated(write(tmp_path, data[: len(data) * 2 // 3]), size)
    assert len(out) > len(content) // 2
    assert content.startswith(out)
    assert [n.code for n in stream.notes] == ["truncated"]


@pytest.mark.parametrize("size", [1 << 10, 1 << 22])
def test_all_but_the_defect_is_kept(tmp_path: Path, size: int) -> None:
    """Also when one call would have given everything up to the defect at once."""
    content = text(1)
    data = bytearray(gzip.compress(content))
    middle = len(data) // 2
    data[middle : middle + 40] = b"\xff" * 40
    out, stream = inflated(write(tmp_path, bytes(data)), size)
    good = next((i for i, (a, b) in enumerate(zip(out, content, strict=False)) if a != b), len(out))
    assert good > len(content) * 0.45
    assert len(out) - good < 1 << 16, "a failing inflater gives at most a little nonsense"
    assert [n.code for n in stream.notes] == ["gzip-broken"]


@pytest.mark.parametrize("size", [1 << 10, 1 << 22])
def test_a_wrong_checksum_loses_nothing(tmp_path: Path, size: int) -> None:
    one, two = text(1), text(2)
    first = bytearray(gzip.compress(one))
    first[-8] ^= 0xFF
    out, stream = inflated(write(tmp_path, bytes(first) + gzip.compress(two)), size)
    assert out == one + two
    assert [n.code for n in stream.notes] == ["gzip-broken"]


def test_after_a_broken_member_the_next_ones_are_read(tmp_path: Path) -> None:
    """The next header may be further away than one block of reading."""
    draw = random.Random(3)
    broken = bytearray(gzip.compress(draw.randbytes(3 << 20)))
    broken[1000:1040] = b"\xff" * 40
    rest = [text(n, 500) for n in range(3)]
    data = bytes(broken) + b"".join(gzip.compress(r) for r in rest)
    out, stream = inflated(write(tmp_path, data))
    assert out.endswith(b"".join(rest))
    assert [n.code for n in stream.notes] == ["gzip-broken"]


def test_a12_headers_of_several_writers_inside_each_other(tmp_path: Path) -> None:
    """Four ranks on one path, 64 KB at a time: each member is cut by the next one's header."""
    contents = [text(n) for n in range(4)]
    members = [gzip.compress(c) for c in contents]
    block, data = 1 << 16, b""
    for at in range(0, max(map(len, members)), block):
        data += b"".join(m[at : at + block] for m in members)
    out, stream = inflated(write(tmp_path, data))
    for content in contents:
        assert content[:100_000] in out
    assert [n.code for n in stream.notes] == ["gzip-broken"]
    assert stream.notes[0].count == 4
    assert "more than one process" in stream.notes[0].message


def test_a13_nothing_inside(tmp_path: Path) -> None:
    for data in (gzip.compress(b""), gzip.compress(b"") * 3 + bytes(10)):
        with pytest.raises(EmptyTrace, match="0 bytes"):
            inflated(write(tmp_path, data))


@pytest.mark.parametrize("data", [inflate.MAGIC + b"\x08" + bytes(40), inflate.MAGIC * 20])
def test_broken_from_the_first_byte(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(UnreadableFile, match="broken"):
        inflated(write(tmp_path, data))


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFile, match="cannot be read"):
        open_stream(tmp_path / "none")


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.binary(max_size=3000), min_size=1, max_size=4),
    st.integers(0, 12_000),
    st.binary(max_size=4),
    st.sampled_from([100, 1 << 16]),
)
def test_any_damage_ends_and_never_raises_anything_else(
    tmp_path_factory: pytest.TempPathFactory, parts: list[bytes], at: int, junk: bytes, size: int
) -> None:
    data = b"".join(gzip.compress(p) for p in parts)
    at %= len(data)
    path = tmp_path_factory.mktemp("z") / "t.gz"
    path.write_bytes(inflate.MAGIC + (data[:at] + junk + data[at + len(junk) :])[2:])
    try:
        out, _ = inflated(path, size)
    except (EmptyTrace, UnreadableFile):
        return
    assert len(out) <= 2 * sum(map(len, parts)) + (1 << 16)
