"""Rule 11: kernels are shorter than the time it takes to launch them."""

from __future__ import annotations

from timesink.diagnoses import facts
from timesink.diagnoses.examples import case, healthy_cpu, healthy_gpu, idle, launches
from timesink.diagnoses.rule import Example, Rule, finding
from timesink.model.findings import Case, Evidence, Finding
from timesink.model.owners import Owner
from timesink.model.results import IdleCause, IdleSummary

_SLUG, _NUMBER = "launch-bound", 11
_TITLE = "The device waits for the host to launch work"
_ADVICE = (
    "Give each launch more to do: larger batch, torch.compile(mode='reduce-overhead') or CUDA "
    "graphs, which launch many kernels at once."
)


#: Share of launches that must meet an empty queue: otherwise the host runs ahead.
_EMPTY = 0.5


def check(case: Case) -> Finding | None:
    """Idle time of the device while the host is busy launching, with an empty queue."""
    a = case.analysis
    if a is None or not facts.device_known(a) or a.launches is None:
        return None
    seen = a.launches
    single = seen.launches - seen.graph_launches
    # Rows of a graph share one launch: their delays say nothing about the host.
    if single <= seen.graph_launches or seen.queue_empty < _EMPTY * single:
        return None
    behind = max((_behind(i) for i in a.idle), default=0)
    span = max((u.span_ns for u in a.usage), default=0)
    share, step = behind / span if span else 0.0, facts.step_ns(case)
    return finding(
        _SLUG, _NUMBER, _TITLE,
        cost_ns=min(share * step, facts.per_step(a, behind), facts.device_idle_ns(a)), step_ns=step,
        evidence=(
            Evidence(f"{facts.percent(share)} of the device's time it waited for launches",
                     ns=behind),
            Evidence(f"{seen.queue_empty} of {seen.launches} kernels met an empty queue; a launch "
                     f"takes {facts.ms(seen.launch_call_mean_ns)}, a kernel "
                     f"{facts.ms(seen.kernel_mean_ns)} on average", count=seen.queue_empty),
            Evidence(f"{seen.short} kernels are shorter than 10 µs", count=seen.short),
        ),
        advice=_ADVICE,
        intervention="compile=reduce-overhead",
        caveat="Compiling takes time once; dropout and other random operators get another random "
        "stream.",
    )  # fmt: skip


def _behind(summary: IdleSummary) -> int:
    return sum(ns for cause, ns, _ in summary.causes if cause is IdleCause.LAUNCH)


RULE = Rule(
    number=_NUMBER,
    slug=_SLUG,
    title=_TITLE,
    symptom="The device is idle between many short kernels, though nothing waits for data.",
    evidence="Kernels start right after their launch returns (the queue is empty), and idle gaps "
    "end with a launch.",
    advice=_ADVICE,
    needs="Device rows.",
    check=check,
    fires=(
        Example(
            "small model",
            case(
                {Owner.RUNTIME: 0.5},
                device=True,
                launches=launches(),
                idle=idle({IdleCause.LAUNCH: 50}),
            ),
        ),
        Example(
            "beside some data wait",
            case(
                {Owner.DATA_LOADING: 0.1},
                device=True,
                launches=launches(),
                idle=idle({IdleCause.LAUNCH: 20, IdleCause.DATA: 10}),
            ),
        ),
    ),
    silent=(
        Example(
            "host runs ahead",
            case(
                {Owner.RUNTIME: 0.5},
                device=True,
                launches=launches(queue_empty=100),
                idle=idle({IdleCause.LAUNCH: 20}),
            ),
        ),
        Example(
            "idle between the steps only",
            case(
                {Owner.RUNTIME: 0.03},
                device=True,
                launches=launches(),
                idle=idle({IdleCause.LAUNCH: 20}),
            ),
        ),
        Example(
            "CUDA graphs",
            case(
                {Owner.RUNTIME: 0.5},
                device=True,
                launches=launches(graphs=990),
                idle=idle({IdleCause.LAUNCH: 20}),
            ),
        ),
        Example(
            "idle, but for data",
            case(
                {Owner.DATA_LOADING: 0.5},
                device=True,
                launches=launches(),
                idle=idle({IdleCause.DATA: 50}),
            ),
        ),
        Example("healthy CPU run", healthy_cpu()),
        Example("healthy GPU run", healthy_gpu()),
    ),
)
