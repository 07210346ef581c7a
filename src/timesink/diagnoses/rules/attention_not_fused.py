"""Rule 19: the attention matrix is written to memory and read back."""

from __future__ import annotations

from timesink.diagnoses import facts
from timesink.diagnoses.examples import case, healthy_cpu, healthy_gpu, kernel, op
from timesink.diagnoses.rule import Example, Rule, finding
from timesink.model.findings import Case, Evidence, Finding
from timesink.model.results import OpRow

_SLUG, _NUMBER = "attention-not-fused", 19
_TITLE = "Attention runs as separate matrix products and softmax"
_ADVICE = (
    "Use torch.nn.functional.scaled_dot_product_attention, with a mask in a form that keeps the "
    "flash or memory-efficient kernel (is_causal=True rather than a dense mask)."
)


def _attention(ms: float) -> list[OpRow]:
    return [op("aten::_softmax", 12, 1, device_ms=ms), op("aten::bmm", 24, 2, device_ms=ms)]


_FUSED = r"flash|fmha|mem_eff|cudnn.*attention|_attn_fwd|efficient_attention"


def check(case: Case) -> Finding | None:
    """Device time of softmax and batched products where no fused attention kernel runs.

    A softmax over classes is not attention: there must be at least two products per softmax.
    """
    a = case.analysis
    if a is None or not facts.device_known(a) or facts.kernels_like(a.kernels, _FUSED):
        return None
    softmax = facts.ops_like(a.ops, r"aten::_softmax(_backward_data)?$")
    products = facts.ops_like(a.ops, r"aten::(bmm|baddbmm)$")
    calls = sum(r.calls for r in softmax if r.name == "aten::_softmax")
    if not calls or sum(r.calls for r in products) < 2 * calls:
        return None
    rows = sorted([*softmax, *products], key=lambda r: -r.device_total_ns)
    return finding(
        _SLUG, _NUMBER, _TITLE,
        cost_ns=facts.per_step(a, sum(r.device_total_ns for r in rows)),
        step_ns=facts.step_ns(case),
        evidence=tuple(
            Evidence(f"{r.name}: {r.calls / max(1, a.steps_counted):.3g} calls and "
                     f"{facts.ms(r.device_total_ns / max(1, a.steps_counted))} of device time a "
                     "step", r.name, r.calls, r.device_total_ns)
            for r in rows[:4]
        ),
        advice=_ADVICE,
        caveat="The products stay, in another form: the bound counts all of their time.",
    )  # fmt: skip


RULE = Rule(
    number=_NUMBER,
    slug=_SLUG,
    title=_TITLE,
    symptom="Softmax and batched products of the sequence length squared take much of the device "
    "time.",
    evidence="`aten::_softmax` between `aten::bmm`, and no `flash_fwd`/`fmha` kernel.",
    advice=_ADVICE,
    needs="Device rows.",
    check=check,
    fires=(
        Example("hand-written attention", case(device=True, ops=_attention(15))),
        Example(
            "with its backward",
            case(
                device=True,
                ops=[*_attention(8), op("aten::_softmax_backward_data", 12, 1, device_ms=6)],
            ),
        ),
    ),
    silent=(
        Example(
            "flash attention",
            case(device=True, ops=_attention(15), kernels=[kernel("flash_fwd_kernel", 12, 20)]),
        ),
        Example(
            "a softmax over classes",
            case(device=True, ops=[op("aten::_softmax", 1, 1, device_ms=20)]),
        ),
        Example("cheap beside the rest", case(device=True, ops=_attention(0.5))),
        Example("healthy CPU run", healthy_cpu()),
        Example("healthy GPU run", healthy_gpu()),
    ),
)
