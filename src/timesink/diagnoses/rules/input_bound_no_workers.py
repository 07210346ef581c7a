"""Rule 1: the process that trains also loads the data, and waits for itself."""

from __future__ import annotations

from statistics import median

from timesink.diagnoses import facts
from timesink.diagnoses.examples import case, fetch, healthy_cpu, healthy_gpu, light, run
from timesink.diagnoses.rule import Example, Rule, finding
from timesink.model.findings import Case, Evidence, Finding
from timesink.model.owners import Owner

_SLUG, _NUMBER, _TITLE = "input-bound-no-workers", 1, "Waiting for data, without loader workers"
_ADVICE = (
    "Load in worker processes: DataLoader(num_workers=N). Batches are then made while the model "
    "computes."
)


#: Handing a batch over from a worker takes about as long: a cheaper one is better made in place.
_HANDOVER_NS = 300_000


def check(case: Case) -> Finding | None:
    """Data wait of a loader without workers, on the critical path."""
    if facts.workers_seen(case) is not False:
        return None
    if _fetch_ns(case) < _HANDOVER_NS:
        return None
    share, step = facts.data_share(case), facts.step_ns(case)
    return finding(
        _SLUG, _NUMBER, _TITLE,
        cost_ns=share * step, step_ns=step,
        evidence=data_evidence(case, share),
        advice=_ADVICE,
        intervention=facts.with_workers(case, facts.better_workers(case)),
        caveat="Augmentation that draws random numbers gets another random stream in workers.",
    )  # fmt: skip


def _fetch_ns(case: Case) -> float:
    """How long one batch takes to make."""
    if case.light is not None and facts.has_light(case):
        return median(case.light.data_ns[i] for i in case.light.steady())
    if case.analysis is not None and case.analysis.loaders:
        return case.analysis.loaders[0].mean_ns
    return facts.data_share(case) * facts.step_ns(case)


def data_evidence(case: Case, share: float) -> tuple[Evidence, ...]:
    """The loader as configured, and its fetches as seen by both clocks."""
    out = []
    known = facts.loader(case)
    if known is not None:
        text = f"DataLoader over {known.dataset}: num_workers={known.num_workers}"
        out.append(Evidence(text, "DataLoader"))
    if case.light is not None and facts.has_light(case):
        steps = len(case.light.steady())
        seen = facts.light_share(case.light, case.light.data_ns)
        out.append(Evidence(
            f"{facts.percent(seen)} of the wall time of {steps} steps went by in the loader's "
            "__next__ (light recorder)", count=steps,
        ))  # fmt: skip
    if case.analysis is not None:
        for row in case.analysis.loaders[:1]:
            text = f"{row.name}: {row.calls} fetches, {facts.ms(row.mean_ns)} each"
            out.append(Evidence(text, row.name, row.calls, row.total_ns))
    return tuple(out) or (Evidence(f"{facts.percent(share)} of a step"),)


_WAIT = {Owner.DATA_LOADING: 0.6}
RULE = Rule(
    number=_NUMBER,
    slug=_SLUG,
    title=_TITLE,
    symptom="The device, or on a CPU the model, stands still while the next batch is made.",
    evidence="`enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__` while no device row "
    "runs; the light recorder's data wait over all steps.",
    advice=_ADVICE,
    needs="Nothing: always recorded.",
    check=check,
    fires=(
        Example("slow loader on a CPU", case(_WAIT, loaders=[fetch("Single", 60)],
                light=light(data=0.6), run=run(workers=0, cpu_usable="4"))),
        Example("old trace of a GPU", case(_WAIT, device=True, loaders=[fetch("Single", 60)])),
    ),
    silent=(
        Example("healthy CPU run", healthy_cpu()),
        Example("healthy GPU run", healthy_gpu()),
        Example("loading hidden behind the device", case({Owner.DATA_LOADING: 0.01}, device=True,
                loaders=[fetch("Single", 60)], run=run(workers=0))),
        Example("batches that a worker would hand over more slowly", case(
                {Owner.DATA_LOADING: 0.2}, step_ms=0.2, loaders=[fetch("Single", 0.04)])),
        Example("loader has workers", case(_WAIT, loaders=[fetch("Multi", 60)])),
    ),
)  # fmt: skip
