"""Rule 12: the caching allocator goes back to the driver in every step."""

from __future__ import annotations

from timesink.diagnoses import facts
from timesink.diagnoses.examples import call, case, healthy_cpu, healthy_gpu
from timesink.diagnoses.rule import Example, Rule, finding
from timesink.model.findings import Case, Evidence, Finding
from timesink.model.owners import Owner

_SLUG, _NUMBER = "allocator-retries", 12
_TITLE = "Device memory is allocated in the steady state"
_ADVICE = (
    "Memory is nearly full or fragmented: a smaller batch, fewer changing shapes, or "
    "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True."
)


def check(case: Case) -> Finding | None:
    """Time in, and idle time after, driver allocations of the steady steps."""
    a = case.analysis
    if a is None:
        return None
    rows = facts.steady_driver_calls(a, "alloc")
    cost = facts.per_step(a, sum(max(r.total_ns, r.idle_ns) for r in rows))
    if facts.device_known(a):
        cost = min(cost, facts.device_idle_ns(a))  # behind a busy device it costs nothing
    return finding(
        _SLUG, _NUMBER, _TITLE,
        cost_ns=cost, step_ns=facts.step_ns(case),
        evidence=tuple(facts.runtime_evidence(r, a.steps_counted) for r in rows[:4])
        or (Evidence(""),),
        advice=_ADVICE,
        intervention="env:PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True",
    )  # fmt: skip


RULE = Rule(
    number=_NUMBER,
    slug=_SLUG,
    title=_TITLE,
    symptom="Steps stall in the driver, which synchronises the device.",
    evidence="`cudaMalloc` (or the vendor's counterpart) in steady steps, once a step or more.",
    advice=_ADVICE,
    needs="Device rows (runtime calls).",
    check=check,
    fires=(
        Example(
            "several a step",
            case({Owner.RUNTIME: 0.2}, device=True, runtime=[call("cudaMalloc", "alloc", 6, 12)]),
        ),
        Example(
            "AMD",
            case(
                {Owner.RUNTIME: 0.2},
                device=True,
                runtime=[call("hipMalloc", "alloc", 2, 8, idle_ms=9)],
            ),
        ),
    ),
    silent=(
        Example(
            "one at the start",
            case({Owner.RUNTIME: 0.2}, device=True, runtime=[call("cudaMalloc", "alloc", 0.2, 9)]),
        ),
        Example(
            "behind a busy device",
            case({Owner.RUNTIME: 0.04}, device=True, runtime=[call("cudaMalloc", "alloc", 2, 15)]),
        ),
        Example("cheap", case(device=True, runtime=[call("cudaMalloc", "alloc", 2, 0.5)])),
        Example("healthy CPU run", healthy_cpu()),
        Example("healthy GPU run", healthy_gpu()),
    ),
)
