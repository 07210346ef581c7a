"""Rule 4: more loader workers than cores, so that they and the model take turns."""

from __future__ import annotations

from timesink.diagnoses import facts
from timesink.diagnoses.examples import case, fetch, healthy_cpu, healthy_gpu, light, run
from timesink.diagnoses.rule import Example, Rule, finding
from timesink.model.findings import Case, Evidence, Finding
from timesink.model.owners import Owner

_SLUG, _NUMBER, _TITLE = "workers-oversubscribed", 4, "More loader workers than cores"
_ADVICE = (
    "Use no more workers than cores, and one thread in each: libraries such as OpenCV start a "
    "thread per core in every worker (cv2.setNumThreads(0), OMP_NUM_THREADS=1)."
)


def check(case: Case) -> Finding | None:
    """Workers beyond the usable cores while the step waits for data."""
    known, cores = facts.loader(case), facts.usable_cores(case)
    if known is None or not cores or known.num_workers <= cores:
        return None
    share, step = facts.data_share(case), facts.step_ns(case)
    return finding(
        _SLUG, _NUMBER, _TITLE,
        cost_ns=share * step, step_ns=step,
        evidence=(Evidence(f"num_workers={known.num_workers} on {cores} usable cores"),
                  Evidence(f"{facts.percent(share)} of a step still waits for data")),
        advice=_ADVICE,
        intervention=facts.with_workers(case, max(1, cores - 1)),
    )  # fmt: skip


_WAIT = {Owner.DATA_LOADING: 0.3}
RULE = Rule(
    number=_NUMBER,
    slug=_SLUG,
    title=_TITLE,
    symptom="Many workers, yet batches come late.",
    evidence="num_workers against the cores of the environment record, with data wait.",
    advice=_ADVICE,
    needs="`timesink run` (the environment record).",
    check=check,
    specialises=("input-bound-workers",),
    fires=(
        Example("16 workers on 2 cores", case(_WAIT, loaders=[fetch("Multi", 30)],
                light=light(data=0.3), run=run(workers=16, cpu_usable="2"))),
        Example("on a GPU machine", case(_WAIT, device=True, run=run(workers=32, cpu_usable="8"))),
    ),
    silent=(
        Example("as many as cores", case(_WAIT, run=run(workers=8, cpu_usable="8"))),
        Example("many, but nothing waits", case({Owner.DATA_LOADING: 0.01}, device=True,
                run=run(workers=16, cpu_usable="8"))),
        Example("healthy CPU run", healthy_cpu()),
        Example("healthy GPU run", healthy_gpu()),
    ),
)  # fmt: skip
