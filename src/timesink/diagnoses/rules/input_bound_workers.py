"""Rule 2: there are workers, but they do not keep up."""

from __future__ import annotations

from timesink.diagnoses import facts
from timesink.diagnoses.examples import case, fetch, healthy_cpu, healthy_gpu, light, run
from timesink.diagnoses.rule import Example, Rule, finding
from timesink.diagnoses.rules.input_bound_no_workers import data_evidence
from timesink.model.findings import Case, Finding
from timesink.model.owners import Owner

_SLUG, _NUMBER, _TITLE = "input-bound-workers", 2, "Waiting for data although there are workers"
_ADVICE = (
    "Make a batch cheaper (decode and resize once, ahead of time) or use more workers, up to the "
    "cores; prefetch_factor helps only when batches take unequal time."
)


def check(case: Case) -> Finding | None:
    """Data wait of a loader with workers, on the critical path."""
    if facts.workers_seen(case) is not True:
        return None
    share, step = facts.data_share(case), facts.step_ns(case)
    known, cores = facts.loader(case), facts.usable_cores(case)
    workers = known.num_workers if known else 0
    more = not cores or workers < cores
    target = min(max(workers + 1, 2 * workers), cores or 2 * workers) if workers else 8
    return finding(
        _SLUG, _NUMBER, _TITLE,
        cost_ns=share * step, step_ns=step,
        evidence=data_evidence(case, share),
        advice=_ADVICE,
        intervention=facts.with_workers(case, target) if more else "prefetch-factor=4",
        caveat="" if more else f"All {cores} cores already have a worker: make batches cheaper.",
    )  # fmt: skip


_WAIT = {Owner.DATA_LOADING: 0.4}
RULE = Rule(
    number=_NUMBER,
    slug=_SLUG,
    title=_TITLE,
    symptom="The step waits for the queue that the workers fill.",
    evidence="`enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__` is long and no "
    "device row runs beside it.",
    advice=_ADVICE,
    needs="Nothing: always recorded.",
    check=check,
    fires=(
        Example("two slow workers", case(_WAIT, loaders=[fetch("Multi", 40)],
                light=light(data=0.4), run=run(workers=2, cpu_usable="8"))),
        Example("a worker on every core", case(_WAIT, device=True, loaders=[fetch("Multi", 40)],
                run=run(workers=8, cpu_usable="8"))),
    ),
    silent=(
        Example("healthy GPU run", healthy_gpu()),
        Example("healthy CPU run", healthy_cpu()),
        Example("workers keep up", case({Owner.DATA_LOADING: 0.01}, device=True,
                loaders=[fetch("Multi", 1)], run=run(workers=4))),
        Example("no workers", case(_WAIT, loaders=[fetch("Single", 40)], run=run(workers=0))),
    ),
)  # fmt: skip
