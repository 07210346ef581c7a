"""Rule 28: nn.DataParallel copies the model to every device in every step."""

from __future__ import annotations

from timesink.diagnoses import facts
from timesink.diagnoses.examples import case, healthy_cpu, healthy_gpu, op, usage
from timesink.diagnoses.rule import Example, Rule, finding
from timesink.model.findings import Case, Evidence, Finding

_SLUG, _NUMBER = "data-parallel", 28
_TITLE = "One process drives several devices (DataParallel)"
_ADVICE = "Use one process per device: torchrun with DistributedDataParallel."


def check(case: Case) -> Finding | None:
    """Idle time of several devices of one process under DataParallel's own operators."""
    a = case.analysis
    if a is None or len([u for u in a.usage if u.rows]) < 2:
        return None
    rows = facts.ops_like(
        a.ops, r"(Scatter|Gather|Broadcast|ReduceAddCoalesced)(Backward)?$|DataParallel"
    )
    named = [r for r in a.ranges if r.name.startswith("DataParallel")]
    if not rows and not named:
        return None
    idle = min(u.idle_ns / u.span_ns for u in a.usage if u.span_ns)
    return finding(
        _SLUG, _NUMBER, _TITLE,
        cost_ns=idle * facts.step_ns(case), step_ns=facts.step_ns(case),
        evidence=(Evidence(f"{len(a.usage)} devices in one process; the busiest is idle "
                           f"{facts.percent(idle)} of the time"),
                  *(facts.op_evidence(r, a.steps_counted) for r in rows[:3])),
        advice=_ADVICE,
        caveat="The batch of a DDP process is its own: divide it by the number of processes.",
    )  # fmt: skip


RULE = Rule(
    number=_NUMBER,
    slug=_SLUG,
    title=_TITLE,
    symptom="One process feeds all devices, and the first of them does more than the others.",
    evidence="Rows of several devices in one process, with `Scatter`, `Gather`, `Broadcast` or "
    "`DataParallel` rows.",
    advice=_ADVICE,
    needs="Device rows.",
    check=check,
    fires=(
        Example(
            "two devices",
            case(
                device=True,
                usage=[usage(0, 0.6), usage(1, 0.4)],
                ops=[op("Scatter", 1, 5), op("Gather", 1, 5)],
            ),
        ),
        Example(
            "four devices",
            case(
                device=True, usage=[usage(i, 0.3) for i in range(4)], ops=[op("Broadcast", 1, 20)]
            ),
        ),
    ),
    silent=(
        Example("model parallel", case(device=True, usage=[usage(0, 0.5), usage(1, 0.5)])),
        Example("one device", case(device=True, ops=[op("Gather", 1, 5)])),
        Example(
            "well fed",
            case(device=True, usage=[usage(0, 0.98), usage(1, 0.98)], ops=[op("Scatter", 1, 1)]),
        ),
        Example("healthy CPU run", healthy_cpu()),
        Example("healthy GPU run", healthy_gpu()),
    ),
)
