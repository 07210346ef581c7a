"""One value of a table as text, by the kind of its column."""

from __future__ import annotations

from typing import Any

from timesink.reports import units
from timesink.reports.document import Column


def cell(value: Any, column: Column) -> str:
    """The value for a person; None is unknown."""
    if value is None:
        return units.UNKNOWN
    if column.kind == "time":
        return units.time(value)
    if column.kind == "count":
        return units.number(value)
    if column.kind == "bytes":
        return units.size(value)
    if column.kind == "share":
        return units.share(value)
    return units.clean(str(value))
