"""What a rule is, and the one place where its numbers become a finding."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from timesink.model.findings import Case, Evidence, Finding

#: A cause that costs less of a step is no finding: the step times of one process vary by about as
#: much from run to run, so nobody could tell whether removing it helped.
MINIMUM = 0.05


@dataclass(frozen=True, slots=True)
class Example:
    """A small case with a name; generates a test and, for the first that fires, documentation."""

    label: str
    case: Case


@dataclass(frozen=True, slots=True)
class Rule:
    """One row of the catalogue.

    ``check`` looks at a case and returns a finding or None; it never raises for missing evidence.
    ``needs`` says how to record what it looks at. ``specialises``: slugs of more general rules
    whose finding is left out when this one fires, as it explains the same time better.
    """

    number: int
    slug: str
    title: str
    symptom: str
    evidence: str
    advice: str
    needs: str
    check: Callable[[Case], Finding | None]
    fires: tuple[Example, ...]
    silent: tuple[Example, ...]
    specialises: tuple[str, ...] = ()


def finding(
    rule: str,
    number: int,
    title: str,
    *,
    cost_ns: float,
    step_ns: float,
    evidence: tuple[Evidence, ...],
    advice: str,
    intervention: str = "",
    caveat: str = "",
) -> Finding | None:
    """A finding, or None when its cost is below ``MINIMUM`` of a step.

    ``cost_ns`` is per step; it is an upper bound of what removing the cause can save and is
    never more than the step.
    """
    if step_ns <= 0:
        return None
    cost = min(max(cost_ns, 0.0), step_ns)
    share = cost / step_ns
    if share < MINIMUM:
        return None
    return Finding(rule, number, title, round(cost), share, evidence, advice, intervention, caveat)
