"""A prediction of memory, as a document."""

from __future__ import annotations

from timesink.model.memory import Category, Fit
from timesink.reports.document import Column, Document, Items, Paragraph, Section, Table
from timesink.reports.units import size


def build(f: Fit, title: str, batches: tuple[int, ...] = ()) -> Document:
    """The whole document."""
    sections = [
        Section("Verdict", (Paragraph(headline(f), strong=True), *_line(f))),
        _categories(f),
        _batches(f, batches),
        Section("What it cannot see", (Items(f.notes),)),
    ]
    return Document(f"Will it fit: {title}", f"device memory {size(f.capacity)}",
                    tuple(s for s in sections if s is not None))  # fmt: skip


def headline(f: Fit) -> str:
    """The one sentence."""
    used = f.once.total
    batch = f"A batch of {f.batch:,}" if f.batch else "The script as it is"
    word = "fits" if used <= f.capacity else "does not fit"
    text = f"{batch} {word}: {size(used)} of {size(f.capacity)} at the peak"
    if f.largest is None:
        return text + "."
    if not f.largest:
        return text + f"; no batch fits, {size(f.fixed)} are needed without one."
    return text + f"; the largest that fits is about {f.largest:,}."


def _line(f: Fit) -> tuple[Paragraph, ...]:
    if f.twice is None:
        return ()
    return (Paragraph(
        f"Measured at {f.batch:,} and {2 * f.batch:,} samples: {size(f.fixed)} whatever the batch, "
        f"and {size(f.per_sample)} per sample."
    ),)  # fmt: skip


def _categories(f: Fit) -> Section:
    columns = [Column("what"), Column("at the peak", "bytes")]
    twice = dict(f.twice.categories) if f.twice is not None else {}
    if f.twice is not None:
        columns.append(Column("twice the batch", "bytes"))
    rows = tuple(
        (_name(c), n, *((twice.get(c, 0),) if f.twice is not None else ()))
        for c, n in f.once.categories
    )
    return Section("What it is made of", (Table("fit", tuple(columns), rows),))


def _name(category: Category) -> str:
    return category.value


def _batches(f: Fit, asked: tuple[int, ...]) -> Section | None:
    if f.twice is None:
        return None
    several = [f.batch * k for k in (1, 2, 4, 8)]
    sizes = sorted({*several, *asked, f.largest or f.batch})
    columns = (Column("batch", "count"), Column("predicted peak", "bytes"), Column("fits"))
    rows = tuple((b, f.at(b), "yes" if f.at(b) <= f.capacity else "no") for b in sizes if b > 0)
    return Section("Other batch sizes", (Table("batches", columns, rows, brief=20),))
