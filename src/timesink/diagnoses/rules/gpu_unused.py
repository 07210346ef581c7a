"""Rule 29: the model was never moved to the device."""

from __future__ import annotations

from timesink.diagnoses import facts
from timesink.diagnoses.examples import case, healthy_cpu, healthy_gpu, run
from timesink.diagnoses.rule import Example, Rule, finding
from timesink.model.findings import Case, Evidence, Finding
from timesink.model.owners import Owner

_SLUG, _NUMBER = "gpu-unused", 29
_TITLE = "There is a GPU, and nothing runs on it"
_ADVICE = "Move model and batches: model.to('cuda'), batch.to('cuda', non_blocking=True)."


def check(case: Case) -> Finding | None:
    """A GPU in the environment, and not one launch in the window."""
    a = case.analysis
    if a is None or case.run is None or a.breakdown.has_device:
        return None
    count = case.run.environment.get("gpu.count")
    if not count.isdigit() or int(count) == 0:
        return None
    compute = a.breakdown.share(Owner.FORWARD) + a.breakdown.share(Owner.BACKWARD)
    step = facts.step_ns(case)
    return finding(
        _SLUG, _NUMBER, _TITLE,
        cost_ns=compute * step, step_ns=step,
        evidence=(Evidence(f"{count} GPU in this machine, no launch and no device row in "
                           f"{a.steps_counted} steps", count=int(count)),),
        advice=_ADVICE,
        caveat="A tiny model can be faster on the processor: measure both.",
    )  # fmt: skip


RULE = Rule(
    number=_NUMBER,
    slug=_SLUG,
    title=_TITLE,
    symptom="Training runs on the processor although a device is there.",
    evidence="The environment record counts a GPU; the window has neither device rows nor "
    "launches.",
    advice=_ADVICE,
    needs="`timesink run` (the environment record).",
    check=check,
    fires=(
        Example("forgotten .to(device)", case(run=run(gpu_count="1"))),
        Example("several GPUs", case({Owner.DATA_LOADING: 0.2}, run=run(gpu_count="8"))),
    ),
    silent=(
        Example("no GPU", case(run=run(gpu_count="0"))),
        Example("unknown machine", case()),
        Example(
            "launches, but rows are missing", case(device=True, known=False, run=run(gpu_count="1"))
        ),
        Example("healthy CPU run", healthy_cpu()),
        Example("healthy GPU run", healthy_gpu()),
    ),
)
