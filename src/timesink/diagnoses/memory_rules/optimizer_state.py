"""m2: the optimizer's state, made in its first step, is a large part of the peak."""

from __future__ import annotations

from timesink.diagnoses.memory_rule import finding, of, size_text, where
from timesink.model.memory import Category, MemoryAnswer, MemoryFinding

_SHARE = 0.3


def check(answer: MemoryAnswer) -> MemoryFinding | None:
    """At least 30 % of the peak, and more than the activations."""
    size = of(answer, Category.OPTIMIZER)
    if size < _SHARE * answer.peak or size <= of(answer, Category.ACTIVATIONS):
        return None
    held = [h for h in answer.holders if h.category is Category.OPTIMIZER]
    return finding(
        answer, "optimizer-state", "m2", "The optimizer's state is a large part of the peak",
        size=size,
        evidence=(
            f"{size_text(size)} of {size_text(answer.peak)} at the peak",
            *(f"{size_text(h.size)} in {h.blocks} blocks at {where(h.site)}" for h in held[:3]),
        ),
        advice="Expected with Adam: two numbers per parameter, made in its first step (why the "
        "second step can fail where the first did not). Count it in, or use an 8-bit or a "
        "sharded optimizer, or one with less state.",
        line=held[0].site.line if held else "",
    )  # fmt: skip
