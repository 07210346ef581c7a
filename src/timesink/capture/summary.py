"""``timesink.memory_summary()``: what this process holds now, on the CPU and on every device."""

from __future__ import annotations

import sys
from typing import Any

from timesink.capture.window import resident

_GIB = 2**30
#: (title, key of torch.cuda.memory_stats)
_ROWS = (
    ("allocated", "allocated_bytes.all"),
    ("active", "active_bytes.all"),
    ("requested", "requested_bytes.all"),
    ("reserved", "reserved_bytes.all"),
    ("inactive split", "inactive_split_bytes.all"),
)
_COUNTS = (("allocation retries", "num_alloc_retries"), ("out of memory", "num_ooms"))


def memory_summary() -> str:
    """A table in GiB: resident memory of the process now and at its highest, and for every CUDA
    device that is in use what ``torch.cuda.memory_summary(abbreviated=True)`` tells (current and
    peak allocated, active, requested, reserved; retries and failures). Never initialises CUDA."""
    lines = [f"{'':<28}{'now':>10}{'peak':>10}"]
    lines.append(_line("cpu    resident", resident(), peak_resident()))
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available() and torch.cuda.is_initialized():
        for device in range(torch.cuda.device_count()):
            lines += _device(f"cuda:{device}", torch.cuda.memory_stats(device))
    return "\n".join(lines)


def _device(name: str, stats: dict[str, Any]) -> list[str]:
    if not stats.get("reserved_bytes.all.peak"):
        return []
    lines = [
        _line(f"{name} {title}", stats.get(f"{key}.current", 0), stats.get(f"{key}.peak", 0))
        for title, key in _ROWS
    ]
    return [*lines, *(f"{f'{name} {t}':<28}{stats.get(k, 0):>10,}" for t, k in _COUNTS)]


def _line(title: str, now: int, peak: int) -> str:
    return f"{title:<28}{now / _GIB:>6.2f} GiB{peak / _GIB:>6.2f} GiB"


def peak_resident() -> int:
    """Highest resident memory of this process in bytes; 0 where the system does not tell."""
    try:
        import resource

        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024
    except (ImportError, OSError):
        return 0
