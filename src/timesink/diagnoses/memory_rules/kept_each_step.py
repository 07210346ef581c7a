"""m7: something else is kept from every step: a cache, a list, a closure, a retained graph."""

from __future__ import annotations

from timesink.diagnoses.memory_rule import finding, size_text, where
from timesink.diagnoses.memory_rules.graph_kept import forward_growth
from timesink.model.memory import MemoryAnswer, MemoryFinding

_LEAST = 1024


def check(answer: MemoryAnswer) -> MemoryFinding | None:
    """Growth that is no graph's."""
    graphs = forward_growth(answer)
    grown = [g for g in answer.growth if g not in graphs and g.per_step > 0]
    rate = sum(g.per_step for g in grown)
    if rate < _LEAST:
        return None
    walked = any(g.site.phase == "backward" for g in grown)
    advice = (
        "Blocks of the backward pass stay: retain_graph=True, a hook on gradients, or a reference "
        "to them." if walked else "Give the cache or list a limit, or keep it on the CPU."
    )  # fmt: skip
    return finding(
        answer, "kept-each-step", "m7", "Something is kept from every step",
        size=sum(g.series[-1] - g.series[0] for g in grown),
        evidence=(
            f"{size_text(rate)} more each step over {grown[0].steps} steps",
            *(f"{size_text(g.per_step)} a step at {where(g.site)}" for g in grown[:4]),
        ),
        advice=advice, line=grown[0].site.line,
    )  # fmt: skip
