"""m3: memory is short, and activations are most of the peak."""

from __future__ import annotations

from timesink.diagnoses.memory_rule import finding, of, size_text, where
from timesink.model.memory import Category, MemoryAnswer, MemoryFinding

_SHARE, _SHORT = 0.5, 0.8


def check(answer: MemoryAnswer) -> MemoryFinding | None:
    """Only where memory ran out or nearly did: activations are most of any healthy peak."""
    short = answer.oom is not None or (
        answer.capacity > 0 and answer.peak_reserved >= _SHORT * answer.capacity
    )
    size = of(answer, Category.ACTIVATIONS)
    if not short or size < _SHARE * answer.peak:
        return None
    held = [h for h in answer.holders if h.category is Category.ACTIVATIONS]
    return finding(
        answer, "activations-peak", "m3", "Activations make the peak", size=size,
        evidence=(
            f"{size_text(size)} of {size_text(answer.peak)} at the peak, in {answer.peak_phase}",
            *(f"{size_text(h.size)} in {h.blocks} blocks at {where(h.site)}" for h in held[:4]),
        ),
        advice="torch.utils.checkpoint around the layers named above, a smaller batch with "
        "gradient accumulation, or autocast to bfloat16.",
        line=held[0].site.line if held else "",
    )  # fmt: skip
