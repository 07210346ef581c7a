"""timesink: where does PyTorch training time really go?

The public names are loaded on first use, so that ``import timesink`` costs nothing in a training
script and reading a trace never imports torch.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from timesink.api import analyze, memory_snapshot, read_trace
    from timesink.capture.library import profile, trace_handler
    from timesink.capture.summary import memory_summary
    from timesink.reproducibility.seeding import seed_everything

_HOME = {
    "analyze": "timesink.api",
    "read_trace": "timesink.api",
    "memory_snapshot": "timesink.api",
    "memory_summary": "timesink.capture.summary",
    "profile": "timesink.capture.library",
    "trace_handler": "timesink.capture.library",
    "seed_everything": "timesink.reproducibility.seeding",
}

__all__ = [
    "__version__",
    "analyze",
    "memory_snapshot",
    "memory_summary",
    "profile",
    "read_trace",
    "seed_everything",
    "trace_handler",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module 'timesink' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
