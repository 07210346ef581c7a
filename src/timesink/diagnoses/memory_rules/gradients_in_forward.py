"""m9: gradients live on through the next forward pass."""

from __future__ import annotations

from timesink.diagnoses.memory_rule import finding, of, size_text
from timesink.model.memory import Category, MemoryAnswer, MemoryFinding

_SHARE = 0.2


def check(answer: MemoryAnswer) -> MemoryFinding | None:
    """At a peak inside the forward pass, gradients of the step before are a fifth of it."""
    size = of(answer, Category.GRADIENTS)
    if answer.peak_phase != "forward" or size < _SHARE * answer.peak:
        return None
    return finding(
        answer, "gradients-in-forward", "m9", "Gradients live through the forward pass", size=size,
        evidence=(f"{size_text(size)} of gradients at the peak, which is in forward",),
        advice="optimizer.zero_grad(set_to_none=True) right after optimizer.step(). With gradient "
        "accumulation they are needed.",
    )  # fmt: skip
