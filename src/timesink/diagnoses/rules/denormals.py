"""Rule 27: values so small that the processor needs microcode for them."""

from __future__ import annotations

from timesink.diagnoses import facts
from timesink.diagnoses.examples import case, healthy_cpu, healthy_gpu, trend
from timesink.diagnoses.rule import Example, Rule, finding
from timesink.model.findings import Case, Evidence, Finding
from timesink.model.results import Trend

_SLUG, _NUMBER = "denormals", 27
_TITLE = "Operators slow down with the same shapes: denormal numbers, perhaps"
_ADVICE = "Flush them to zero: torch.set_flush_denormal(True) before training (x86 and some ARM)."


_STEPS = 5
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
    rises = sum(b > a for a, b in zip(row.total_ns, row.total_ns[1:], strict=False))
    return row.total_ns[-1] >= _GROWTH * row.total_ns[0] and rises >= len(row.calls) - 2


RULE = Rule(
    number=_NUMBER,
    slug=_SLUG,
    title=_TITLE,
    symptom="On a CPU, the same operator on the same shape takes longer from step to step.",
    evidence="One operator and shape, the same number of calls, a duration that keeps growing.",
    advice=_ADVICE,
    needs="Shapes (on by default) and a window of five steps or more.",
    check=check,
    fires=(
        Example(
            "decaying state", case(trends=[trend("aten::mul", [4] * 6, (5, 8, 12, 18, 26, 38))])
        ),
        Example(
            "two operators",
            case(
                trends=[
                    trend("aten::mul", [4] * 5, (2, 4, 6, 8, 10)),
                    trend("aten::add", [4] * 5, (2, 4, 6, 8, 9)),
                ]
            ),
        ),
    ),
    silent=(
        Example("steady", case(trends=[trend("aten::mul", [4] * 6, [10] * 6)])),
        Example(
            "more calls", case(trends=[trend("aten::mul", (1, 2, 3, 4, 5), (5, 10, 15, 20, 25))])
        ),
        Example(
            "a single slow step", case(trends=[trend("aten::mul", [4] * 6, (5, 5, 5, 5, 5, 30))])
        ),
        Example(
            "on a GPU",
            case(device=True, trends=[trend("aten::mul", [4] * 6, (5, 8, 12, 18, 26, 38))]),
        ),
        Example("healthy CPU run", healthy_cpu()),
        Example("healthy GPU run", healthy_gpu()),
    ),
)
