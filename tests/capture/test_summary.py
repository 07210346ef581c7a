"""``timesink.memory_summary()``."""

from __future__ import annotations

import re
import sys
from types import SimpleNamespace

import pytest

import timesink


def numbers(text: str) -> dict[str, list[float]]:
    rows = text.splitlines()[1:]
    return {
        re.split(r"\s{3,}", r)[0].strip(): [float(n) for n in re.findall(r"([\d.]+) GiB", r)]
        for r in rows
    }


def test_the_process_itself() -> None:
    big = bytearray(200 * 2**20)
    ((now, peak),) = [v for k, v in numbers(timesink.memory_summary()).items() if "cpu" in k]
    del big
    assert 0.2 <= now <= peak
    ((_, after),) = [v for k, v in numbers(timesink.memory_summary()).items() if "cpu" in k]
    assert after >= peak


@pytest.mark.parametrize("used", [True, False])
def test_devices_in_use(monkeypatch: pytest.MonkeyPatch, used: bool) -> None:
    gib = 2**30 if used else 0
    stats = {"allocated_bytes.all.current": gib, "allocated_bytes.all.peak": 3 * gib,
             "reserved_bytes.all.peak": 4 * gib, "num_alloc_retries": 7}  # fmt: skip
    cuda = SimpleNamespace(
        is_available=lambda: True, is_initialized=lambda: True, device_count=lambda: 1,
        memory_stats=lambda device: stats,
    )  # fmt: skip
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=cuda))
    text = timesink.memory_summary()
    assert ("cuda:0" in text) is used
    if used:
        assert numbers(text)["cuda:0 allocated"] == [1.0, 3.0]
        assert re.search(r"allocation retries\s+7", text)
