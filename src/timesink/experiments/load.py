"""How busy other programs kept the machine during a measurement: the usual cause of noise."""

from __future__ import annotations

import os
import time
from pathlib import Path

_STAT = Path("/proc/stat")


class Load:
    """Started when made; Linux only. What this process's ended children used is not "others"."""

    def __init__(self) -> None:
        self._before = _read()

    def others(self) -> float | None:
        """Cores that other programs used on average since the start; None where unknown."""
        after = _read()
        if self._before is None or after is None:
            return None
        wall, busy, own = (b - a for a, b in zip(self._before, after, strict=True))
        return max(0.0, (busy - own) / wall) if wall > 0 else None


def _read() -> tuple[float, float, float] | None:
    """Wall seconds; CPU seconds of the whole machine; CPU seconds of this process and of its ended
    children. proc_stat(5): user nice system idle iowait irq softirq steal, in clock ticks."""
    try:
        ticks = [int(word) for word in _STAT.read_text().split("\n", 1)[0].split()[1:9]]
        busy = (sum(ticks) - ticks[3] - ticks[4]) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError):
        return None
    own = os.times()
    used = own.user + own.system + own.children_user + own.children_system
    return time.monotonic(), busy, used
