"""Rule 24: every backward result is tested for NaN."""

from __future__ import annotations

from timesink.diagnoses import facts
from timesink.diagnoses.examples import case, healthy_cpu, healthy_gpu, op, run
from timesink.diagnoses.rule import Example, Rule, finding
from timesink.model.findings import Case, Evidence, Finding
from timesink.model.owners import Phase
from timesink.model.results import OpRow

_SLUG, _NUMBER = "anomaly-mode", 24
_TITLE = "Anomaly detection is on"
_ADVICE = (
    "Remove torch.autograd.set_detect_anomaly(True) (and detect_anomaly): it is for hunting a "
    "NaN, not for training."
)


def _anomaly(calls: int) -> list[OpRow]:
    return [
        op(n, calls, 5, phase=Phase.BACKWARD) for n in ("aten::isnan", "aten::any", "aten::item")
    ]


#: NaN tests per step from which they are a mode and not a check of the user's on the loss.
_TESTS = 10
_PARTS = ("aten::isnan", "aten::any", "aten::item", "aten::is_nonzero")


def check(case: Case) -> Finding | None:
    """Time of the NaN tests in the backward pass."""
    a = case.analysis
    if a is None:
        return None
    tests = [r for r in a.ops if r.name == "aten::isnan" and r.phase is Phase.BACKWARD]
    if sum(r.calls for r in tests) < _TESTS * max(1, a.steps_counted):
        return None
    rows = [r for r in a.ops if r.phase is Phase.BACKWARD and r.name in _PARTS]
    wrapped = any(r.name == "aten::is_nonzero" for r in rows)  # it calls aten::item
    outer = [r for r in rows if not (wrapped and r.name == "aten::item")]
    tests_ns = sum(max(r.cpu_total_ns, r.device_total_ns) for r in outer)
    # Each forward operator also records its Python stack, within its own time: on a CPU, where
    # that time is on the critical path, the tests alone would be no upper bound.
    recorded = [] if a.breakdown.has_device else [r for r in a.ops if r.phase is Phase.FORWARD]
    return finding(
        _SLUG, _NUMBER, _TITLE,
        cost_ns=facts.per_step(a, tests_ns + sum(r.cpu_self_ns for r in recorded)),
        step_ns=facts.step_ns(case),
        evidence=(
            *(facts.op_evidence(r, a.steps_counted) for r in outer[:4]),
            *((Evidence("torch.is_anomaly_enabled() was True"),)
              if case.run and case.run.environment.get("torch.anomaly") == "True" else ()),
        ),
        advice=_ADVICE,
        intervention="no-anomaly",
        caveat="The bound counts all time in forward operators on a CPU: anomaly mode records a "
        "stack in each, and how much of their time that is cannot be seen.",
    )  # fmt: skip


RULE = Rule(
    number=_NUMBER,
    slug=_SLUG,
    title=_TITLE,
    symptom="The backward pass is several times slower than it should be.",
    evidence="`aten::isnan`, `aten::any` and `aten::item` after every backward function.",
    advice=_ADVICE,
    needs="Nothing: always recorded.",
    check=check,
    fires=(
        Example("left on", case(ops=_anomaly(60))),
        Example("known from the record", case(ops=_anomaly(30), run=run(torch_anomaly="True"))),
    ),
    silent=(
        Example("one test of the loss", case(ops=[op("aten::isnan", 1, 6, phase=Phase.BACKWARD)])),
        Example("tests in the forward", case(ops=[op("aten::isnan", 60, 9)])),
        Example("healthy CPU run", healthy_cpu()),
        Example("healthy GPU run", healthy_gpu()),
    ),
)
