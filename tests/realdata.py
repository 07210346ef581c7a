"""Real traces for tests: found beside the repository, never committed; absent means skip."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(
    os.environ.get("TIMESINK_TRACES", Path(__file__).parents[2] / "shared" / "traces")
).resolve()


def real_root() -> Path:
    """The folder of real traces, or a skip that says where it was looked for."""
    if not ROOT.is_dir():
        pytest.skip(f"no folder of real traces at {ROOT} (set TIMESINK_TRACES)")
    return ROOT


def real_trace(relative: str) -> Path:
    """One real trace by its path below the folder, or a skip."""
    path = real_root() / relative
    if not path.exists():
        pytest.skip(f"real trace {relative} is not in {ROOT}")
    return path
