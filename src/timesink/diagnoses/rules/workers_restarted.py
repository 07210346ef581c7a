"""Rule 3: workers are started anew for every epoch, and its first batch waits for them."""

from __future__ import annotations

from statistics import median

from timesink.diagnoses import facts
from timesink.diagnoses.examples import case, healthy_cpu, healthy_gpu, light, run
from timesink.diagnoses.rule import Example, Rule, finding
from timesink.model.findings import Case, Evidence, Finding

_SLUG, _NUMBER = "workers-restarted", 3
_TITLE = "Loader workers start anew at every epoch"
_ADVICE = "Keep the workers: DataLoader(persistent_workers=True)."
#: The first epoch pays for start-up in any case: only later ones can be saved.
_EPOCHS = 3


def check(case: Case) -> Finding | None:
    """The extra wait of the first fetch of each epoch but the first, spread over all steps."""
    known, light = facts.loader(case), case.light
    if light is None or known is None or not known.num_workers or known.persistent_workers:
        return None
    steady = light.steady()
    starts = [i for i in range(1, len(light)) if light.boundary[i] and light.kind[i] == "train"]
    if len(starts) < _EPOCHS - 1 or len(steady) < facts.FEW_STEPS:
        return None
    usual = median(light.data_ns[i] for i in steady)
    extra = sum(max(0.0, light.data_ns[i] - usual) for i in starts)
    step = sum(light.wall_ns) / len(light)
    return finding(
        _SLUG, _NUMBER, _TITLE,
        cost_ns=extra / len(light), step_ns=step,
        evidence=(Evidence(
            f"the first fetch of {len(starts)} epochs took "
            f"{facts.ms(extra / len(starts))} more than the {facts.ms(usual)} of the others",
            "DataLoader", len(starts), round(extra)),),
        advice=_ADVICE,
        intervention="persistent-workers",
        caveat="The workers keep their copy of the dataset: changes to it between epochs are not "
        "seen. One seed less is drawn, so random streams differ from the second epoch on.",
    )  # fmt: skip


RULE = Rule(
    number=_NUMBER,
    slug=_SLUG,
    title=_TITLE,
    symptom="Every epoch begins with a pause; steps in between do not wait.",
    evidence="The light recorder: data wait of each epoch's first step against the others.",
    advice=_ADVICE,
    needs="`timesink run` over at least three epochs.",
    check=check,
    fires=(
        Example("short epochs", case(light=light(40, epoch_every=10, epoch_data_ms=400),
                run=run(workers=4, epochs=4))),
        Example("without a trace", case(light=light(60, epoch_every=6, epoch_data_ms=200),
                run=run(workers=2, epochs=10))),
    ),
    silent=(
        Example("persistent workers", case(light=light(40, epoch_every=10, epoch_data_ms=400),
                run=run(workers=4, persistent=True, epochs=4))),
        Example("long epochs hide it", case(light=light(400, epoch_every=200, epoch_data_ms=400),
                run=run(workers=4, epochs=2))),
        Example("healthy CPU run", healthy_cpu()),
        Example("healthy GPU run", healthy_gpu()),
    ),
)  # fmt: skip
