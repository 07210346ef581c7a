"""Runs all rules on a case, orders what they find, and says what could not be looked at."""

from __future__ import annotations

from timesink.diagnoses.catalogue import rules
from timesink.diagnoses.rule import Rule
from timesink.diagnoses.verdict import verdict
from timesink.model.findings import Case, Diagnosis, Finding


def diagnose(case: Case) -> Diagnosis:
    """Verdict and findings, most expensive first; never raises."""
    found: list[Finding] = []
    failed: list[str] = []
    known = rules()
    for rule in known:
        try:
            result = rule.check(case)
        except Exception as error:  # a defect of one rule must not cost the report
            failed.append(f"Rule {rule.slug} failed: {type(error).__name__}: {error}")
            continue
        if result is not None:
            found.append(result)
    kept = _specific(found, known)
    kept.sort(key=lambda f: (-f.share, f.number))
    findings = tuple(kept)
    return Diagnosis(verdict(case, findings), findings, (*_missing(case), *failed))


def _specific(found: list[Finding], known: tuple[Rule, ...]) -> list[Finding]:
    """Leave out general findings whose time a more specific one explains."""
    fired = {f.rule for f in found}
    explained = {g for r in known if r.slug in fired for g in r.specialises}
    return [f for f in found if f.rule not in explained]


def _missing(case: Case) -> tuple[str, ...]:
    """What was not recorded, and how to record it."""
    out = []
    a = case.analysis
    if a is None:
        out.append("No trace: where time goes inside a step is unknown.")
    elif a.breakdown.has_device and not a.breakdown.device_known:
        out.append("Device time is unknown: launches were recorded, but no device rows.")
    if a is not None:
        if not a.info.with_stack and not any(r.line for r in a.runtime):
            out.append("Python lines were not recorded: `timesink run --with-stack`.")
        if not a.memory:
            out.append("Memory was not recorded: `timesink run --memory`.")
        if a.info.record_shapes is False or (
            a.info.record_shapes is None and not any(t.shape for t in a.trends)
        ):
            out.append("Input shapes were not recorded: leave out `--no-shapes`.")
    if case.light is None and case.run is None:
        out.append("Only the window was recorded; `timesink run` also times all other steps.")
    return tuple(out)
