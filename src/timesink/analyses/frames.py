"""Rows of results as a polars frame, for CSV, pandas and notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

import polars as pl


def to_frame(rows: Sequence[Any]) -> pl.DataFrame:
    """One line per row and one column per field; an empty frame for no rows.

    Enums become their values; a tuple of plain values becomes text joined by commas (CSV has no
    lists); a nested result becomes columns ``field.name``.
    """
    return pl.DataFrame([flat(row) for row in rows], infer_schema_length=None)


def flat(row: Any, prefix: str = "") -> dict[str, Any]:
    """One result as a flat dict of plain values."""
    found: dict[str, Any] = {}
    for field in fields(row):
        value = getattr(row, field.name)
        if is_dataclass(value):
            found |= flat(value, f"{prefix}{field.name}.")
        else:
            found[prefix + field.name] = _plain(value)
    return found


def _plain(value: Any) -> Any:
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, tuple):
        return ",".join(str(_plain(v)) for v in value)
    return value
