"""Run a command and measure it: wall time, and the peak resident memory of its process tree."""

from __future__ import annotations

import os
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True)
class Measured:
    """``wall_s`` seconds; ``peak_mb``: the largest summed RSS of the tree, in MB (10**6 bytes)."""

    wall_s: float
    peak_mb: float
    stdout: str
    returncode: int


def measured(command: list[str], env: dict[str, str] | None = None) -> Measured:
    """Run to the end, sampling the tree every 20 ms.

    Summed RSS counts shared pages once per process: an upper bound, for us as for the peer.
    The kernel's own high-water mark (VmHWM) of the main process corrects what sampling misses.
    """
    start = time.perf_counter()
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env={**os.environ, **(env or {})}
    )
    peak = 0
    while process.poll() is None:
        pids = _tree(process.pid)
        now = sum(_rss(pid) for pid in pids)
        high = _high_water(process.pid)
        peak = max(peak, now, high)
        time.sleep(0.02)
    wall = time.perf_counter() - start
    assert process.stdout is not None
    return Measured(wall, peak / 1e6, process.stdout.read(), process.returncode)


def _tree(root: int) -> list[int]:
    pids, queue = [], [root]
    while queue:
        pid = queue.pop()
        pids.append(pid)
        for task in Path(f"/proc/{pid}/task").glob("*/children"):
            try:
                queue += [int(p) for p in task.read_text().split()]
            except OSError:
                continue
    return pids


def _rss(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE
    except (OSError, IndexError):
        return 0


def _high_water(pid: int) -> int:
    try:
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmHWM"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return 0
