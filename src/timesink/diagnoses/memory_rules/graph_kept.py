"""m1: the loss or outputs are kept with their graph, so that every step's activations stay."""

from __future__ import annotations

from collections import Counter

from timesink.diagnoses.memory_rule import finding, size_text, where
from timesink.model.memory import Growth, MemoryAnswer, MemoryFinding

_ADVICE = (
    "Keep a number, not a tensor with its graph: loss.item() or loss.detach() where it is summed, "
    "output.detach() where outputs are listed; a hook that stores tensors stores their graph too."
)


def forward_growth(answer: MemoryAnswer) -> list[Growth]:
    """What grows and is part of a graph: of a line that backward walks elsewhere, or of one where
    several operators' results stay together."""
    grown = [g for g in answer.growth if g.site.phase == "forward" and g.per_step > 0]
    if (
        answer.source == "snapshot"
    ):  # forward is what a module's call made; in a trace, any operator
        return grown
    lines = Counter(g.site.line for g in grown)
    return [g for g in grown if g.site.line in answer.walked or lines[g.site.line] > 1]


def check(answer: MemoryAnswer) -> MemoryFinding | None:
    """Several sites of a forward pass grow, or one does by more than a number a step."""
    grown = forward_growth(answer)
    rate = sum(g.per_step for g in grown)
    if rate < 1024:  # a scalar a step is a log, not a graph
        return None
    kept = sum(g.series[-1] - g.series[0] for g in grown)
    left = grown[0].left
    end = f"; at that rate memory is used up in {left:,} steps" if left is not None else ""
    return finding(
        answer, "graph-kept", "m1", "Activations of past steps are kept", size=kept,
        evidence=(
            f"{size_text(rate)} more each step over {grown[0].steps} steps{end}",
            *(f"{size_text(g.per_step)} a step at {where(g.site)}" for g in grown[:4]),
        ),
        advice=_ADVICE, line=grown[0].site.line,
    )  # fmt: skip
