"""What ``tune`` tries next and what it keeps. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from timesink.errors import TimesinkError
from timesink.experiments.interventions import parse_all
from timesink.model.experiments import Experiment
from timesink.model.findings import Finding


def candidates(
    findings: Sequence[Finding],
    extra: Sequence[str],
    seen: Sequence[str],
    kept: Sequence[str] = (),
) -> tuple[str, ...]:
    """Interventions to try, by predicted gain; ``extra`` ones of the user's last.

    Of those that findings name, none of a kind that was settled already, and nothing that makes
    another training of it; of several joined by `` + `` the first is the point, and the others go
    along while unsettled. Of the user's own, each once, unless something of its kind is kept.
    """
    settled = _kinds(seen)
    found: dict[str, None] = {}
    for finding in sorted(findings, key=lambda f: -f.share):
        try:
            parts = parse_all([finding.intervention]) if finding.intervention else ()
        except TimesinkError:
            continue
        if not parts or parts[0].kind.name in settled:
            continue
        if all(i.kind.numerics != "training" for i in parts):
            found.setdefault(" + ".join(i.text for i in parts if i.kind.name not in settled))
    for text in extra:
        if text not in seen and not _kinds([text]) & (_kinds(kept) - {"env"}):
            found.setdefault(text)
    return tuple(found)


def _kinds(texts: Sequence[str]) -> set[str]:
    return {i.kind.name for i in parse_all(texts)}


def keeps(e: Experiment) -> bool:
    """Whether a change helped: faster for certain, and no difference in training that it does not
    explain. Where the script does not repeat itself, that cannot be known: then it is kept too."""
    if e.speed is None or e.speed.outcome != "faster":
        return False
    same = e.equivalence
    return same is not None and (same.verdict in ("bit-identical", "within tolerance")
                                 or (same.verdict == "diverges" and same.expected)
                                 or same.verdict == "unknown")  # fmt: skip


def by_hand(findings: Sequence[Finding]) -> tuple[str, ...]:
    """Findings without an intervention: what to do, in the finding's words."""
    return tuple(f"{f.title}: {f.advice}" for f in findings if not f.intervention)
