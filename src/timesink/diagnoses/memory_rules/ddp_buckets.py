"""m10: DistributedDataParallel keeps a copy of all gradients in its buckets."""

from __future__ import annotations

from timesink.diagnoses.memory_rule import finding, size_text
from timesink.model.memory import MemoryAnswer, MemoryFinding

_SHARE = 0.1


def check(answer: MemoryAnswer) -> MemoryFinding | None:
    """Blocks made by the reducer are at least a tenth of the peak."""
    held = [h for h in answer.holders if "educer" in h.site.operator + h.site.stack]
    size = sum(h.size for h in held)
    if not held or size < _SHARE * answer.peak:
        return None
    return finding(
        answer, "ddp-buckets", "m10", "DDP's buckets copy the gradients", size=size,
        evidence=(f"{size_text(size)} in {sum(h.blocks for h in held)} blocks of the reducer",),
        advice="DistributedDataParallel(model, gradient_as_bucket_view=True).",
    )  # fmt: skip
