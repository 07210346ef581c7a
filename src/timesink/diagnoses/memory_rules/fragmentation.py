"""m5: free memory in the cache, but in pieces too small."""

from __future__ import annotations

from timesink.diagnoses.memory_rule import finding, size_text, where
from timesink.model.memory import MemoryAnswer, MemoryFinding

_SHARE, _OF_RESERVED = 0.3, 0.25


def check(answer: MemoryAnswer) -> MemoryFinding | None:
    """An allocation failed that the free bytes together would have held; or, without a failure,
    a third of what was reserved at most was never live together."""
    f, oom = answer.fragmentation, answer.oom
    if f is None:
        return None
    failed = oom is not None and oom.largest_free < oom.asked <= f.free + max(oom.device_free, 0)
    failed = failed and f.free >= _OF_RESERVED * min(f.reserved, 4 * (oom.asked if oom else 0))
    unused = answer.peak_reserved - answer.peak
    if not failed and (unused < _SHARE * answer.peak_reserved or not answer.events):
        return None
    evidence = [
        f"at most {size_text(answer.peak_reserved)} were reserved for at most "
        f"{size_text(answer.peak)} live at once",
        f"{size_text(f.free)} of {size_text(f.reserved)} reserved are free, the largest piece "
        f"{size_text(f.largest_free)}",
        f"{size_text(f.stuck)} lie in segments that also hold live blocks and cannot be returned "
        f"({f.segments} segments)",
    ]
    if oom is not None and failed:
        evidence.insert(0, f"{size_text(oom.asked)} asked for at {where(oom.site)} did not fit")
    return finding(
        answer, "fragmentation", "m5", "The free memory is in pieces",
        size=f.free if failed else unused,
        evidence=tuple(evidence),
        advice="PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True, before the program starts; and "
        "fewer different shapes (pad to a few lengths, drop the ragged last batch).",
        line=oom.site.line if oom is not None and failed else "",
    )  # fmt: skip
