"""A small builder: tables from readable row descriptions, times in ns.

``tables(op("aten::mm", 0, 100), launch(10, 5, corr=1), kernel("gemm", 40, 30, corr=1))``
"""

from __future__ import annotations

from typing import Any

import polars as pl

from timesink.analyses.prepare import Prepared, prepare
from timesink.model.trace import TraceInfo
from timesink.store.schema import (
    COUNTERS,
    DEVICE_KINDS,
    EVENTS,
    FLOWS,
    MEMORY,
    TRACKS,
    Kind,
    Tables,
)

Row = dict[str, Any]


def row(
    kind: Kind, name: str, ts: int, dur: int, pid: str = "1", tid: str = "1", **more: Any
) -> Row:
    """Any row. ``more``: EVENTS columns; ``cat``, ``shape``, ``stack`` ... as plain text."""
    return {"kind": int(kind), "name": name, "ts": ts, "dur": dur, "pid": pid, "tid": tid, **more}


def op(name: str, ts: int, dur: int, **more: Any) -> Row:
    return row(Kind.CPU_OP, name, ts, dur, **{"cat": "cpu_op", **more})


def annotation(name: str, ts: int, dur: int, **more: Any) -> Row:
    return row(Kind.USER_ANNOTATION, name, ts, dur, **{"cat": "user_annotation", **more})


def step(number: int, ts: int, dur: int, **more: Any) -> Row:
    return annotation(f"ProfilerStep#{number}", ts, dur, **more)


def backward(name: str, ts: int, dur: int, **more: Any) -> Row:
    return op(f"autograd::engine::evaluate_function: {name}", ts, dur, **more)


def python(name: str, ts: int, dur: int, **more: Any) -> Row:
    return row(Kind.PYTHON, name, ts, dur, **{"cat": "python_function", **more})


def gc(ts: int, dur: int, **more: Any) -> Row:
    return row(Kind.GC, "Python GC", ts, dur, **{"cat": "python_gc", **more})


def runtime(name: str, ts: int, dur: int, **more: Any) -> Row:
    return row(Kind.RUNTIME, name, ts, dur, **{"cat": "cuda_runtime", **more})


def launch(ts: int, dur: int, corr: int, **more: Any) -> Row:
    return runtime("cudaLaunchKernel", ts, dur, corr=corr, **more)


def device_row(kind: Kind, name: str, ts: int, dur: int, **more: Any) -> Row:
    stream = more.get("stream", 7)
    device = more.get("device", 0)
    known = {"pid": str(device), "tid": f"stream {stream}", "device": device, "stream": stream}
    return row(kind, name, ts, dur, **{**known, **more})


def kernel(name: str, ts: int, dur: int, **more: Any) -> Row:
    return device_row(Kind.KERNEL, name, ts, dur, **{"cat": "kernel", **more})


def memcpy(name: str, ts: int, dur: int, **more: Any) -> Row:
    return device_row(Kind.MEMCPY, name, ts, dur, **{"cat": "gpu_memcpy", **more})


def memset(ts: int, dur: int, **more: Any) -> Row:
    return device_row(Kind.MEMSET, "Memset (Device)", ts, dur, **{"cat": "gpu_memset", **more})


def device_annotation(name: str, ts: int, dur: int, **more: Any) -> Row:
    return device_row(
        Kind.DEVICE_ANNOTATION, name, ts, dur, **{"cat": "gpu_user_annotation", **more}
    )


def memory(ts: int, size: int, allocated: int = -1, reserved: int = -1, **more: Any) -> Row:
    """One ``[memory]`` row (MEMORY columns)."""
    known = {"addr": 0, "device_type": 0, "device": -1, "pid": "1", "tid": "1"}
    sizes = {"bytes": size, "allocated": allocated, "reserved": reserved}
    return {"memory": True, "ts": ts, **known, **sizes, **more}


class _Codes:
    """Texts to codes; code 0 is the empty text."""

    def __init__(self) -> None:
        self.codes: dict[str, int] = {"": 0}

    def __call__(self, text: str) -> int:
        return self.codes.setdefault(text, len(self.codes))


def tables(*rows: Row) -> Tables:
    """Tables with these rows, in file order; nothing else is needed."""
    codes, tracks = _Codes(), dict[tuple[str, str], int]()
    device_tracks, events, memories = set[int](), list[Row](), list[Row]()
    for position, source in enumerate(rows):
        given = {"ord": position, **source}
        given["track"] = tracks.setdefault((given["pid"], given["tid"]), len(tracks))
        if given.get("memory"):
            memories.append({c: given[c] for c in MEMORY})
            continue
        if given["kind"] in DEVICE_KINDS:
            device_tracks.add(given["track"])
        events.append({c: _value(given, c, t, codes) for c, t in EVENTS.items()})
    frame = pl.DataFrame(events, schema=EVENTS)
    frame = frame.sort("ts", "dur", "ord", descending=[False, True, False])
    names = pl.DataFrame(
        [(p, t, "", "", "", i in device_tracks) for (p, t), i in tracks.items()],
        schema=TRACKS,
        orient="row",
    )
    return Tables(
        events=frame,
        memory=pl.DataFrame(memories, schema=MEMORY).sort("ts"),
        flows=pl.DataFrame(schema=FLOWS),
        counters=pl.DataFrame(schema=COUNTERS),
        tracks=names,
        strings=pl.Series("strings", list(codes.codes), dtype=pl.String),
    )


def _value(given: Row, column: str, dtype: Any, codes: _Codes) -> Any:
    if dtype == pl.UInt32:
        return codes(given.get(column, ""))
    return given.get(column, -1)


def info(built: Tables, **more: Any) -> TraceInfo:
    """A TraceInfo that spans the rows."""
    events = built.events
    start, end = 0, 0
    if events.height:
        start = int(events["ts"].min())  # type: ignore[arg-type]
        end = int((events["ts"] + events["dur"]).max())  # type: ignore[arg-type]
    known = {"path": "test.json", "generation": "K3b", "event_count": events.height}
    return TraceInfo(**{**known, "start_ns": start, "end_ns": end, **more})


def prepared(*rows: Row, **more: Any) -> Prepared:
    """These rows, prepared; ``more`` are fields of TraceInfo."""
    built = tables(*rows)
    return prepare(built, info(built, **more))
