"""m4: a forward pass keeps its graph although no backward follows."""

from __future__ import annotations

from timesink.diagnoses.memory_rule import finding, size_text, where
from timesink.model.memory import Category, MemoryAnswer, MemoryFinding

_SHARE, _BLOCKS = 0.3, 4


def check(answer: MemoryAnswer) -> MemoryFinding | None:
    """At the peak, many blocks of a forward pass are alive together whose graph no backward ever
    walks; without a graph a layer's input goes when its output is there. (What piles up from step
    to step is m1's or m7's.)"""
    if any(g.per_step >= 1024 for g in answer.growth):
        return None
    held = [
        h for h in answer.holders
        if h.site.phase == "forward" and h.site.line and h.site.line in answer.unwalked
        and h.category in (Category.ACTIVATIONS, Category.TEMPORARIES)
    ]  # fmt: skip
    size, blocks = sum(h.size for h in held), sum(h.blocks for h in held)
    if size < _SHARE * answer.peak or blocks < _BLOCKS:
        return None
    return finding(
        answer, "eval-with-grad", "m4", "A forward pass without backward keeps its graph",
        size=size,
        evidence=(
            f"{blocks} blocks of {size_text(size)} in all are alive together at the peak, and no "
            "backward pass ever frees one made there",
            *(f"{size_text(h.size)} in {h.blocks} blocks at {where(h.site)}" for h in held[:3]),
        ),
        advice="Evaluate under torch.inference_mode() (or torch.no_grad()): activations then go as "
        "soon as the next layer has used them.",
        line=held[0].site.line,
    )  # fmt: skip
