"""The ledger of experiments as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from timesink.reports.document import Column, Document, Items, Section, Table


def build(entries: Sequence[Mapping[str, Any]], damaged: int) -> Document:
    """Oldest first, as they were recorded."""
    columns = (
        Column("change"), Column("result"), Column("before", "time"), Column("after", "time"),
        Column("training"), Column("experiment"), Column("commit"),
    )  # fmt: skip
    rows = tuple(_row(e) for e in entries)
    blocks: list[Table | Items] = [Table("history", columns, rows, brief=10_000)]
    if not entries:
        blocks = [Items(("No experiment has been recorded yet.",))]
    if damaged:
        lines = "line" if damaged == 1 else "lines"
        blocks.append(Items((f"{damaged} {lines} of the ledger cannot be read.",)))
    return Document("Experiments", "", (Section("History", tuple(blocks)),))


def _row(e: Mapping[str, Any]) -> tuple[Any, ...]:
    base = f" (on {', '.join(e['base'])})" if e.get("base") else ""
    dirty = "+" if e.get("dirty") in ("true", "True", "yes", "1") else ""
    status = "" if e.get("status") == "done" else f" ({e.get('status')})"
    return (
        f"{e.get('change', '')}{base}",
        f"{e.get('text', '')}{status}",
        e.get("before_ns") or None,
        e.get("after_ns") or None,
        str(e.get("equivalence", "")),
        str(e.get("name", "")),
        f"{str(e.get('commit', ''))[:8]}{dirty}",
    )
