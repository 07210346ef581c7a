"""Rule 27: values so small that the processor needs microcode for them."""

from __future__ import annotations

from itertools import pairwise

from timesink.diagnoses import facts
from timesink.diagnoses.examples import case, healthy_cpu, healthy_gpu, trend
from timesink.diagnoses.rule import Example, Rule, finding
from timesink.model.findings import Case, Evidence, Finding
from timesink.model.results import Trend

_SLUG, _NUMBER = "denormals", 27
_TITLE = "Operators slow down with the same shapes: denormal numbers, perhaps"
_ADVICE = "Flush them to zero: torch.set_flush_denormal(True) before training (x86 and some ARM)."


#: So many steps in a row that only rise are not chance: 1 in 8! for one operator, and some fifty
#: operators are looked at.
_STEPS = 8
_GROWTH = 2.0


def check(case: Case) -> Finding | None:
    """Growth of the time per call of single operators on a CPU."""
    a = case.analysis
    if a is None or a.breakdown.has_device:
        return None
    rows = [t for t in a.trends if _grows(t)]
    return finding(
        _SLUG, _NUMBER, _TITLE,
        cost_ns=sum(t.total_ns[-1] - t.total_ns[0] for t in rows), step_ns=facts.step_ns(case),
        evidence=tuple(
            Evidence(f"{t.name} {t.shape}: {facts.ms(t.total_ns[0])} in the first recorded step, "
                     f"{facts.ms(t.total_ns[-1])} in the last", t.name, sum(t.calls))
            for t in rows[:4]
        ) or (Evidence(""),),
        advice=_ADVICE,
        intervention="flush-denormal",
        caveat="A guess from the shape of the slowdown: only the measurement can confirm it.",
    )  # fmt: skip


def _grows(row: Trend) -> bool:
    if len(row.calls) < _STEPS or len(set(row.calls)) != 1 or not row.total_ns[0]:
        return False
    if row.name.startswith("autograd::"):
        return False
    rising = all(b > a for a, b in pairwise(row.total_ns))
    return rising and row.total_ns[-1] >= _GROWTH * row.total_ns[0]


_GROWING = (5, 8, 12, 18, 26, 38, 50, 70)
RULE = Rule(
    number=_NUMBER,
    slug=_SLUG,
    title=_TITLE,
    symptom="On a CPU, the same operator on the same shape takes longer from step to step.",
    evidence="One operator and shape, the same number of calls, a duration that keeps growing.",
    advice=_ADVICE,
    needs="Shapes (on by default) and a window of eight steps or more: `--active 8`.",
    check=check,
    fires=(
        Example("decaying state", case(trends=[trend("aten::mul", [4] * 8, _GROWING)])),
        Example(
            "two operators",
            case(
                trends=[
                    trend("aten::mul", [4] * 8, _GROWING),
                    trend("aten::add", [4] * 9, (2, 3, 4, 5, 6, 7, 8, 9, 10)),
                ]
            ),
        ),
    ),
    silent=(
        Example("steady", case(trends=[trend("aten::mul", [4] * 8, [10] * 8)])),
        Example("more calls", case(trends=[trend("aten::mul", range(1, 9), _GROWING)])),
        Example(
            "a noisy short window", case(trends=[trend("aten::mul", [4] * 5, (5, 8, 9, 12, 20))])
        ),
        Example(
            "a single slow step",
            case(trends=[trend("aten::mul", [4] * 8, (5, 5, 5, 5, 5, 5, 5, 30))]),
        ),
        Example("on a GPU", case(device=True, trends=[trend("aten::mul", [4] * 8, _GROWING)])),
        Example("healthy CPU run", healthy_cpu()),
        Example("healthy GPU run", healthy_gpu()),
    ),
)
