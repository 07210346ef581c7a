"""The operator and kernel tables as plain columns, for ``timesink ops``, CSV and data frames."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from timesink.api.load import Progress, find_trace, read_trace
from timesink.errors import BadUsage

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

GROUPS = ("shape", "stack", "module")


@dataclass(frozen=True)
class OperatorTable:
    """Rows of ``OpRow`` or ``KernelRow`` as columns. ``values``: one tuple per row, times in ns.

    ``shown`` of ``total`` rows are kept; ``steps`` is how many steps they cover.
    """

    title: str
    fields: tuple[str, ...]
    values: tuple[tuple[Any, ...], ...]
    total: int
    steps: int
    rows: tuple[Any, ...] = ()

    def to_polars(self) -> pl.DataFrame:
        """The table as a polars frame."""
        import polars as pl

        return pl.DataFrame(list(self.values), schema=list(self.fields), orient="row")

    def to_pandas(self) -> pd.DataFrame:
        """The table as a pandas frame (pandas must be installed)."""
        import pandas as pd

        return pd.DataFrame(list(self.values), columns=list(self.fields))

    def _repr_html_(self) -> str:
        return str(self.to_polars()._repr_html_())


def operator_table(
    path: str | Path,
    *,
    sort: str | None = None,
    limit: int | None = 20,
    group_by: tuple[str, ...] = (),
    kernels: bool = False,
    all_steps: bool = False,
    rank: int | None = None,
    cache: bool = True,
    progress: Progress | None = None,
) -> OperatorTable:
    """The ``key_averages`` table of a trace, computed from the trace and not by torch.

    ``sort`` takes our keys and torch's (``cuda_time_total``); ``group_by`` adds "shape", "stack"
    or "module" to the grouping by name. Raises ``BadUsage`` for an unknown key or group.
    """
    from timesink.analyses.prepare import prepare

    unknown = set(group_by) - set(GROUPS)
    if unknown:
        raise BadUsage(f"Cannot group by {', '.join(sorted(unknown))}.", f"Use {list(GROUPS)}.")
    trace = read_trace(find_trace(path, rank=rank), cache=cache, progress=progress)
    prepared = prepare(trace.tables, trace.info)
    rows: Sequence[Any]
    if kernels:
        from timesink.analyses.kernels import kernels as kernel_rows
        from timesink.analyses.kernels import sort_kernels

        rows = sort_kernels(kernel_rows(prepared, all_steps=all_steps), sort or "total")
    else:
        from timesink.analyses.ops import ops, sort_ops

        rows = ops(prepared, group_by=group_by, all_steps=all_steps)
        has_device = any(r.device_self_ns for r in rows)
        rows = sort_ops(rows, sort or ("self_device" if has_device else "self_cpu"))
    steps = [s for s in prepared.steps if all_steps or s.in_verdict]
    return _table("Kernels" if kernels else "Operators", rows, limit, len(steps), set(group_by))


def _table(
    title: str, rows: Sequence[Any], limit: int | None, steps: int, groups: set[str]
) -> OperatorTable:
    kept = tuple(rows[:limit])
    hidden = set(GROUPS) - groups
    names = tuple(f.name for f in fields(kept[0]) if f.name not in hidden) if kept else ()
    values = tuple(tuple(_plain(getattr(r, n)) for n in names) for r in kept)
    return OperatorTable(title, names, values, len(rows), steps, kept)


def _plain(value: Any) -> Any:
    if isinstance(value, Enum):
        return value.value
    return ",".join(map(str, value)) if isinstance(value, tuple) else value
