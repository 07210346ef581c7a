"""The operator table: what ``key_averages()`` shows, computed from the trace.

Self and total are those of ``torch.profiler``: total CPU time includes everything nested in the
call, self is what is left without nested operators, annotations and runtime calls; device time is
that of the kernels and copies launched from within, self where the operator is the innermost
around the launch. As in torch, a call that is the only child of a call of its name (one overload
handing on to another) is not counted as a call. Unlike torch, time is never counted twice: a call
nested in one of its own group adds nothing to totals, and each device row has exactly one owner.

Operators only: torch's table also lists ``record_function`` ranges, profiler marks and runtime
calls as if they were operators; here they have tables of their own (``ranges``, ``runtime``).
Device rows launched outside any operator are one row, ``NO_OPERATOR``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from timesink.analyses.lines import Texts, modules, stacks
from timesink.analyses.scope import Bools, Ints, column, combine, device_scope, host_scope
from timesink.analyses.tree import outermost, subtree_sums
from timesink.errors import BadUsage
from timesink.model.owners import Phase
from timesink.model.results import OpRow
from timesink.store.schema import Kind

if TYPE_CHECKING:
    from timesink.analyses.prepare import Prepared

#: Name of the row that owns device rows launched outside any recorded operator. Its ``calls`` are
#: those device rows.
NO_OPERATOR = "(no operator: other thread, graph or unknown launch)"
GROUPS = ("shape", "stack", "module")


def ops(
    p: Prepared, *, group_by: tuple[str, ...] = (), all_steps: bool = False
) -> tuple[OpRow, ...]:
    """One row per operator name and phase (and ``group_by``), largest self CPU time first.

    ``group_by`` takes "shape", "stack" (user frames) and "module"; else ``BadUsage``.
    Counts cover the verdict steps, or all steps with ``all_steps``. The sum of ``device_self_ns``
    over all rows is the summed duration of the counted device rows.
    """
    unknown = [g for g in group_by if g not in GROUPS]
    if unknown:
        raise BadUsage(f"Cannot group by {', '.join(unknown)}.", f"Use {', '.join(GROUPS)}.")
    texts = {name: _texts(p, name) for name in GROUPS if name in group_by}
    rows = _rows(_grouped(p, texts, all_steps), p, texts)
    owned = column(p.device, "op")
    homeless = device_scope(p, all_steps) & (owned < 0)
    if homeless.any():
        ns = int(column(p.device, "dur")[homeless].sum())
        count = int(homeless.sum())
        rows.append(OpRow(NO_OPERATOR, Phase.OTHER, count, 0, 0, ns, ns))
    return tuple(sorted(rows, key=lambda r: (-r.cpu_self_ns, -r.device_self_ns, r.name)))


def _texts(p: Prepared, group: str) -> Texts:
    if group == "stack":
        return stacks(p)
    if group == "module":
        return modules(p)
    codes, dense = np.unique(column(p.host, "shape"), return_inverse=True)
    texts = tuple(p.tables.text(int(c)) for c in codes)
    return Texts(dense.reshape(-1), texts)


def _grouped(p: Prepared, texts: dict[str, Texts], all_steps: bool) -> pl.DataFrame:
    """One row per group with codes and sums."""
    host, parent = p.host, column(p.host, "parent")
    codes = {"name": column(host, "name"), "phase": column(host, "phase")}
    codes |= {name: t.codes for name, t in texts.items()}
    chosen = (column(host, "kind") == Kind.CPU_OP) & host_scope(p, all_steps)
    group = np.full(host.height, -1, np.int64)
    group[chosen] = combine(*(c[chosen] for c in codes.values()))
    own, below = _device_time(p, parent, all_steps)
    total = column(host, "end") - column(host, "ts")
    once = outermost(group, parent)[chosen]
    frame = pl.DataFrame({"group": group[chosen], **{n: c[chosen] for n, c in codes.items()}})
    frame = frame.with_columns(
        pl.Series("call", ~_handed_on(codes["name"], parent)[chosen]),
        pl.Series("self", column(host, "self_ns")[chosen]),
        pl.Series("longest", total[chosen]),
        pl.Series("total", np.where(once, total[chosen], 0)),
        pl.Series("device_self", own[chosen]),
        pl.Series("device_total", np.where(once, below[chosen], 0)),
    )
    return frame.group_by("group").agg(
        pl.col(*codes).first(),
        pl.col("call").sum().alias("calls"),
        pl.col("self", "total", "device_self", "device_total").sum(),
        pl.col("longest").max(),
    )


def _handed_on(name: Ints, parent: Ints) -> Bools:
    """Rows that are the only child of a row of their name (torch: ``_remove_dup_nodes``)."""
    inner = np.flatnonzero(parent >= 0)
    children = np.bincount(parent[inner], minlength=len(parent))
    found = np.zeros(len(parent), bool)
    found[inner] = (name[parent[inner]] == name[inner]) & (children[parent[inner]] == 1)
    return found


def _device_time(p: Prepared, parent: Ints, all_steps: bool) -> tuple[Ints, Ints]:
    """Device time per host row: launched directly from it, and from its whole subtree."""
    counted: Bools = device_scope(p, all_steps)
    owner = np.where(counted, column(p.device, "op"), -1)
    time = column(p.device, "dur")
    own = np.zeros(p.host.height, np.int64)
    np.add.at(own, owner[owner >= 0], time[owner >= 0])
    return own, subtree_sums(owner, time, parent)


def _rows(frame: pl.DataFrame, p: Prepared, texts: dict[str, Texts]) -> list[OpRow]:
    phases, rows = list(Phase), []
    for r in frame.iter_rows(named=True):
        more = {name: t.texts[r[name]] for name, t in texts.items()}
        name, phase = p.tables.text(r["name"]), phases[r["phase"]]
        cpu = (r["self"], r["total"])
        device = (r["device_self"], r["device_total"])
        rows.append(OpRow(name, phase, r["calls"], *cpu, *device, r["longest"], **more))
    return rows


def _mean(field: str) -> Callable[[OpRow], Any]:
    return lambda row: getattr(row, field) / max(row.calls, 1)


def _get(field: str) -> Callable[[OpRow], Any]:
    return lambda row: getattr(row, field)


def _keys() -> dict[str, Callable[[OpRow], Any]]:
    keys = {
        "self_cpu": _get("cpu_self_ns"),
        "total_cpu": _get("cpu_total_ns"),
        "self_device": _get("device_self_ns"),
        "total_device": _get("device_total_ns"),
        "calls": _get("calls"),
        "max": _get("cpu_max_ns"),
        "name": _get("name"),
        "count": _get("calls"),
        "key": _get("name"),
        "cpu_time": _mean("cpu_total_ns"),
        "cpu_time_total": _get("cpu_total_ns"),
        "self_cpu_time_total": _get("cpu_self_ns"),
    }
    for device in ("device", "cuda", "xpu", "mtia", "hpu", "privateuse1"):
        keys[f"{device}_time"] = _mean("device_total_ns")
        keys[f"{device}_time_total"] = _get("device_total_ns")
        keys[f"self_{device}_time_total"] = _get("device_self_ns")
    return keys


#: What ``sort_ops`` sorts by: our names first, then those of torch's ``table(sort_by=…)``.
SORT_KEYS: dict[str, Callable[[OpRow], Any]] = _keys()


def sort_ops(rows: Sequence[OpRow], key: str) -> tuple[OpRow, ...]:
    """Rows sorted by one of ``SORT_KEYS``: numbers largest first, names from A to Z.

    Raises ``BadUsage`` for another key.
    """
    if key not in SORT_KEYS:
        raise BadUsage(f"Cannot sort by {key!r}.", f"Use one of {', '.join(SORT_KEYS)}.")
    by = SORT_KEYS[key]
    return tuple(sorted(rows, key=by, reverse=key not in ("name", "key")))
