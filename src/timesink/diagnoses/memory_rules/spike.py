"""m8: one temporary makes the peak."""

from __future__ import annotations

from timesink.diagnoses.memory_rule import finding, size_text, where
from timesink.model.memory import MemoryAnswer, MemoryFinding

_SHARE = 0.4


def check(answer: MemoryAnswer) -> MemoryFinding | None:
    """Without the temporaries of one line the peak would be at least 40 % lower, and a single one
    of them is as large."""
    if not answer.relief:
        return None
    line, saved, holder = answer.relief[0]
    if saved < _SHARE * answer.peak or holder.largest < _SHARE * answer.peak:
        return None
    return finding(
        answer, "temporary-spike", "m8", "A temporary makes the peak", size=saved,
        evidence=(
            f"{size_text(holder.largest)} for a moment at {where(holder.site)}",
            f"without that line's temporaries the peak would be {size_text(answer.peak - saved)} "
            f"instead of {size_text(answer.peak)}",
        ),
        advice="Do it in chunks, in place, or by a fused operator (scaled_dot_product_attention, "
        "cross_entropy on fewer rows, a loop over parts).",
        line=line,
    )  # fmt: skip
