"""Two measurements side by side as a document: the step, who owns the change, then the rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from timesink.model.comparison import Comparison, Pair, RowPair
from timesink.model.owners import Owner
from timesink.reports import units
from timesink.reports.document import (
    Block,
    Column,
    Document,
    Items,
    Kind,
    Paragraph,
    Section,
    Table,
)

_UNITS: tuple[tuple[Kind, str], ...] = (
    ("time", "times"), ("share", "shares"), ("count", "counts"), ("bytes", "memory"),
)  # fmt: skip
#: The owners have their own table.
_OWNERS = {o.slug for o in Owner}


def build(c: Comparison, gates: Sequence[str] = ()) -> Document:
    """The whole document; ``gates`` are the sentences on ``--fail-if``."""
    blocks: list[Block] = [Paragraph(headline(c), strong=True)]
    spread = _spread(c)
    lines = [*([spread] if spread else []), *c.notes]
    blocks.append(Items(tuple(lines)))
    made = [Section("Verdict", tuple(blocks))]
    if gates:
        made.append(Section("Conditions", (Items(tuple(gates)),)))
    made += [*sections(c), *_environment(c)]
    return Document("Comparison", f"{c.before} → {c.after}", tuple(made))


def headline(c: Comparison) -> str:
    """``step time: 12.0 ms → 9.80 ms (−18.3 %)``."""
    return f"step time ({c.step_source}): {_arrow(c.step)}"


def _arrow(p: Pair) -> str:
    show = units.size if p.unit == "bytes" else units.time
    return f"{show(p.before)} → {show(p.after)} ({signed_share(p.change)})"


def signed_share(change: float | None) -> str:
    """``+5.0 %``, ``−18.3 %``, ``no change``."""
    if change is None:
        return units.UNKNOWN
    if change == 0:
        return "no change"
    if abs(change) < 0.001:
        return "within 0.1 %"
    return ("+" if change > 0 else "−") + units.share(abs(change))


def _spread(c: Comparison) -> str:
    if c.spread is None:
        return ""
    (low_a, high_a), (low_b, high_b) = c.spread
    return (
        f"Nine of ten single steps took {units.time(low_a)} to {units.time(high_a)} before and "
        f"{units.time(low_b)} to {units.time(high_b)} after."
    )


def sections(c: Comparison) -> tuple[Section, ...]:
    """What changed inside the step: also part of an experiment's page."""
    tables = (
        ("Operators by self CPU time, per step", "operators", c.ops),
        ("Operators by self device time, per step", "device-operators", c.device_ops),
        ("Kernels, per step", "kernels", c.kernels),
        ("Copies, per step", "copies", c.copies),
    )
    made = [_owners(c), _numbers(c), *(_rows(*t) for t in tables), _ranks(c)]
    return tuple(s for s in made if s is not None)


def _owners(c: Comparison) -> Section | None:
    if not c.owners:
        return None
    rows: list[tuple[object, ...]] = [
        (o.owner.value, float(o.before), float(o.after), _delta(float(o.delta)))
        for o in sorted(c.owners, key=lambda o: (-abs(o.delta), o.owner.value))
    ]
    sums = [sum(values) for values in zip(*((o.before, o.after) for o in c.owners), strict=True)]
    rows.append(("the recorded step", *map(float, sums), _delta(float(sums[1] - sums[0]))))
    columns = (Column("who"), Column("before", "time"), Column("after", "time"), Column("change"))
    table = Table("owners", columns, tuple(rows), brief=len(rows))
    return Section("Where the change is", (table,))


def _delta(ns: float) -> str:
    if ns == 0:
        return "0"
    return ("+" if ns > 0 else "−") + units.time(abs(ns))


def _numbers(c: Comparison) -> Section | None:
    made = []
    for kind, name in _UNITS:
        pairs = [p for p in c.numbers if p.unit == kind and p.name not in _OWNERS and _known(p)]
        columns = (Column(name), Column("before", kind), Column("after", kind), Column("change"))
        rows = tuple((label(p.name), p.before, p.after, _change(p)) for p in pairs)
        if rows:
            made.append(Table(f"numbers-{name}", columns, rows, brief=len(rows)))
    return Section("Numbers", tuple(made)) if made else None


def _change(p: Pair) -> str:
    """Of a share in points: a change of a share in percent would be read as points anyway."""
    if p.unit != "share" or p.delta is None:
        return signed_share(p.change)
    return f"{100 * p.delta:+.1f} points".replace("-", "−")


def label(name: str) -> str:
    """``peak_memory`` for a person: ``peak memory``."""
    return name.replace("_", " ")


def _known(p: Pair) -> bool:
    return p.before is not None or p.after is not None


def _rows(title: str, name: str, found: Sequence[RowPair]) -> Section | None:
    changed = [r for r in found if r.status != "same"]
    if not found:
        return None
    if not changed:
        return Section(title, (Paragraph("No change."),), detail=True)
    columns = tuple(Column(c) for c in ("name", "matched by", "calls", "time", "change"))
    rows = tuple(
        (
            r.name,
            r.detail,
            _both(r, units.number(r.calls_before), units.number(r.calls_after)),
            _both(r, units.time(r.ns_before), units.time(r.ns_after)),
            _delta(r.delta),
        )
        for r in changed
    )
    return Section(title, (Paragraph(_counts(found)), Table(name, columns, rows)))


def _both(r: RowPair, before: str, after: str) -> str:
    """``5 → 7``; a dash where it was not there."""
    return (
        f"{'–' if r.status == 'appeared' else before} → {'–' if r.status == 'vanished' else after}"
    )


def _counts(found: Iterable[RowPair]) -> str:
    """``12 changed, 3 appeared, 2 vanished, 40 the same``."""
    statuses = [r.status for r in found]
    named = (("changed", "changed"), ("appeared", "appeared"), ("vanished", "vanished"))
    parts = [f"{statuses.count(s):,} {text}" for s, text in (*named, ("same", "the same"))]  # type: ignore[arg-type]
    return ", ".join(parts) + "."


def _ranks(c: Comparison) -> Section | None:
    if not c.ranks:
        return None
    columns = (Column("rank"), Column("before", "time"), Column("after", "time"), Column("change"))
    rows = tuple((p.name, p.before, p.after, signed_share(p.change)) for p in c.ranks)
    return Section("Mean step by rank", (Table("ranks", columns, rows, brief=32),))


def _environment(c: Comparison) -> tuple[Section, ...]:
    if not c.environment:
        return (Section("Environment", (Paragraph("No difference is recorded."),), detail=True),)
    columns = (Column("field"), Column("before"), Column("after"))
    rows = tuple((n, a or units.UNKNOWN, b or units.UNKNOWN) for n, a, b in c.environment)
    return (Section("What differs around it", (Table("environment", columns, rows, brief=20),)),)
