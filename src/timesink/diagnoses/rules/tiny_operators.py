"""Rule 30: the time goes into calling thousands of operators that are too small to matter."""

from __future__ import annotations

from timesink.diagnoses import facts
from timesink.diagnoses.examples import case, healthy_cpu, healthy_gpu, op
from timesink.diagnoses.rule import Example, Rule, finding
from timesink.model.findings import Case, Evidence, Finding
from timesink.model.owners import Owner, Phase

_SLUG, _NUMBER = "tiny-operators", 30
_TITLE = "Thousands of tiny operators a step"
_ADVICE = (
    "Do it in one call: vectorise the loop, use torch._foreach_*, or torch.compile the function "
    "that holds it."
)


_CALLS = 1_000
#: A call shorter than this is mostly the price of calling.
_SHORT_NS = 20_000


def check(case: Case) -> Finding | None:
    """Self time of operators that are very short and, together, called very often: one in a loop,
    or the many of a deep model. Those of optimizers and of data loading have rules of their own."""
    a = case.analysis
    if a is None or not a.steps_counted:
        return None
    rows = [
        r for r in a.ops
        if r.cpu_self_ns < _SHORT_NS * r.calls and r.phase not in (Phase.OPTIMIZER, Phase.DATA)
    ]  # fmt: skip
    calls = sum(r.calls for r in rows)
    if calls < _CALLS * a.steps_counted:
        return None
    rows.sort(key=lambda r: -r.cpu_self_ns)
    hidden = a.breakdown.share(Owner.DEVICE_COMPUTE)
    return finding(
        _SLUG, _NUMBER, _TITLE,
        cost_ns=facts.per_step(a, sum(r.cpu_self_ns for r in rows)) * (1 - hidden),
        step_ns=facts.step_ns(case),
        evidence=(
            Evidence(
                f"{calls / a.steps_counted:,.0f} calls a step, "
                f"{facts.ms(sum(r.cpu_self_ns for r in rows) / calls)} each on average",
                count=calls,
            ),
            *(
                Evidence(
                    f"{r.name}: {r.calls / a.steps_counted:,.0f} calls a step, "
                    f"{facts.ms(r.cpu_self_ns / r.calls)} each",
                    r.name, r.calls, r.cpu_self_ns,
                )
                for r in rows[:4]
            ),
        ),
        advice=_ADVICE,
        intervention="compile",
        caveat="The profiler itself makes tiny operators look slower than they are: the bound is "
        "generous.",
    )  # fmt: skip


RULE = Rule(
    number=_NUMBER,
    slug=_SLUG,
    title=_TITLE,
    symptom="The time goes into calling operators rather than into their arithmetic.",
    evidence="Operators with a mean self time below 20 µs: 1,000 or more calls a step together.",
    advice=_ADVICE,
    needs="Nothing; `--with-stack` gives the Python lines.",
    check=check,
    fires=(
        Example(
            "a loop over rows", case(ops=[op("aten::select", 4000, 12), op("aten::add", 4000, 15)])
        ),
        Example("one operator", case(ops=[op("aten::copy_", 2000, 9)])),
        Example(
            "a deep model of small layers", case(ops=[op(f"aten::op{i}", 300, 3) for i in range(8)])
        ),
    ),
    silent=(
        Example("often, but long", case(ops=[op("aten::mm", 1500, 80)])),
        Example("often and cheap in all", case(ops=[op("aten::empty", 1200, 1)])),
        Example("hidden behind the device", case(device=True, ops=[op("aten::add", 2000, 15)])),
        Example("healthy CPU run", healthy_cpu()),
        Example("healthy GPU run", healthy_gpu()),
    ),
)
