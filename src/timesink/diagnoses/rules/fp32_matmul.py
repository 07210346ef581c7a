"""Rule 17: float32 products that do not use tensor cores."""

from __future__ import annotations

from timesink.diagnoses import facts
from timesink.diagnoses.examples import case, healthy_cpu, healthy_gpu, kernel
from timesink.diagnoses.rule import Example, Rule, finding
from timesink.model.findings import Case, Evidence, Finding
from timesink.model.owners import Owner

_SLUG, _NUMBER = "fp32-matmul", 17
_TITLE = "Matrix products run in full float32 on tensor-core hardware"
_ADVICE = (
    "Allow TF32: torch.set_float32_matmul_precision('high'); or use bf16 autocast, which halves "
    "memory traffic as well."
)


#: Tensor cores for float32 inputs (TF32) came with this compute capability.
_TF32 = (8, 0)
_TENSOR_CORES = r"tf32|tensorop|bf16|f16|s1688|s16816|xmma"


def check(case: Case) -> Finding | None:
    """Device time of plain float32 matrix kernels, as a share of the step."""
    a = case.analysis
    if a is None or not facts.device_known(a):
        return None
    if not any(d.capability >= _TF32 for d in a.info.devices if d.capability):
        return None
    rows = [
        r
        for r in facts.kernels_like(a.kernels, r"sgemm|simt.*f32|fp32_simt")
        if not facts.kernels_like([r], _TENSOR_CORES)
    ]
    return finding(
        _SLUG, _NUMBER, _TITLE,
        cost_ns=min(facts.per_step(a, sum(r.total_ns for r in rows)),
                    a.breakdown.share(Owner.DEVICE_COMPUTE) * a.breakdown.mean_step_ns),
        step_ns=facts.step_ns(case),
        evidence=tuple(facts.kernel_evidence(r, a.steps_counted) for r in rows[:4])
        or (Evidence(""),),
        advice=_ADVICE,
        intervention="tf32",
        caveat="Changes numerics: TF32 keeps 10 bits of mantissa in products.",
    )  # fmt: skip


RULE = Rule(
    number=_NUMBER,
    slug=_SLUG,
    title=_TITLE,
    symptom="Most device time is in sgemm kernels although the device has tensor cores.",
    evidence="Kernels named `sgemm` without `tf32`/`tensorop`, on compute capability 8.0 or later.",
    advice=_ADVICE,
    needs="Device rows and deviceProperties.",
    check=check,
    fires=(
        Example(
            "A100 in float32",
            case(
                device=True,
                gpu="NVIDIA A100",
                capability=(8, 0),
                kernels=[kernel("ampere_sgemm_128x64_nn", 30, 60)],
            ),
        ),
        Example(
            "CUTLASS without tensor cores",
            case(
                device=True,
                gpu="RTX 4090",
                capability=(8, 9),
                kernels=[kernel("cutlass_80_simt_sgemm_64x64", 30, 25)],
            ),
        ),
    ),
    silent=(
        Example(
            "V100 has no TF32",
            case(
                device=True,
                gpu="Tesla V100",
                capability=(7, 0),
                kernels=[kernel("volta_sgemm_128x64_nn", 30, 60)],
            ),
        ),
        Example(
            "TF32 already",
            case(
                device=True,
                gpu="NVIDIA A100",
                capability=(8, 0),
                kernels=[kernel("cutlass_80_tensorop_s1688gemm_tf32", 30, 60)],
            ),
        ),
        Example(
            "a small part of the step",
            case(
                device=True,
                gpu="A100",
                capability=(8, 0),
                kernels=[kernel("ampere_sgemm_32x32_nn", 3, 1)],
            ),
        ),
        Example("healthy CPU run", healthy_cpu()),
        Example("healthy GPU run", healthy_gpu()),
    ),
)
