"""The window as lanes of bars for the built-in timeline: host threads and device streams.

A page can hold only so many bars: the longest are kept, half of them on the host and half on the
device where both have more than fits, and what was left out is counted.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from timesink.analyses.lanes import host_label, levels, slots, stream_label
from timesink.analyses.scope import Ints, column
from timesink.model.timeline import Lane, Timeline
from timesink.store.schema import Kind

if TYPE_CHECKING:
    from timesink.analyses.prepare import Prepared

#: Characters of one bar's args, and of all together (the longest bars first).
ARGS_CHARS = 600
ALL_ARGS_CHARS = 8_000_000
#: Args that mean nothing to a reader.
_NOISE = frozenset({"External id", "Ev Idx", "Record function id", "Python id", "Python parent id"})

_VALUE_CHARS = 190
_encoder = json.JSONEncoder(ensure_ascii=False, allow_nan=False, default=str)

RawArgs = Callable[[Sequence[int]], dict[int, dict[str, Any]]]


def timeline(p: Prepared, raw_args: RawArgs | None = None, *, limit: int = 40_000) -> Timeline:
    """All bars, or the longest ``limit`` of them, with args from ``raw_args`` (by ``ord``)."""
    host, device, dropped = _longest(p, limit)
    bars = pl.concat([_bars(p.host[host], "track"), _bars(p.device[device], "device")])
    origin, end = _span(p, bars)
    names, name_of = _interned(p, bars["name"])
    categories, category_of = _interned(p, bars["cat"])
    args, args_of = _args(bars, raw_args)
    bars = bars.with_columns(
        pl.Series("name", name_of), pl.Series("cat", category_of), pl.Series("args", args_of)
    )
    hosts, streams = bars[: len(host)], bars[len(host) :]
    lanes = [_lane(p, b, origin, False) for b in hosts.partition_by("lane", maintain_order=True)]
    for group in streams.partition_by("lane", "stream", maintain_order=True):
        lanes.append(_lane(p, group, origin, True))
    steps = tuple((s.number, s.start_ns - origin, s.wall_ns) for s in p.steps)
    return Timeline(origin, end - origin, tuple(lanes), names, categories, args, steps, dropped)


def _longest(p: Prepared, limit: int) -> tuple[Ints, Ints, int]:
    """Rows of host and device to show, and how many are not."""
    host, device = p.host.height, p.device.height
    for_device = min(device, max(limit - host, limit // 2))
    for_host = min(host, limit - for_device)
    kept = _top(column(p.host, "dur"), for_host), _top(column(p.device, "dur"), for_device)
    return *kept, host + device - for_host - for_device


def _top(durations: Ints, count: int) -> Ints:
    if count >= len(durations):
        return np.arange(len(durations))
    return np.sort(np.argsort(-durations, kind="stable")[:count])


def _bars(rows: pl.DataFrame, lane: str) -> pl.DataFrame:
    end = pl.max_horizontal("ts", "end")
    return rows.select(
        "ord", "ts", (end - pl.col("ts")).alias("dur"), "name", "cat", "kind",
        pl.col(lane).cast(pl.Int64).alias("lane"), "stream", "track",
    ).sort("lane", "stream", "ts", maintain_order=True)  # fmt: skip


def _span(p: Prepared, bars: pl.DataFrame) -> tuple[int, int]:
    """Start and end of everything shown, steps included."""
    starts = [s.start_ns for s in p.steps] + ([int(column(bars, "ts").min())] if len(bars) else [])
    ends = [s.end_ns for s in p.steps]
    if len(bars):
        ends.append(int((column(bars, "ts") + column(bars, "dur")).max()))
    return min(starts, default=0), max(ends, default=0)


def _interned(p: Prepared, codes: pl.Series) -> tuple[tuple[str, ...], Ints]:
    used, index = np.unique(codes.to_numpy(), return_inverse=True)
    return tuple(p.tables.text(int(c)) for c in used), index.reshape(-1)


def _lane(p: Prepared, bars: pl.DataFrame, origin: int, device: bool) -> Lane:
    first = bars.row(0, named=True)
    start, span = bars["ts"].to_list(), bars["dur"].to_list()
    label = stream_label(p, first["lane"], first["stream"]) if device else host_label(p, first)
    depth = slots(start, span) if device else levels(start, span)
    return Lane(
        label=label,
        kind="stream" if device else "thread",
        start_ns=tuple(s - origin for s in start),
        dur_ns=tuple(span),
        depth=tuple(depth),
        name=tuple(bars["name"].to_list()),
        category=tuple(bars["cat"].to_list()),
        args=tuple(bars["args"].to_list()),
    )


def _args(bars: pl.DataFrame, raw_args: RawArgs | None) -> tuple[tuple[str, ...], Ints]:
    """Texts of args and, per bar, which (-1: none). Python frames carry only ids: none."""
    index = np.full(len(bars), -1, np.int64)
    if raw_args is None or not len(bars):
        return (), index
    rows = np.flatnonzero(column(bars, "kind") != Kind.PYTHON)
    rows = rows[np.argsort(-column(bars, "dur")[rows], kind="stable")]
    order = column(bars, "ord")
    raw = raw_args(np.sort(order[rows]).tolist())
    known: dict[str, int] = {}
    room = ALL_ARGS_CHARS
    for row in rows.tolist():
        text = args_text(raw.get(int(order[row]), {}))
        if not text or (text not in known and room < len(text)):
            continue
        if text not in known:
            room -= len(text)
        index[row] = known.setdefault(text, len(known))
    return tuple(known), index


def args_text(args: dict[str, Any]) -> str:
    """Args as a JSON object of at most ``ARGS_CHARS`` characters.

    Where they are longer, long values are cut with "…" and what still has no room is left out.
    """
    kept = {str(k): v for k, v in args.items() if k not in _NOISE}
    whole = _json(kept)
    if whole is not None and len(whole) <= ARGS_CHARS:
        return whole if kept else ""
    parts, room = [], ARGS_CHARS - 2
    for key, value in kept.items():
        part = f"{_json(key)}: {_short(value)}"
        if len(part) + 2 <= room:
            room -= len(part) + 2
            parts.append(part)
    return "{" + ", ".join(parts) + "}" if parts else ""


def _short(value: Any) -> str:
    text = _json(value)
    if text is not None and len(text) <= _VALUE_CHARS:
        return text
    whole = value if isinstance(value, str) else text or str(value)
    return json.dumps(whole[:_VALUE_CHARS] + "…", ensure_ascii=False)


def _json(value: Any) -> str | None:
    """The JSON text, None where there is none (inf, nan)."""
    try:
        return _encoder.encode(value)
    except ValueError:
        return None
