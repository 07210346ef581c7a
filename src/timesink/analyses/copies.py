"""The copy table: copies and sets by direction and kind of memory, and what they cost.

Direction and memory kinds are read from the row's name, as each vendor spells it: CUDA
``Memcpy HtoD (Pageable -> Device)``, HIP ``CopyHostToDevice`` or ``hipMemcpyAsync``, Cambricon
``Memcpy HtoD``, Ascend ``MEMCPY_ASYNC``. A side that is not named is "".
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from timesink.analyses.classify import COMMUNICATION
from timesink.analyses.intervals import covered, union
from timesink.analyses.kernels import is_kernel
from timesink.analyses.scope import Bools, Ints, column, combine, device_scope, unite
from timesink.model.results import CopyRow
from timesink.store.schema import Kind

if TYPE_CHECKING:
    from timesink.analyses.prepare import Prepared

_SIDES = re.compile(r"\(\s*(\w+)\s*->\s*(\w+)\s*\)")
_ONE_SIDE = re.compile(r"\(\s*(\w+)\s*\)")
_DIRECTION = re.compile(
    r"(?<![A-Za-z])(?:memcpy|copy)?_?"
    r"(Host|Device|Peer|H|D|P|A)_?(?:to|2)_?(Host|Device|Peer|H|D|P|A)(?![a-z])",
    re.IGNORECASE,
)
_SET = re.compile(r"memset|fillbuffer", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Route:
    """What a copy's name says: kind ("HtoD", "DtoH", "DtoD", "PtoP", "memset", "copy"), sides."""

    kind: str
    source: str = ""
    target: str = ""


def route(name: str) -> Route:
    """The route of a copy from its name; kind "copy" where the name does not say."""
    if _SET.search(name):
        side = _ONE_SIDE.search(name)
        return Route("memset", "", side[1] if side else "")
    sides = _SIDES.search(name)
    source, target = (sides[1], sides[2]) if sides else ("", "")
    direction = _DIRECTION.search(name)
    if direction:
        kind = f"{direction[1][0].upper()}to{direction[2][0].upper()}"
    elif sides:
        kind = f"{_letter(source)}to{_letter(target)}"
    else:
        kind = "copy"
    return Route(kind, source, target)


def _letter(side: str) -> str:
    return "H" if side.lower() in ("host", "pageable", "pinned") else side[0].upper()


def copies(p: Prepared, *, all_steps: bool = False) -> tuple[CopyRow, ...]:
    """One row per direction and pair of memory kinds, largest summed time first.

    ``exposed_ns`` is the union of the row's copies outside the union of the kernels of the same
    device. ``on_compute_stream``: some copy shares its stream with kernels that are no collectives.
    """
    copy, kernel = ~is_kernel(p), is_kernel(p)
    chosen = copy & device_scope(p, all_steps)
    if not chosen.any():
        return ()
    routes, codes = _routes(p, chosen)
    exposed = _exposed(p, chosen, kernel, codes)
    compute = kernel & (column(p.device, "klass") != COMMUNICATION)
    where = combine(
        *(column(p.device, c) - column(p.device, c).min() for c in ("device", "stream"))
    )
    frame = p.device.filter(pl.Series(chosen)).select(
        "dur", "bytes", "stream", pl.Series("route", codes),
        pl.Series("shared", np.isin(where[chosen], np.unique(where[compute]))),
    )  # fmt: skip
    table = frame.group_by("route").agg(
        pl.len().alias("calls"), pl.col("dur").sum().alias("total"),
        pl.col("bytes").clip(lower_bound=0).sum(), pl.col("dur").max().alias("max"),
        pl.col("stream").unique().sort().alias("streams"), pl.col("shared").any(),
    )  # fmt: skip
    rows = [
        CopyRow(
            routes[r["route"]].kind, routes[r["route"]].source, routes[r["route"]].target,
            r["calls"], r["total"], r["bytes"], r["max"], int(exposed[r["route"]]),
            tuple(r["streams"]), r["shared"],
        )
        for r in table.iter_rows(named=True)
    ]  # fmt: skip
    return tuple(sorted(rows, key=lambda r: (-r.total_ns, r.kind, r.source, r.target)))


def _routes(p: Prepared, chosen: Bools) -> tuple[list[Route], Ints]:
    """All routes of the chosen rows, and each row's index among them."""
    kinds = column(p.device, "kind")[chosen]
    key = combine(column(p.device, "name")[chosen], kinds)
    _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
    known: dict[Route, int] = {}
    codes = []
    for name, kind in zip(column(p.device, "name")[chosen][first], kinds[first], strict=True):
        read = route(p.tables.text(int(name)))
        if kind == Kind.MEMSET:
            read = Route("memset", "", read.target)
        codes.append(known.setdefault(read, len(known)))
    return list(known), np.array(codes, np.int64)[inverse.reshape(-1)]


def _exposed(p: Prepared, chosen: Bools, kernel: Bools, codes: Ints) -> Ints:
    """Per route: time of its copies while no kernel runs on the device."""
    total = np.zeros(int(codes.max()) + 1, np.int64)
    device, start, end = (column(p.device, c) for c in ("device", "ts", "end"))
    for number in np.unique(device[chosen]):
        here = chosen & (device == number)
        there = kernel & (device == number)
        busy = union(start[there], end[there])
        group, left, right = unite(codes[device[chosen] == number], start[here], end[here])
        np.add.at(total, group, right - left - covered(busy, left, right))
    return total
