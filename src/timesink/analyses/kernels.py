"""The kernel table: device work other than copies, by name.

A kernel whose class cannot be told from its name or its launch is "unclassified", never guessed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from timesink.analyses.classify import COMMUNICATION, COMPUTE, COPY, UNCLASSIFIED
from timesink.analyses.scope import Bools, Ints, column, device_scope
from timesink.errors import BadUsage
from timesink.model.results import KernelClass, KernelRow

if TYPE_CHECKING:
    from timesink.analyses.prepare import Prepared

_CLASSES: dict[int, KernelClass] = {
    COMPUTE: "compute", COMMUNICATION: "communication", UNCLASSIFIED: "unclassified",
}  # fmt: skip


def is_kernel(p: Prepared) -> Bools:
    """Per device row: is it a kernel? The other rows are copies: no row is neither or both."""
    kernel: Bools = column(p.device, "klass") != COPY
    return kernel


def kernels(p: Prepared, *, all_steps: bool = False) -> tuple[KernelRow, ...]:
    """One row per kernel name and class, largest summed time first.

    Counts cover the kernels launched by the verdict steps, or by all steps with ``all_steps``.
    ``graph`` is True where most of the time was launched through a graph.
    """
    frame = _frame(p, is_kernel(p) & device_scope(p, all_steps))
    whole = int(frame["dur"].sum())
    owner = _main_operator(frame)
    table = frame.group_by("name", "klass").agg(
        pl.len().alias("calls"), pl.col("dur").sum().alias("total"),
        pl.col("dur").mean().alias("mean"), pl.col("dur").min().alias("min"),
        pl.col("dur").max().alias("max"), pl.col("stream").unique().sort().alias("streams"),
        pl.col("delay").median(), pl.col("dur").filter("graph").sum().alias("in_graph"),
    )  # fmt: skip
    rows = [
        KernelRow(
            p.tables.text(r["name"]), _CLASSES[r["klass"]], r["calls"], r["total"], r["mean"],
            r["min"], r["max"], r["total"] / whole if whole else 0.0, tuple(r["streams"]),
            r["delay"], p.tables.text(owner.get((r["name"], r["klass"]), 0)),
            2 * r["in_graph"] > r["total"],
        )
        for r in table.iter_rows(named=True)
    ]  # fmt: skip
    return tuple(sorted(rows, key=lambda r: (-r.total_ns, r.name)))


def launch_delay(p: Prepared) -> tuple[Ints, Bools]:
    """Start minus the launch call's start of every device row, and where that is meaningful.

    Not floored. Meaningful where a launch is known and it is no graph launch, whose one call
    starts many kernels.
    """
    launch = column(p.device, "launch")
    linked = (launch >= 0) & ~p.device["graph"].to_numpy()
    begun = column(p.host, "ts")
    delay = np.zeros(len(launch), np.int64)
    delay[linked] = column(p.device, "ts")[linked] - begun[launch[linked]]
    return delay, linked


def _frame(p: Prepared, chosen: Bools) -> pl.DataFrame:
    delay, linked = launch_delay(p)
    op, names = column(p.device, "op"), np.append(column(p.host, "name"), 0)
    return p.device.select("name", "klass", "dur", "stream", "graph").with_columns(
        pl.when(pl.Series(linked)).then(pl.Series(np.maximum(delay, 0))).alias("delay"),
        pl.Series("op", np.where(op >= 0, names[op], 0)),
    ).filter(pl.Series(chosen))  # fmt: skip


def _main_operator(frame: pl.DataFrame) -> dict[tuple[int, int], int]:
    """(name, class) of a kernel to the name code of the operator that spends most on it."""
    by_op = frame.group_by("name", "klass", "op").agg(pl.col("dur").sum())
    best = by_op.sort("dur", "op").group_by("name", "klass", maintain_order=True).last()
    return {(r["name"], r["klass"]): r["op"] for r in best.iter_rows(named=True)}


#: What ``sort_kernels`` sorts by: our names, then what users of torch's table type.
SORT_KEYS: dict[str, Callable[[KernelRow], Any]] = {
    "total": lambda r: r.total_ns,
    "calls": lambda r: r.calls,
    "mean": lambda r: r.mean_ns,
    "min": lambda r: r.min_ns,
    "max": lambda r: r.max_ns,
    "delay": lambda r: -1.0 if r.delay_median_ns is None else r.delay_median_ns,
    "name": lambda r: r.name,
    **{
        key: lambda r: r.total_ns
        for d in ("device", "cuda", "xpu")
        for key in (f"{d}_time_total", f"self_{d}_time_total", f"total_{d}", f"self_{d}")
    },
    **{f"{d}_time": lambda r: r.mean_ns for d in ("device", "cuda", "xpu")},
    "count": lambda r: r.calls,
}


def sort_kernels(rows: Sequence[KernelRow], key: str) -> tuple[KernelRow, ...]:
    """Rows sorted by one of ``SORT_KEYS``: numbers largest first, names from A to Z.

    Raises ``BadUsage`` for another key.
    """
    if key not in SORT_KEYS:
        raise BadUsage(f"Cannot sort kernels by {key!r}.", f"Use one of {', '.join(SORT_KEYS)}.")
    return tuple(sorted(rows, key=SORT_KEYS[key], reverse=key != "name"))
