"""What ``tune`` tries next and what it keeps. Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from timesink.errors import TimesinkError
from timesink.experiments.interventions import parse
from timesink.model.experiments import Experiment
from timesink.model.findings import Finding


def candidates(
    findings: Sequence[Finding], extra: Sequence[str], seen: Collection[str]
) -> tuple[str, ...]:
    """Interventions to try, by predicted gain; ``extra`` ones of the user's last. Nothing twice,
    nothing of a kind that was settled already, nothing that makes another training of it."""
    settled = {parse(s).kind.name for s in seen}
    ranked = sorted(findings, key=lambda f: -f.share)
    found: dict[str, None] = {}
    for text in [*(f.intervention for f in ranked), *extra]:
        try:
            intervention = parse(text) if text else None
        except TimesinkError:
            continue
        if intervention is None or intervention.kind.name in settled:
            continue
        if intervention.kind.numerics != "training":
            found.setdefault(intervention.text)
    return tuple(found)


def keeps(e: Experiment) -> bool:
    """Whether a change helped: faster for certain, and training still does the same."""
    if e.speed is None or e.speed.outcome != "faster":
        return False
    same = e.equivalence
    return same is not None and (same.verdict in ("bit-identical", "within tolerance")
                                 or (same.verdict == "diverges" and same.expected)
                                 or same.verdict == "unknown")  # fmt: skip


def by_hand(findings: Sequence[Finding]) -> tuple[str, ...]:
    """Findings without an intervention: what to do, in the finding's words."""
    return tuple(f"{f.title}: {f.advice}" for f in findings if not f.intervention)
