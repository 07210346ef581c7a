"""m9: gradients live on through the next forward pass."""

from __future__ import annotations

from timesink.diagnoses.memory_rule import finding, of, size_text
from timesink.model.memory import Category, MemoryAnswer, MemoryFinding

_SHARE = 0.2


def check(answer: MemoryAnswer) -> MemoryFinding | None:
    """Without gradients in forward the peak would be at least a fifth lower."""
    size = answer.idle_gradients
    if size < _SHARE * answer.peak or not size:
        return None
    return finding(
        answer, "gradients-in-forward", "m9", "Gradients live through the forward pass", size=size,
        evidence=(
            f"{size_text(of(answer, Category.GRADIENTS))} of gradients at the peak, which is in "
            f"{answer.peak_phase}; without them there it would be {size_text(size)} lower",
        ),
        advice="optimizer.zero_grad(set_to_none=True) right after optimizer.step(). With gradient "
        "accumulation they are needed.",
    )  # fmt: skip
