"""What memory rules share: a finding with its share of the peak, and sizes as text."""

from __future__ import annotations

from timesink.model.memory import Category, MemoryAnswer, MemoryFinding, Site


def finding(
    answer: MemoryAnswer,
    rule: str,
    number: str,
    title: str,
    *,
    size: int,
    evidence: tuple[str, ...],
    advice: str,
    line: str = "",
) -> MemoryFinding:
    """A finding; ``size`` bytes are what removing the cause saves at most."""
    share = min(1.0, size / answer.peak) if answer.peak else 0.0
    return MemoryFinding(rule, number, title, size, share, evidence, advice, line)


def of(answer: MemoryAnswer, category: Category) -> int:
    """Bytes of a category at the peak."""
    return sum(size for c, size, _ in answer.categories if c is category)


def size_text(size: float) -> str:
    """``1.50 GiB``: binary units, as torch's own messages use."""
    for unit, scale in (("TiB", 2**40), ("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if abs(size) >= scale:
            return f"{size / scale:.3g} {unit}"
    return f"{size:.0f} B"


def where(site: Site) -> str:
    """A site for a sentence."""
    place = site.line or site.stack.partition(";")[0] or "an unknown place"
    module = f" in {site.module}" if site.module else ""
    operator = f" ({site.operator}{module})" if site.operator else module
    return place + operator
