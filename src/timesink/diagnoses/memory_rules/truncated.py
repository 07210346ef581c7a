"""m12: the history does not reach back to where most of the memory was made."""

from __future__ import annotations

from timesink.diagnoses.memory_rule import finding, of, size_text
from timesink.model.memory import Category, MemoryAnswer, MemoryFinding

_SHARE = 0.5


def check(answer: MemoryAnswer) -> MemoryFinding | None:
    """Half of the peak was there before the first entry of a snapshot's history."""
    size = of(answer, Category.BEFORE)
    if answer.source != "snapshot" or not answer.events or size < _SHARE * answer.peak:
        return None
    return finding(
        answer, "history-truncated", "m12", "The history begins too late", size=size,
        evidence=(
            f"{size_text(size)} of {size_text(answer.peak)} at the peak were made before the first "
            f"of {answer.events:,} entries",
        ),
        advice="Start _record_memory_history before the model is made, with a larger max_entries: "
        "the history is a ring, and old entries are overwritten.",
    )  # fmt: skip
