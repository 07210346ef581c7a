"""The cache: same answer, found by identity, never trusted when damaged, never required."""

from __future__ import annotations

import json
import os
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from tests.minitrace import training_trace, write_trace
from timesink.errors import UnreadableFile
from timesink.store import cache, cut, read, saved
from timesink.store.read import read_trace
from timesink.store.trace import Trace


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Every file is large enough to be cached, in a folder of its own."""
    monkeypatch.setenv("TIMESINK_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(read, "CACHE_BYTES", 0)
    return tmp_path / "cache"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return write_trace(tmp_path / "t.json", training_trace(steps=30))


def same(a: Trace, b: Trace) -> None:
    assert a.info == b.info
    assert a.quality == b.quality
    for name in ("events", "memory", "flows", "counters", "tracks"):
        assert_frame_equal(getattr(a.tables, name), getattr(b.tables, name))
    assert a.tables.strings.to_list() == b.tables.strings.to_list()


def entries(folder: Path) -> list[Path]:
    return sorted(folder.iterdir())


def test_second_open_reads_the_cache_and_says_the_same(
    path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = read_trace(path)
    assert len(entries(folder)) == 1
    monkeypatch.setattr(read, "open_stream", lambda _: pytest.fail("the trace was read again"))
    same(first, read_trace(path))


def test_cache_off_writes_nothing(path: Path, folder: Path) -> None:
    same(read_trace(path, cache=False), read_trace(path))
    assert len(entries(folder)) == 1


def test_a_changed_file_is_another_file(path: Path) -> None:
    read_trace(path)
    document = training_trace(steps=31)
    write_trace(path, document)
    assert read_trace(path).info.event_count == len(document["traceEvents"])


def test_same_size_and_time_but_other_bytes(path: Path) -> None:
    read_trace(path)
    stat = path.stat()
    path.write_bytes(path.read_bytes().replace(b"aten::mm", b"aten::nn"))
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert "aten::nn" in read_trace(path).strings.to_list()


@pytest.mark.parametrize("victim", ["meta.json", "strings.parquet", "tracks.parquet", "events"])
def test_a_damaged_cache_is_rebuilt(path: Path, folder: Path, victim: str) -> None:
    read_trace(path)
    for file in entries(folder)[0].glob(f"{victim}*"):
        file.write_bytes(b"damaged")
    same(read_trace(path, cache=False), read_trace(path))


def test_a_lost_part_is_noticed(path: Path, folder: Path) -> None:
    first = read_trace(path)
    for file in entries(folder)[0].glob("events-*"):
        file.unlink()
    with pytest.raises(UnreadableFile, match="removed while it was in use"):
        _ = first.tables
    same(read_trace(path, cache=False), read_trace(path))


def test_a_cache_that_cannot_be_written_is_said_once(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocker = tmp_path / "file"
    blocker.write_text("")
    monkeypatch.setenv("TIMESINK_CACHE", str(blocker / "below"))
    trace = read_trace(path)
    assert [n.code for n in trace.quality] == ["no-cache"]
    assert trace.tables.events.height


@pytest.mark.parametrize(
    "error", [OSError(28, "No space left on device"), pl.exceptions.ComputeError("IO error")]
)
def test_a_disk_that_fills_up_costs_the_cache_only(
    path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def full(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(pl.DataFrame, "write_parquet", full)
    trace = read_trace(path)
    assert [n.code for n in trace.quality] == ["no-cache"]
    same_rows = read_trace(path, cache=False).tables.events
    assert_frame_equal(trace.tables.events, same_rows)
    assert entries(folder) == []


def test_many_parts(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_trace(path, training_trace(steps=3000))
    monkeypatch.setattr(cut, "CHUNK", 1 << 17)
    monkeypatch.setattr(saved, "PART_ROWS", 1000)
    parts = read_trace(path)
    whole = read_trace(path, cache=False)
    assert_frame_equal(parts.tables.events, whole.tables.events)
    total = pl.col("dur").sum()
    assert parts.scan_events().select(total).collect().item() == whole.tables.events["dur"].sum()
    assert len(list(entries(cache.root())[0].glob("events-*"))) > 3


def test_a_failed_reading_leaves_nothing_behind(tmp_path: Path, folder: Path) -> None:
    path = tmp_path / "other.json"
    path.write_text(json.dumps({"traceEvents": [{"ph": "X", "name": "x", "ts": 1, "dur": 1}]}))
    with pytest.raises(Exception, match="Chrome trace of another tool"):
        read_trace(path)
    assert entries(folder) == []


def test_oldest_are_removed_beyond_the_limit(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache, "LIMIT_BYTES", 1)
    for name in ("a", "b", "c"):
        read_trace(write_trace(tmp_path / f"{name}.json", training_trace()))
    assert [e.name for e in entries(folder)] == [cache.key(tmp_path / "c.json")]


def test_a_file_name_that_is_not_text_is_cached_too(path: Path, folder: Path) -> None:
    odd = path.rename(path.with_name("t\udcff.json"))
    first = read_trace(odd)
    assert len(entries(folder)) == 1
    same(first, read_trace(odd))
