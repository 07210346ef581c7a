"""Launch statistics: how the host's launches relate to what ran on the device."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from timesink.analyses.classify import is_graph_launch, runtime_kind
from timesink.analyses.kernels import is_kernel, launch_delay
from timesink.analyses.link import lost_launches
from timesink.analyses.runtime import is_runtime
from timesink.analyses.scope import Bools, Ints, column, per_name, running_max
from timesink.model.results import LaunchStats

if TYPE_CHECKING:
    from timesink.analyses.prepare import Prepared

#: A kernel shorter than this is "short"; one that starts this soon after its launch returned on an
#: idle device had an empty queue before it.
SHORT_NS = 10_000


def launches(p: Prepared) -> LaunchStats | None:
    """Statistics over the whole trace; None where there are neither launches nor device rows.

    ``launches`` and ``lost`` count kernel launches (a copy call may legally leave no row);
    ``short``, ``queue_empty`` and ``kernel_mean_ns`` are over kernels not launched by a graph,
    delays over all linked rows that are not.
    """
    single, graphs = _launch_calls(p)
    if not (single.any() or graphs.any() or p.device.height):
        return None
    delay, meaningful = launch_delay(p)
    floored = np.maximum(delay[meaningful], 0)
    linked = column(p.device, "launch") >= 0
    plain = is_kernel(p) & ~p.device["graph"].to_numpy()
    time = column(p.device, "dur")
    return LaunchStats(
        launches=int(single.sum()),
        graph_launches=int(graphs.sum()),
        rows=p.device.height,
        linked=int(linked.sum()),
        unlaunched=int((~linked).sum()),
        lost=_lost(p, single),
        negative=int((delay[meaningful] < 0).sum()),
        delay_mean_ns=float(floored.mean()) if len(floored) else 0.0,
        delay_median_ns=float(np.median(floored)) if len(floored) else 0.0,
        delay_p90_ns=float(np.percentile(floored, 90, method="nearest")) if len(floored) else 0.0,
        delay_max_ns=int(floored.max(initial=0)),
        short=int((time[plain] < SHORT_NS).sum()),
        queue_empty=int(_found_queue_empty(p, plain & meaningful).sum()),
        launch_call_mean_ns=_mean(column(p.host, "dur")[single]),
        kernel_mean_ns=_mean(time[plain]),
    )


def _launch_calls(p: Prepared) -> tuple[Bools, Bools]:
    """Per host row: is it a launch of one kernel; is it a launch of a graph?"""
    calls = is_runtime(p)
    single, graphs = calls.copy(), calls.copy()
    names = column(p.host, "name")[calls]
    single[calls] = per_name(p, names, lambda name: runtime_kind(name) == "launch")
    graphs[calls] = per_name(p, names, is_graph_launch)
    return single, graphs


def _lost(p: Prepared, single: Bools) -> int:
    """Launches whose correlation no device row carries."""
    left = single & (column(p.host, "corr") >= 0)
    launch = column(p.device, "launch")
    left[launch[launch >= 0]] = False  # most are linked: only the rest is searched for
    if not left.any():
        return 0
    return int(lost_launches(column(p.host, "corr")[left], column(p.device, "corr")).sum())


def _found_queue_empty(p: Prepared, chosen: Bools) -> Bools:
    """Chosen kernels that started on an idle device right after their launch returned."""
    start = column(p.device, "ts")
    group = column(p.device, "device")
    reach = running_max(group, column(p.device, "end"))
    before = np.append(start[:1], reach[:-1])  # the end of all earlier work on the device
    first = np.append(True, group[1:] != group[:-1])[: len(start)]
    idle = first | (before < start)
    launch: Ints = np.where(chosen, column(p.device, "launch"), -1)
    returned = np.append(column(p.host, "end"), 0)[launch]
    found: Bools = chosen & idle & (start <= returned + SHORT_NS)
    return found


def _mean(values: Ints) -> float:
    return float(values.mean()) if len(values) else 0.0
