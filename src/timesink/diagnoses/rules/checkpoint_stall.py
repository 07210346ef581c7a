"""Rule 25: checkpoints are written while the loop waits."""

from __future__ import annotations

from timesink.diagnoses import facts
from timesink.diagnoses.examples import case, healthy_cpu, healthy_gpu
from timesink.diagnoses.rule import Example, Rule, finding
from timesink.model.findings import Case, Evidence, Finding
from timesink.model.owners import Owner

_SLUG, _NUMBER = "checkpoint-stall", 25
_TITLE = "Saving stops the training"
_ADVICE = (
    "Save less often, or aside: torch.distributed.checkpoint.async_save, or copy to the host and "
    "write in a thread."
)


def check(case: Case) -> Finding | None:
    """Time in checkpoints while the device is idle."""
    a = case.analysis
    if a is None:
        return None
    share, step = a.breakdown.share(Owner.CHECKPOINT_IO), facts.step_ns(case)
    slowest = max((s.of(Owner.CHECKPOINT_IO) for s in a.breakdown.verdict_steps), default=0)
    return finding(
        _SLUG, _NUMBER, _TITLE,
        cost_ns=share * step, step_ns=step,
        evidence=(Evidence(f"{facts.percent(share)} of the recorded steps; at most "
                           f"{facts.ms(slowest)} in one step", "torch.save", ns=slowest),),
        advice=_ADVICE,
        caveat="The window holds a few steps: over the whole run the share depends on how often "
        "it saves.",
    )  # fmt: skip


RULE = Rule(
    number=_NUMBER,
    slug=_SLUG,
    title=_TITLE,
    symptom="A step stands still while a file is written.",
    evidence="`torch.save` (a `timesink::checkpoint` mark, or torch/serialization.py frames with "
    "stacks).",
    advice=_ADVICE,
    needs="`timesink run` marks torch.save; other traces need stacks.",
    check=check,
    fires=(
        Example("every step", case({Owner.CHECKPOINT_IO: 0.3})),
        Example("on a GPU", case({Owner.CHECKPOINT_IO: 0.1}, device=True)),
    ),
    silent=(
        Example("rare and small", case({Owner.CHECKPOINT_IO: 0.02})),
        Example("none", case()),
        Example("healthy CPU run", healthy_cpu()),
        Example("healthy GPU run", healthy_gpu()),
    ),
)
