"""m11: pools of CUDA graphs hold memory that nobody else may use."""

from __future__ import annotations

from timesink.diagnoses.memory_rule import finding, size_text
from timesink.model.memory import MemoryAnswer, MemoryFinding

_SHARE = 0.1


def check(answer: MemoryAnswer) -> MemoryFinding | None:
    """At least a tenth of what is reserved."""
    f = answer.fragmentation
    if f is None or f.private_pools < _SHARE * f.reserved:
        return None
    return finding(
        answer, "private-pools", "m11", "Private pools hold memory", size=f.private_pools,
        evidence=(f"{size_text(f.private_pools)} of {size_text(f.reserved)} reserved",),
        advice="CUDA graphs keep their pool while they exist: share one pool "
        "(torch.cuda.graph_pool_handle), capture fewer shapes, or compile without "
        'mode="reduce-overhead".',
    )  # fmt: skip
