"""Trace ⇄ folder of Parquet parts: what the cache holds and how it comes back."""

from __future__ import annotations

import base64
import errno
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import msgspec
import polars as pl

from timesink.model.trace import DeviceInfo, ProcessGroup, QualityNote, TraceInfo
from timesink.store import cache
from timesink.store.trace import Trace

#: Rows of the event table per part: bounds what is held before it is written.
PART_ROWS = 1 << 18
Parts = dict[str, list[pl.DataFrame]]


def write_parts(folder: Path, number: int, parts: Mapping[str, list[pl.DataFrame]]) -> None:
    """Append one part per table. Raises ``OSError`` when the disk is full."""
    for name, frames in parts.items():
        if frames and name != "open":
            _write(pl.concat(frames), folder / f"{name}-{number:05}.parquet")


def _write(frame: pl.DataFrame, path: Path) -> None:
    try:
        frame.write_parquet(path, compression="lz4", statistics=False)
    except pl.exceptions.PolarsError as error:  # its name for a full disk
        raise OSError(errno.EIO, str(error)) from error


def read_back(folder: Path, parts: Parts) -> Parts:
    """All parts written so far and those in memory, for going on without a cache."""
    out: Parts = {k: list(v) for k, v in parts.items()}
    for name in ("events", "memory", "flows", "counters"):
        earlier = [
            pl.read_parquet(p) for p in sorted(folder.glob(f"{name}-*.parquet")) if _whole(p)
        ]
        if earlier:
            out[name] = earlier + out.get(name, [])
    return out


def _whole(path: Path) -> bool:
    try:
        pl.read_parquet_schema(path)
    except (OSError, pl.exceptions.PolarsError):
        return False
    return True


def store(trace: Trace, folder: Path, path: Path, parts: Parts, number: int) -> Trace:
    """Complete the cache folder and return the trace that reads from it."""
    names: list[str] = []
    try:
        write_parts(folder, number, parts)
        names = sorted(p.name for p in folder.glob("*-*.parquet"))
        _write(pl.DataFrame({"text": trace.strings}), folder / "strings.parquet")
        _write(trace.tracks, folder / "tracks.parquet")
        meta = {
            # Without its path, which need not be valid text; whoever loads it knows it anyway.
            "info": {**asdict(trace.info), "path": ""},
            "quality": [asdict(q) for q in trace.quality],
            "index": list(trace.index),
            "key": trace.key,
            "parts": names,
        }
        (folder / "meta.json").write_bytes(msgspec.json.encode(meta))
        final = cache.commit(folder, path)
    except OSError as error:
        whole = read_back(folder, parts)
        cache.discard(folder)
        reason = error.strerror or str(error)
        note = QualityNote("no-cache", f"the cache could not be written ({reason})")
        return Trace(
            trace.info, (*trace.quality, note), whole, trace.tracks, trace.strings,
            trace.index, trace.key,
        )  # fmt: skip
    return Trace(
        trace.info, trace.quality, [final / name for name in names],
        trace.tracks, trace.strings, trace.index, trace.key,
    )  # fmt: skip


def load(folder: Path, path: Path) -> Trace | None:
    """The trace of a complete cache folder; None when it turns out damaged."""
    try:
        meta = msgspec.json.decode((folder / "meta.json").read_bytes())
        strings = pl.read_parquet(folder / "strings.parquet")["text"]
        tracks = pl.read_parquet(folder / "tracks.parquet")
        parts = [folder / name for name in meta["parts"]]
        for part in parts:
            pl.read_parquet_schema(part)
        key = base64.b64decode(meta["key"])
        info = info_from(meta["info"], path)
        quality = tuple(QualityNote(**q) for q in meta["quality"])
        index = [tuple(entry) for entry in meta["index"]]
    except (
        OSError,
        KeyError,
        TypeError,
        ValueError,
        msgspec.MsgspecError,
        pl.exceptions.PolarsError,
    ):
        return None
    return Trace(info, quality, parts, tracks, strings, index, key)


def info_from(plain: dict[str, Any], path: Path) -> TraceInfo:
    """A ``TraceInfo`` from its JSON."""
    devices = tuple(
        DeviceInfo(d["id"], d["name"], d["memory_bytes"], tuple(d["capability"]))
        for d in plain["devices"]
    )
    versions = tuple((k, v) for k, v in plain["versions"])
    groups = tuple(
        ProcessGroup(g["name"], g["description"], g["size"], tuple(g["ranks"]))
        for g in plain["groups"]
    )
    parts = {"devices": devices, "versions": versions, "groups": groups, "path": str(path)}
    return TraceInfo(**{**plain, **parts})
