"""``timesink compare``: two runs, traces or folders of ranks side by side."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from timesink.api.load import report
from timesink.model.comparison import Comparison, Pair
from timesink.model.report import Report

if TYPE_CHECKING:
    from timesink.experiments.gates import Checked
    from timesink.reports.document import Document


def compare(
    before: str | Path, after: str | Path, *, rank: int | None = None, cache: bool = True
) -> Comparison:
    """What changed from one run, trace or folder of ranks to another, per step.

    Raises ``TimesinkError`` where one of them cannot be read or has no step to compare.
    """
    from timesink.experiments.compare import compare as compared

    first, second = (report(path, rank=rank, cache=cache) for path in (before, after))
    return compared(*_told_apart(first, second, before, after))


def _told_apart(
    first: Report, second: Report, before: str | Path, after: str | Path
) -> tuple[Report, Report]:
    """Two files of one name in two folders are called by their paths."""
    if first.title != second.title:
        return first, second
    return dataclasses.replace(first, title=str(before)), dataclasses.replace(
        second, title=str(after)
    )


def check_gates(conditions: Sequence[str], c: Comparison) -> tuple[Checked, ...]:
    """Conditions such as ``step_time > 5%`` on a comparison; raises ``BadUsage`` for a bad one."""
    from timesink.experiments.gates import check, parse

    return tuple(check(gate, c) for gate in [parse(text) for text in conditions])


def comparison_page(c: Comparison, gates: Sequence[Checked] = ()) -> Document:
    """The comparison as a document for any renderer."""
    from timesink.reports.comparison import build

    return build(c, [g.text for g in gates])


def comparison_json(c: Comparison, gates: Sequence[Checked] = ()) -> bytes:
    """The comparison as JSON with a ``schema_version``; times are ns per step."""
    from timesink.reports.json_ import dump

    return dump(
        {
            "before": c.before,
            "after": c.after,
            "step_source": c.step_source,
            "numbers": [_pair(p) for p in (c.step, *c.numbers)],
            "owners": {
                o.owner.value: {"before": float(o.before), "after": float(o.after)}
                for o in c.owners
            },
            **{
                name: [dataclasses.asdict(r) for r in getattr(c, name)]
                for name in ("ops", "device_ops", "kernels", "copies")
            },
            "ranks": [_pair(p) for p in c.ranks],
            "environment": [{"field": f, "before": a, "after": b} for f, a, b in c.environment],
            "gates": [
                {"condition": g.gate.text, "value": g.value, "holds": g.holds} for g in gates
            ],
            "notes": c.notes,
        }
    )


def _pair(p: Pair) -> dict[str, Any]:
    return {**dataclasses.asdict(p), "delta": p.delta, "change": p.change}
