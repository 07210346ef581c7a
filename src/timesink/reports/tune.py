"""What ``tune`` found, as a document: the whole before and after, every try, what to change."""

from __future__ import annotations

from timesink.model.experiments import Experiment, Tuning
from timesink.reports.document import (
    Block,
    Code,
    Column,
    Document,
    Items,
    Paragraph,
    Section,
    Table,
)
from timesink.reports.experiment import command, distribution, numbers


def build(t: Tuning) -> Document:
    """The whole document."""
    made = [_verdict(t), _tries(t), _lines(t), _rest(t)]
    if t.final is not None:
        made[1:1] = [numbers(t.final), distribution(t.final)]
    subtitle = f"{command(t.command)} · {t.started}"
    return Document(f"Tuning: {t.name}", subtitle, tuple(s for s in made if s is not None))


def headline(t: Tuning) -> str:
    """The one sentence to read."""
    if t.final is not None and t.final.speed is not None:
        return f"{' + '.join(t.kept)}: {t.final.speed.text}"
    if not t.tries and not t.untried:
        return "Nothing to try: no finding of the profiled run names a change."
    if not t.tries:
        return "Nothing was tried: the budget is too small for a single comparison (--budget)."
    return "Nothing helped: the script stays as it is."


def _verdict(t: Tuning) -> Section:
    blocks: list[Block] = [Paragraph(headline(t), strong=True)]
    if t.final is not None and t.final.equivalence is not None:
        blocks.append(Paragraph(t.final.equivalence.text))
    blocks.append(Paragraph(f"Before: {t.headline}"))
    return Section("Verdict", tuple(blocks))


def _tries(t: Tuning) -> Section | None:
    if not t.tries:
        return None
    columns = (
        Column("change"), Column("result"), Column("training"), Column("before", "time"),
        Column("after", "time"), Column(""),
    )  # fmt: skip
    rows = tuple(_row(e, t) for e in t.tries)
    return Section("What was tried", (Table("tries", columns, rows, brief=100),))


def _row(e: Experiment, t: Tuning) -> tuple[object, ...]:
    label = e.design.change.label
    return (
        label,
        e.speed.text if e.speed else "",
        e.equivalence.verdict if e.equivalence else "",
        (e.speed.before_ns or None) if e.speed else None,
        (e.speed.after_ns or None) if e.speed else None,
        "kept" if label in t.kept else "",
    )


def _lines(t: Tuning) -> Section | None:
    if not t.code:
        return None
    return Section("The lines to change", (Code("\n".join(t.code)),))


def _rest(t: Tuning) -> Section | None:
    lines = [*t.by_hand, *(f"Not tried: {text}" for text in t.untried)]
    return Section("Left for you", (Items(tuple(lines)),)) if lines else None
