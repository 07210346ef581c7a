"""Rule 16: guards fail and a function is compiled anew after the warm-up."""

from __future__ import annotations

from statistics import median

from timesink.diagnoses import facts
from timesink.diagnoses.examples import case, healthy_cpu, healthy_gpu, light
from timesink.diagnoses.rule import Example, Rule, finding
from timesink.model.findings import Case, Evidence, Finding

_SLUG, _NUMBER = "recompiles", 16
_TITLE = "torch.compile compiles again and again"
_ADVICE = (
    "Stop the recompiling: torch.compile(dynamic=True), mark_dynamic for the changing dimension, "
    "or pad inputs to fixed shapes. TORCH_LOGS=recompiles names the guard."
)


#: Compiling belongs to the first steps (one graph per phase and shape); later it is a defect.
_WARM = 10


def check(case: Case) -> Finding | None:
    """Extra wall time of steps with compilation after the warm-up."""
    light = case.light
    if light is None or len(light) <= _WARM:
        return None
    late = [i for i in range(_WARM, len(light)) if light.compiled[i]]
    if len(late) < 2:
        return None
    usual = median(light.wall_ns[i] for i in light.steady())
    after = range(_WARM, len(light))
    extra = sum(max(0.0, light.wall_ns[i] - usual) for i in late)
    return finding(
        _SLUG, _NUMBER, _TITLE,
        cost_ns=extra / len(after), step_ns=sum(light.wall_ns[i] for i in after) / len(after),
        evidence=(Evidence(
            f"a compiler ran in {len(late)} of {len(after)} steps after the first {_WARM}; such a "
            f"step takes {facts.ms(extra / len(late))} longer than the usual {facts.ms(usual)}",
            "torch.compile", len(late), round(extra)),),
        advice=_ADVICE,
        caveat="dynamic=True code can be slower per step than code for fixed shapes.",
    )  # fmt: skip


RULE = Rule(
    number=_NUMBER,
    slug=_SLUG,
    title=_TITLE,
    symptom="Some steps are many times slower than the others, long after the start.",
    evidence="The light recorder's steps in which a compiler ran; `_compile.compile_inner` in "
    "recorded steps.",
    advice=_ADVICE,
    needs="`timesink run` (all steps), or a window of several steps.",
    check=check,
    fires=(
        Example(
            "a new length every few steps",
            case(
                light=light(
                    wall_ms=[900 if i % 6 == 0 else 100 for i in range(60)],
                    compiled=range(0, 60, 6),
                )
            ),
        ),
        Example(
            "without a trace",
            case(
                light=light(
                    wall_ms=[500 if i in (20, 30, 40) else 50 for i in range(50)],
                    compiled=(0, 20, 30, 40),
                )
            ),
        ),
    ),
    silent=(
        Example(
            "compiled once at the start",
            case(light=light(wall_ms=[9000, 8000, *[100] * 48], compiled=(0, 1))),
        ),
        Example(
            "one late shape (last batch)",
            case(light=light(wall_ms=[*[100] * 49, 3000], compiled=(0, 49))),
        ),
        Example("healthy CPU run", healthy_cpu()),
        Example("healthy GPU run", healthy_gpu()),
    ),
)
