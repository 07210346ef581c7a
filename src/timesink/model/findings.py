"""Findings: what stands out, how much it costs, how it is known, what to try."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from timesink.model.results import Analysis
from timesink.model.run import LightSteps, RunRecord


@dataclass(frozen=True, slots=True)
class Case:
    """All evidence a rule may look at. A rule returns None where what it needs is missing."""

    analysis: Analysis | None = None
    run: RunRecord | None = None
    light: LightSteps | None = None


@dataclass(frozen=True, slots=True)
class Evidence:
    """One observed fact: the event's ``name``, how often, how long (ns), and the Python ``line``.

    ``text`` is the same as one readable sentence fragment, with units.
    """

    text: str
    name: str = ""
    count: int = 0
    ns: int = 0
    line: str = ""


@dataclass(frozen=True, slots=True)
class Finding:
    """One diagnosis.

    ``cost_ns`` is per step and an *upper bound* of the gain (Amdahl: what would be saved if the
    cause vanished); ``share`` the same as a fraction of the step. ``advice`` is the one change to
    try and why; ``intervention`` what ``timesink try --with`` takes ("num-workers=2"), "" where
    only the user can change the code. ``caveat`` names what the change may alter or a doubt.
    """

    rule: str  #: stable slug, e.g. "input-bound-no-workers"
    number: int  #: row of the catalogue, docs/rules.md
    title: str
    cost_ns: int
    share: float
    evidence: tuple[Evidence, ...]
    advice: str
    intervention: str = ""
    caveat: str = ""


Bound = Literal[
    "input", "device compute", "communication", "copies", "launch", "synchronisation",
    "cpu compute", "optimizer", "python", "memory allocator", "io", "mixed", "unknown",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Verdict:
    """The one-paragraph answer. ``bound`` is what limits the step; ``headline`` a short sentence
    ("Input-bound: 78 % of a step is spent waiting for data."), ``text`` the paragraph with the
    split and what to do next. ``healthy``: nothing stands out."""

    bound: Bound
    headline: str
    text: str
    healthy: bool


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The verdict with all findings, most expensive first.

    ``missing``: what rules could not look at and how to record it ("Python lines: --with-stack").
    """

    verdict: Verdict
    findings: tuple[Finding, ...]
    missing: tuple[str, ...] = ()
