"""What can only be done when the whole file is in: joining B/E rows, rows without a category."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from timesink.store import kinds
from timesink.store.assemble import Assembler
from timesink.store.notes import Notes
from timesink.store.schema import EVENTS, TRACKS, Kind
from timesink.store.sniff import EventStats

Parts = dict[str, list[pl.DataFrame]]
Metadata = list[tuple[str, str, str, str]]
_NAMES = {"process_name": "process_name", "thread_name": "thread_name", "process_labels": "labels"}


def join_halves(parts: Parts, notes: Notes) -> None:
    """Begin and end rows (ph B and E) → complete rows, by a stack per track; appended to events."""
    opened = parts.pop("open", [])
    if not opened:
        return
    rows = pl.concat(opened).sort("track", "ts", "ord")
    begins, tracks, times = (rows[c].to_list() for c in ("begin", "track", "ts"))
    stack: list[int] = []
    keep, durations, unmatched = [], [], 0
    for i, begin in enumerate(begins):
        if i and tracks[i] != tracks[i - 1]:
            unmatched += len(stack)
            stack = []
        if begin:
            stack.append(i)
        elif stack:
            j = stack.pop()
            keep.append(j)
            durations.append(times[i] - times[j])
        else:
            unmatched += 1
    unmatched += len(stack)
    if unmatched:
        notes.add("unmatched", "{n} begin or end rows have no partner", unmatched, "warning")
    frame = rows[keep].with_columns(pl.Series("dur", durations, dtype=pl.Int64)).drop("begin")
    parts.setdefault("events", []).append(frame.select(list(EVENTS)))


def stats(
    assembler: Assembler, phases: Mapping[str, int], parts: Parts, head: Mapping[str, Any]
) -> EventStats:
    """What the refusal rules look at."""
    names: set[str] = set()
    if parts.get("events"):
        texts = list(assembler.strings)
        codes = parts["events"][0]["name"].head(2000).unique().to_list()
        names = {texts[c] for c in codes}
    return EventStats(
        events=assembler.ordinal,
        timed=sum(assembler.kind_counts.values()),
        categories=dict(assembler.categories),
        phases=dict(phases),
        names_sample=tuple(sorted(names)),
        head_keys=tuple(head),
        pids=tuple({p for p, _ in assembler.tracks}),
    )


def track_table(assembler: Assembler, metadata: Metadata) -> pl.DataFrame:
    """One row per (pid, tid), with the names that ph M rows give to them."""
    pairs = list(assembler.tracks)
    columns: dict[str, dict[Any, str]] = {c: {} for c in _NAMES.values()}
    for pid, tid, name, value in metadata:
        if name == "thread_name":
            columns["thread_name"][pid, tid] = value
        elif name in _NAMES:
            columns[_NAMES[name]][pid] = value
    return pl.DataFrame(
        {
            "pid": [p for p, _ in pairs],
            "tid": [t for _, t in pairs],
            "process_name": [columns["process_name"].get(p, "") for p, _ in pairs],
            "thread_name": [columns["thread_name"].get(pair, "") for pair in pairs],
            "labels": [columns["labels"].get(p, "") for p, _ in pairs],
            "is_device": [i in assembler.device_tracks for i in range(len(pairs))],
        },
        schema=TRACKS,
    )


def classify_bare(
    events: pl.DataFrame, flows: pl.DataFrame, tracks: pl.DataFrame, assembler: Assembler
) -> pl.DataFrame:
    """Kinds and correlations of rows without a category, from their process and the flows.

    Two writers leave the category out: torch without Kineto (processes "CPU functions" and "CUDA
    functions") and Ascend's merge (processes "Ascend Hardware", "CANN", "Overlap Analysis").
    """
    texts = list(assembler.strings)
    bare = events["cat"].to_numpy() == 0
    track = events["track"].to_numpy()
    processes = [p or pid for p, pid in zip(tracks["process_name"], tracks["pid"], strict=True)]
    kind = events["kind"].to_numpy().copy()
    device = events["device"].to_numpy().copy()
    stream = events["stream"].to_numpy().copy()
    streams = np.array([_stream(t) for t in tracks["tid"]], np.int64)
    names = events["name"].to_numpy()
    for number, process in enumerate(processes):
        rows = bare & (track == number)
        if not rows.any():
            continue
        if process == "CPU functions":
            kind[rows] = Kind.CPU_OP
        elif process == "CANN":
            kind[rows] = Kind.RUNTIME
        elif process == "CUDA functions" or process.endswith("Hardware"):
            kind[rows] = [int(kinds.kind_of_device_row(texts[c])) for c in names[rows].tolist()]
            device[rows], stream[rows] = 0, streams[number]
            assembler.device_tracks.add(number)
    annotation = np.array([kinds.is_annotation(t) for t in texts], bool)[names]
    kind[annotation & (kind == Kind.CPU_OP)] = Kind.USER_ANNOTATION
    fixed = events.with_columns(
        pl.Series("kind", kind, pl.UInt8),
        pl.Series("device", device, pl.Int32),
        pl.Series("stream", stream, pl.Int64),
    )
    return _linked(fixed, flows, texts)


def _stream(tid: str) -> int:
    return int(tid) if tid.isdigit() and len(tid) < 18 else -1


#: Flow categories that lead from a launching call (→ corr) or from an operator (→ ext).
_LINKS = {"HostToDevice": "corr", "cpu_to_cuda": "ext", "async_npu": "ext"}


def _linked(events: pl.DataFrame, flows: pl.DataFrame, texts: list[str]) -> pl.DataFrame:
    """Flow ids as correlation: the row that starts or contains the flow's point on its track.

    One call may launch several device rows, each by a flow of its own: they share the number.
    """
    for category, column in _LINKS.items():
        if category not in texts:
            continue
        points = flows.filter(pl.col("cat") == texts.index(category)).sort("ph", "ts")
        values = events[column].to_numpy().copy()
        number_of_row: dict[int, int] = {}
        number_of_flow: dict[int, int] = {}
        where = _rows_at(events, points).tolist()
        for row, flow, phase in zip(where, points["id"], points["ph"], strict=True):
            if row < 0:
                continue
            if phase == 0:  # the calling side: its first flow names it
                number = number_of_row.setdefault(row, len(number_of_row) + 1)
                number_of_flow[flow] = values[row] = number
            elif flow in number_of_flow:
                values[row] = number_of_flow[flow]
        events = events.with_columns(pl.Series(column, values, pl.Int64))
    return events


def _rows_at(events: pl.DataFrame, points: pl.DataFrame) -> np.ndarray[Any, Any]:
    """For each flow point the innermost row on its track that has begun by then, or -1."""
    rows = events.with_row_index("row").sort("ts", pl.col("dur"), descending=[False, True])
    found = points.with_row_index("point").join_asof(
        rows.select("ts", "track", "row"),
        on="ts",
        by="track",
        strategy="backward",
        check_sortedness=False,
    )
    return found.sort("point")["row"].fill_null(-1).cast(pl.Int64).to_numpy()
