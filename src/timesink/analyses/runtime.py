"""Runtime and driver calls by caller, with the device idle time that synchronising calls leave."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from timesink.analyses.classify import is_sync_call, runtime_kind
from timesink.analyses.intervals import covered, union
from timesink.analyses.lines import Texts, user_lines
from timesink.analyses.scope import Bools, Ints, column, host_scope, per_name
from timesink.model.owners import Phase
from timesink.model.results import RuntimeRow
from timesink.store.schema import Kind

if TYPE_CHECKING:
    from timesink.analyses.prepare import Prepared


def runtime(
    p: Prepared, *, all_steps: bool = False, lines: Texts | None = None
) -> tuple[RuntimeRow, ...]:
    """One row per call name, phase, operator and Python line, largest summed time first.

    ``lines``: ``user_lines(p)`` where the caller has it already.
    """
    chosen = is_runtime(p) & host_scope(p, all_steps)
    rows = np.flatnonzero(chosen)
    lines = lines or user_lines(p)
    op, names = column(p.host, "op")[rows], np.append(column(p.host, "name"), 0)
    frame = p.host.select("name", "phase", time=pl.col("end") - pl.col("ts"))[rows]
    frame = frame.with_columns(
        pl.Series("op", np.where(op >= 0, names[op], 0)),
        pl.Series("line", lines.codes[rows]),
        pl.Series("idle", idle_after(p, rows)),
    )  # fmt: skip
    table = frame.group_by("name", "phase", "op", "line").agg(
        pl.len().alias("calls"), pl.col("time").sum(), pl.col("time").max().alias("max"),
        pl.col("idle").sum(),
    )  # fmt: skip
    phases, text = list(Phase), p.tables.text
    found = [
        RuntimeRow(
            text(r["name"]), runtime_kind(text(r["name"])), phases[r["phase"]], text(r["op"]),
            r["calls"], r["time"], r["max"], r["idle"], lines.texts[r["line"]],
        )
        for r in table.iter_rows(named=True)
    ]  # fmt: skip
    return tuple(sorted(found, key=lambda r: (-r.total_ns, r.name, r.op, r.line)))


def is_runtime(p: Prepared) -> Bools:
    """Per host row: is it a runtime or driver call?"""
    kind = column(p.host, "kind")
    mask: Bools = (kind == Kind.RUNTIME) | (kind == Kind.DRIVER)
    return mask


def idle_after(p: Prepared, rows: Ints) -> Ints:
    """Time without any device row because of each of these calls; 0 without device rows.

    A synchronising call is charged from its start until the first device row that starts after it
    returned (until its return where none follows); a call that allocates or frees device memory
    only while it runs. Time charged to an earlier call is not charged again.
    """
    idle = np.zeros(len(rows), np.int64)
    if not p.device.height or not len(rows):
        return idle
    sync, allocates = _kinds(p, rows)
    start, end = column(p.host, "ts")[rows], column(p.host, "end")[rows]
    begins = np.sort(column(p.device, "ts"))
    following = np.searchsorted(begins, end, side="left")
    until = np.where(
        sync & (following < len(begins)), begins[np.minimum(following, len(begins) - 1)], end
    )
    chosen = np.flatnonzero(sync | allocates)
    chosen = chosen[np.argsort(start[chosen], kind="stable")]
    reach = np.maximum.accumulate(until[chosen]) if len(chosen) else chosen
    left = np.maximum(start[chosen], np.append(start[chosen][:1], reach[:-1]))
    right = np.maximum(until[chosen], left)
    busy = union(column(p.device, "ts"), column(p.device, "end"))
    idle[chosen] = right - left - covered(busy, left, right)
    return idle


def _kinds(p: Prepared, rows: Ints) -> tuple[Bools, Bools]:
    """Per row: does the call synchronise; does it allocate or free?"""
    names = column(p.host, "name")[rows]
    memory = per_name(p, names, lambda name: runtime_kind(name) in ("alloc", "free"))
    return per_name(p, names, is_sync_call), memory
