"""m6: memory of the device that torch's allocator does not hold."""

from __future__ import annotations

from timesink.diagnoses.memory_rule import finding, size_text
from timesink.model.memory import MemoryAnswer, MemoryFinding

_SHARE = 0.2


def check(answer: MemoryAnswer) -> MemoryFinding | None:
    """Known only from an out-of-memory message, which names total, free and reserved."""
    oom = answer.oom
    if oom is None or not oom.message or not oom.capacity:
        return None
    size = oom.capacity - oom.reserved - max(oom.device_free, 0)
    if size < _SHARE * oom.capacity:
        return None
    return finding(
        answer, "outside-allocator", "m6", "Others hold a large part of the device", size=size,
        evidence=(
            f"of {size_text(oom.capacity)}, torch reserved {size_text(oom.reserved)} and "
            f"{size_text(max(oom.device_free, 0))} were free: {size_text(size)} belong to other "
            "processes, CUDA contexts, NCCL and libraries",
        ),
        advice="Look who it is with nvidia-smi: a second process on the device, a notebook "
        "left open, workers that touch CUDA.",
    )  # fmt: skip
