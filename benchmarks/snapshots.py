"""``python -m benchmarks snapshots``: reading and answering a snapshot, beside torch's commands.

The snapshot is made by the allocator of the tests, with stacks of 40 frames as torch records them.
Each command is a process of its own; wall time and peak resident memory.
"""

from __future__ import annotations

import importlib.util
import os
import pickle
import random
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from tests.snapshots import BACKWARD, FORWARD, Allocator, frame

_DEPTH = 40


def made(path: str, megabytes: int) -> None:
    """Write a snapshot of about that size."""
    rng = random.Random(0)
    below = [frame(f"outer{i}", i, f"/home/me/lib{i % 7}.py") for i in range(_DEPTH - 8)]
    places = [[frame(f"f{i}", i), *(FORWARD if i % 2 else BACKWARD)] for i in range(200)]
    device, held = Allocator(), list[int]()
    for _ in range(megabytes * 6300):  # entries of about 120 bytes with their stack
        stack = [*rng.choice(places), *below]
        if len(held) > 300 or (held and rng.random() < 0.5):
            device.free(held.pop(rng.randrange(len(held))), stack)
        else:
            held.append(device.alloc(rng.choice([512, 4096, 100_000, 3_000_000]), stack))
    Path(path).write_bytes(pickle.dumps(device.snapshot()))


def measured(command: list[str]) -> tuple[float, float, int]:
    """Wall seconds, peak resident MB (of all its processes the largest) and the exit code."""
    began = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    _, status, usage = os.wait4(process.pid, 0)
    return time.perf_counter() - began, usage.ru_maxrss / 1000, os.waitstatus_to_exitcode(status)


def main(work: Path) -> None:
    """Print the table."""
    torch = importlib.util.find_spec("torch")  # not imported: children inherit our peak memory
    assert torch is not None
    assert torch.origin is not None
    viz = str(Path(torch.origin).parent / "cuda" / "_memory_viz.py")
    for size in (int(s) for s in os.environ.get("TIMESINK_SNAPSHOTS", "100").split(",")):
        path = work / f"snapshot-{size}.pickle"
        if not path.exists():  # in a process of its own, for the same reason
            code = f"from benchmarks.snapshots import made; made({str(path)!r}, {size})"
            subprocess.run([sys.executable, "-c", code], check=True)
        print(f"{path.stat().st_size / 1e6:.0f} MB of pickle")
        ours: Any = [sys.executable, "-m", "timesink", "memory", str(path)]
        rows: list[tuple[str, list[str]]] = [("timesink memory", ours)]
        for name in ("stats", "trace"):
            rows.append((f"_memory_viz {name}", [sys.executable, viz, name, str(path)]))
        out = str(work / "viz.html")
        rows.append(("_memory_viz trace_plot",
                     [sys.executable, viz, "trace_plot", str(path), "-o", out]))  # fmt: skip
        first = None
        for name, command in rows:
            seconds, megabytes, code = measured(command)
            first = first or seconds
            print(f"  {name:<24}{seconds:8.1f} s  {seconds / first:6.2f}×  {megabytes:8.0f} MB"
                  f"{'' if not code else f'  (exit code {code})'}", flush=True)  # fmt: skip
