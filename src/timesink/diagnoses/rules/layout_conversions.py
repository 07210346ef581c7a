"""Rule 18: cuDNN's kernels want channels last and convert on the way in and out."""

from __future__ import annotations

from timesink.diagnoses import facts
from timesink.diagnoses.examples import case, healthy_cpu, healthy_gpu, kernel
from timesink.diagnoses.rule import Example, Rule, finding
from timesink.model.findings import Case, Evidence, Finding

_SLUG, _NUMBER = "layout-conversions", 18
_TITLE = "Tensors are converted between memory layouts"
_ADVICE = (
    "Keep the layout that the kernels want: model.to(memory_format=torch.channels_last), and the "
    "same for the inputs."
)


def check(case: Case) -> Finding | None:
    """Device time of layout conversion kernels."""
    a = case.analysis
    if a is None or not facts.device_known(a):
        return None
    rows = facts.kernels_like(a.kernels, r"nchw_?to_?nhwc|nhwc_?to_?nchw")
    return finding(
        _SLUG, _NUMBER, _TITLE,
        cost_ns=facts.per_step(a, sum(r.total_ns for r in rows)), step_ns=facts.step_ns(case),
        evidence=tuple(facts.kernel_evidence(r, a.steps_counted) for r in rows[:4])
        or (Evidence(""),),
        advice=_ADVICE,
        intervention="channels-last",
        caveat="It can lose: only a measured before and after decides.",
    )  # fmt: skip


RULE = Rule(
    number=_NUMBER,
    slug=_SLUG,
    title=_TITLE,
    symptom="A visible part of device time goes to transposing.",
    evidence="Kernels named `nchwToNhwc`/`nhwcToNchw`.",
    advice=_ADVICE,
    needs="Device rows.",
    check=check,
    fires=(
        Example(
            "conversions around every convolution",
            case(
                device=True,
                kernels=[
                    kernel("void cudnn::ops::nchwToNhwcKernel<half>", 40, 8),
                    kernel("void cudnn::ops::nhwcToNchwKernel<half>", 40, 6),
                ],
            ),
        ),
        Example("one direction", case(device=True, kernels=[kernel("nchwToNhwcKernel", 20, 7)])),
    ),
    silent=(
        Example(
            "a few cheap ones", case(device=True, kernels=[kernel("nchwToNhwcKernel", 2, 0.2)])
        ),
        Example("no conversions", case(device=True, kernels=[kernel("conv2d_nhwc", 20, 60)])),
        Example("healthy CPU run", healthy_cpu()),
        Example("healthy GPU run", healthy_gpu()),
    ),
)
