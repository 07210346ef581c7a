"""Rule 21: collections walk all objects again and again."""

from __future__ import annotations

from timesink.diagnoses import facts
from timesink.diagnoses.examples import case, healthy_cpu, healthy_gpu, light
from timesink.diagnoses.rule import Example, Rule, finding
from timesink.model.findings import Case, Evidence, Finding
from timesink.model.owners import Owner

_SLUG, _NUMBER = "gc-pauses", 21
_TITLE = "Python's garbage collector stops the loop"
_ADVICE = (
    "After set-up: gc.collect(); gc.freeze(). Or raise gc.set_threshold, or collect between "
    "epochs only."
)


def check(case: Case) -> Finding | None:
    """Time in collections: of all steady steps, else of the window."""
    step = facts.step_ns(case)
    if case.light is not None and facts.has_light(case):
        share = facts.light_share(case.light, case.light.gc_ns)
        where = f"of {len(case.light.steady())} steps' wall time"
    elif case.analysis is not None:
        share = case.analysis.breakdown.share(Owner.GARBAGE_COLLECTION)
        where = "of the recorded steps"
    else:
        return None
    return finding(
        _SLUG, _NUMBER, _TITLE,
        cost_ns=share * step, step_ns=step,
        evidence=(Evidence(f"{facts.percent(share)} {where} went into collections",
                           "Python GC", ns=round(share * step)),),
        advice=_ADVICE,
        intervention="gc-freeze",
        caveat="Cycles that are never collected keep their memory.",
    )  # fmt: skip


RULE = Rule(
    number=_NUMBER,
    slug=_SLUG,
    title=_TITLE,
    symptom="Some steps are slower for no reason in the model.",
    evidence="The light recorder's time in gc callbacks; `Python GC` rows in the trace.",
    advice=_ADVICE,
    needs="Nothing: always recorded by `timesink run`.",
    check=check,
    fires=(
        Example("many live objects", case(light=light(gc=0.12))),
        Example("in a trace", case({Owner.GARBAGE_COLLECTION: 0.08})),
    ),
    silent=(
        Example("cheap collections", case(light=light(gc=0.01))),
        Example("rare in the trace", case({Owner.GARBAGE_COLLECTION: 0.01})),
        Example("healthy CPU run", healthy_cpu()),
        Example("healthy GPU run", healthy_gpu()),
    ),
)
