"""Rule 10: the optimizer runs a handful of small operators per parameter tensor."""

from __future__ import annotations

import re

from timesink.diagnoses import facts
from timesink.diagnoses.examples import case, healthy_cpu, healthy_gpu, light, op, run
from timesink.diagnoses.rule import Example, Rule, finding
from timesink.model.findings import Case, Evidence, Finding
from timesink.model.owners import Owner, Phase
from timesink.model.results import OpRow

_SLUG, _NUMBER = "optimizer-per-tensor", 10
_TITLE = "The optimizer updates tensor by tensor"
_ADVICE = (
    "Let the optimizer handle all tensors at once: Adam(..., fused=True), or foreach=True where "
    "fused is not supported."
)


def _loop() -> list[OpRow]:
    names = ("aten::addcdiv_", "aten::mul_", "aten::addcmul_", "aten::lerp_")
    return [op(n, 200, 5, phase=Phase.OPTIMIZER) for n in names]


#: With fewer tensors than this the time goes into the arithmetic, not into calling.
_TENSORS = 20


def check(case: Case) -> Finding | None:
    """Host time of the optimizer where it goes through tensors one by one."""
    a = case.analysis
    if a is None:
        return None
    rows = [r for r in a.ops if r.phase is Phase.OPTIMIZER and r.name.startswith("aten::")]
    fused = [r for r in a.ops if re.search(r"_fused_(adam|sgd|adagrad)", r.name)]
    each = sorted((r for r in rows if not re.search(r"foreach|zero|empty", r.name)),
                  key=lambda r: -r.cpu_total_ns)  # fmt: skip
    updates = [r.calls for r in each if r.name.endswith("_")]
    grouped = any("_foreach_" in r.name and r.device_total_ns for r in rows)
    # Under foreach on a device, step counts on the host are still added one by one.
    if fused or grouped or max(updates, default=0) < _TENSORS * a.steps_counted:
        return None
    return finding(
        _SLUG, _NUMBER, _TITLE,
        cost_ns=a.breakdown.share(Owner.OPTIMIZER) * a.breakdown.mean_step_ns,
        step_ns=facts.step_ns(case),
        evidence=(
            *(Evidence(o, "Optimizer") for o in (case.run.optimizers if case.run else ())),
            *(facts.op_evidence(r, a.steps_counted) for r in each[:4]),
        ),
        advice=_ADVICE,
        intervention="fused-optimizer",
        caveat="The result may differ in the last bits. The arithmetic itself stays: the bound is "
        "the optimizer's whole time.",
    )  # fmt: skip


RULE = Rule(
    number=_NUMBER,
    slug=_SLUG,
    title=_TITLE,
    symptom="A step of the optimizer takes longer on the host than its arithmetic needs.",
    evidence="`Optimizer.step#` on the host, with per-tensor `aten::addcdiv_`, `aten::mul_` "
    "instead of `_foreach_*` or `_fused_*`.",
    advice=_ADVICE,
    needs="Nothing: always recorded.",
    check=check,
    fires=(
        Example("Adam with foreach=False", case({Owner.OPTIMIZER: 0.4}, ops=_loop())),
        Example(
            "on a GPU",
            case(
                {Owner.OPTIMIZER: 0.2},
                device=True,
                ops=_loop(),
                run=run(optimizers=("Adam(200 tensors, foreach=False)",)),
            ),
        ),
    ),
    silent=(
        Example(
            "fused",
            case(
                {Owner.OPTIMIZER: 0.4}, ops=[op("aten::_fused_adam_", 1, 40, phase=Phase.OPTIMIZER)]
            ),
        ),
        Example(
            "foreach",
            case(
                {Owner.OPTIMIZER: 0.2},
                ops=[op("aten::_foreach_addcdiv_", 4, 20, phase=Phase.OPTIMIZER)],
            ),
        ),
        Example(
            "foreach on a GPU with step counts on the host",
            case(
                {Owner.OPTIMIZER: 0.2},
                device=True,
                ops=[
                    op("aten::_foreach_addcdiv_", 4, 20, phase=Phase.OPTIMIZER, device_ms=5),
                    op("aten::add_", 200, 5, phase=Phase.OPTIMIZER),
                ],
            ),
        ),
        Example(
            "cheap beside the model", case({Owner.OPTIMIZER: 0.02}, ops=_loop(), light=light())
        ),
        Example("healthy CPU run", healthy_cpu()),
        Example("healthy GPU run", healthy_gpu()),
    ),
)
