"""Operators step by step over all recorded steps, for rules about growth."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from timesink.analyses.scope import Bools, Ints, column, combine, per_name
from timesink.analyses.tree import outermost
from timesink.model.results import Trend
from timesink.store.schema import Kind

if TYPE_CHECKING:
    from timesink.analyses.prepare import Prepared

#: Operators (with their shape) that are followed.
TOP = 50
#: Start of the name of every node of the backward graph as it is run; also the name of the trend
#: that counts them all.
GRAPH_NODE = "autograd::engine::evaluate_function"


def trends(p: Prepared, *, top: int = TOP) -> tuple[Trend, ...]:
    """The ``top`` operators (name and shape) by time, one entry per step, most time first.

    The last trend, named ``GRAPH_NODE``, counts all nodes of the backward graph where there are
    any. Nothing with fewer than two steps. A call nested in one of its own adds to calls only.
    """
    if len(p.steps) < 2:
        return ()
    step = column(p.host, "step")
    chosen = (column(p.host, "kind") == Kind.CPU_OP) & (step >= 0)
    rows = np.flatnonzero(chosen)
    if not len(rows):
        return ()
    key = combine(*(column(p.host, c)[rows] for c in ("name", "shape")))
    _, first, group = np.unique(key, return_index=True, return_inverse=True)
    calls, time = _per_step(p, rows, group.reshape(-1), len(first))
    best = np.argsort(-time.sum(axis=1), kind="stable")[:top]
    names, shapes = column(p.host, "name")[rows[first]], column(p.host, "shape")[rows[first]]
    found = [_trend(p, int(names[i]), int(shapes[i]), calls[i], time[i]) for i in best]
    return (*found, *_graph_nodes(p, rows))


def _per_step(p: Prepared, rows: Ints, group: Ints, groups: int) -> tuple[Ints, Ints]:
    """(groups, steps) arrays of calls and of outermost time."""
    everywhere = np.full(p.host.height, -1, np.int64)
    everywhere[rows] = group
    once: Bools = outermost(everywhere, column(p.host, "parent"))[rows]
    step = column(p.host, "step")[rows]
    span = (column(p.host, "end") - column(p.host, "ts"))[rows]
    calls = np.zeros((groups, len(p.steps)), np.int64)
    time = np.zeros_like(calls)
    np.add.at(calls, (group, step), 1)
    np.add.at(time, (group, step), np.where(once, span, 0))
    return calls, time


def _graph_nodes(p: Prepared, rows: Ints) -> list[Trend]:
    """One trend over all rows of the backward graph's nodes, or none."""
    names = column(p.host, "name")[rows]
    rows = rows[per_name(p, names, lambda name: name.startswith(GRAPH_NODE))]
    if not len(rows):
        return []
    calls, time = _per_step(p, rows, np.zeros(len(rows), np.int64), 1)
    return [Trend(GRAPH_NODE, "", tuple(calls[0].tolist()), tuple(time[0].tolist()))]


def _trend(p: Prepared, name: int, shape: int, calls: Ints, time: Ints) -> Trend:
    text = p.tables.text
    return Trend(text(name), text(shape), tuple(calls.tolist()), tuple(time.tolist()))
