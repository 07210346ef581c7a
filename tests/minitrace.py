"""A small Kineto trace written by us: a training loop with a device, for tests of whole paths."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

PID, MAIN, STREAM = 100, 101, 7


def row(
    cat: str, name: str, ts: float, dur: float, *, tid: Any = MAIN, pid: Any = PID, **args: Any
) -> dict[str, Any]:
    """One complete event; times in µs."""
    return {
        "ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur,
        "args": args,
    }  # fmt: skip


def training_trace(
    *, steps: int = 4, data_us: float = 700.0, kernel_us: float = 150.0, device: bool = True
) -> dict[str, Any]:
    """Steps of 1000 µs: ``data_us`` of data loading, then one op that launches one kernel."""
    events: list[dict[str, Any]] = []
    for n in range(steps):
        t = 1000.0 * n
        loader = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
        events += [
            row("user_annotation", f"ProfilerStep#{n}", t, 1000.0),
            row("user_annotation", loader, t + 1, data_us),
            row("cpu_op", "aten::mm", t + data_us + 10, 60.0, **{
                "External id": 10 * n + 1, "Input Dims": [[8, 8], [8, 8]],
            }),
        ]  # fmt: skip
        if device:
            where = {"pid": 0, "tid": STREAM}
            events += [
                row("cuda_runtime", "cudaLaunchKernel", t + data_us + 40, 10.0, correlation=n + 1),
                row("kernel", "sgemm_128x64", t + data_us + 60, kernel_us, **where,
                    correlation=n + 1, device=0, stream=STREAM),
            ]  # fmt: skip
    properties = [{"id": 0, "name": "Test GPU", "totalGlobalMem": 1 << 30}] if device else []
    return {
        "schemaVersion": 1,
        "deviceProperties": properties,
        "record_shapes": 1,
        "displayTimeUnit": "ms",
        "baseTimeNanoseconds": 1_700_000_000_000_000_000,
        "traceEvents": events,
    }


def write_trace(path: Path, document: Any) -> Path:
    """Write as JSON, gzipped when the name ends in .gz; laid out as Kineto does."""
    text = json.dumps(document).replace('{"ph"', '\n  {\n    "ph"').encode()
    path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)
    return path
