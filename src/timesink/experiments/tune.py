"""What ``tune`` tries next and what it keeps. Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from timesink.errors import TimesinkError
from timesink.experiments.interventions import parse_all
from timesink.model.experiments import Experiment
from timesink.model.findings import Finding


def candidates(
    findings: Sequence[Finding], extra: Sequence[str], seen: Collection[str]
) -> tuple[str, ...]:
    """Interventions to try, by predicted gain; ``extra`` ones of the user's last. Nothing twice,
    nothing of a kind that was settled already, nothing that makes another training of it. Of
    several joined by `` + `` the first is the point; the others go along while unsettled."""
    settled = {i.kind.name for i in parse_all(seen)}
    ranked = sorted(findings, key=lambda f: -f.share)
    found: dict[str, None] = {}
    for text in [*(f.intervention for f in ranked), *extra]:
        try:
            parts = parse_all([text]) if text else ()
        except TimesinkError:
            continue
        if not parts or parts[0].kind.name in settled:
            continue
        if all(i.kind.numerics != "training" for i in parts):
            found.setdefault(" + ".join(i.text for i in parts if i.kind.name not in settled))
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
