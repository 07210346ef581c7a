"""Folders of traces: which files are traces, which belong to one run, which ranks are missing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from timesink.errors import MixedSessions
from timesink.model.trace import TraceInfo

_OURS = ("run.json", "meta.json", "functions.json")
#: Windows of one run start together on all ranks; further apart than this they are another run.
_SAME_RUN_NS = 60 * 10**9


@dataclass(frozen=True, slots=True)
class Found:
    """``traces`` in a stable order; ``ignored``: (path, why)."""

    traces: tuple[Path, ...]
    ignored: tuple[tuple[Path, str], ...]


@dataclass(frozen=True, slots=True)
class Session:
    """The traces of one run, by rank. ``missing``: ranks of ``world_size`` without a trace.

    ``rank_source``: "distributedInfo", "file name" or "order". ``notes``: doubts, as sentences.
    """

    name: str
    infos: tuple[TraceInfo, ...]
    world_size: int | None
    missing: tuple[int, ...]
    rank_source: str
    notes: tuple[str, ...] = ()


def find_traces(folder: Path) -> Found:
    """All files below a folder that may be traces, by their names."""
    traces, ignored = [], []
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        name = path.name
        if name.endswith(".tmp"):
            ignored.append(
                (path, "a temporary file of an export that did not end; name it to read it")
            )
        elif not name.endswith((".json", ".json.gz")) or name.startswith(".") or _is_ours(name):
            continue
        elif path.stat().st_size == 0:
            ignored.append((path, "an empty file"))
        else:
            traces.append(path)
    return Found(tuple(traces), tuple(ignored))


def _is_ours(name: str) -> bool:
    """Whether timesink itself wrote a file of this name."""
    return name in _OURS or (name.startswith("run.rank") and name.endswith(".json"))


def group(infos: Sequence[TraceInfo]) -> tuple[Session, ...]:
    """Traces by run. Two traces of one rank are two runs; so are windows far apart in time.

    Ranks come from ``distributedInfo``, then the file name; where neither is complete and without
    doubles, a single run's files are ranked by their order and that is said.
    """
    pools: dict[int | None, list[TraceInfo]] = defaultdict(list)
    for info in infos:
        pools[info.world_size].append(info)
    sessions = []
    for pool in pools.values():
        sessions += [_session(members) for members in _runs(sorted(pool, key=_start))]
    return tuple(sorted(sessions, key=lambda s: (_start(s.infos[0]), s.name)))


def _start(info: TraceInfo) -> int:
    return (info.base_ns or 0) + info.start_ns


def _runs(infos: list[TraceInfo]) -> list[list[TraceInfo]]:
    """Cut the files of one world size into runs: at a repeated rank or a long pause."""
    runs: list[list[TraceInfo]] = []
    for info in infos:
        run = runs[-1] if runs else None
        new = run is None
        if run is not None and info.rank is not None:
            repeated = any(i.rank == info.rank for i in run)
            clocks = (info.base_ns is None) == (run[-1].base_ns is None)
            apart = clocks and _start(info) - _start(run[-1]) > _SAME_RUN_NS
            new = repeated or apart
        if new:
            runs.append([])
        runs[-1].append(info)
    return runs


def _session(infos: list[TraceInfo]) -> Session:
    known = [i for i in infos if i.rank is not None]
    if len(known) == len(infos):
        sources = {i.rank_source for i in infos}
        source = sources.pop() if len(sources) == 1 else "distributedInfo and file name"
        ranked = sorted(infos, key=lambda i: i.rank or 0)
    else:
        source = "order"
        in_order = sorted(infos, key=lambda i: i.path)
        ranked = [replace(i, rank=n, rank_source="order") for n, i in enumerate(in_order)]
    world = infos[0].world_size
    have = {i.rank for i in ranked}
    missing = tuple(r for r in range(world or 0) if r not in have)
    notes = []
    with_base = sum(i.base_ns is not None for i in infos)
    if 0 < with_base < len(infos):
        notes.append(f"only {with_base} of {len(infos)} traces have a base time: no common clock")
    name = Path(ranked[0].path).name.split(".")[0]
    return Session(name, tuple(ranked), world, missing, source, tuple(notes))


def only(sessions: Sequence[Session]) -> Session:
    """The single session; several raise ``MixedSessions`` that names them."""
    if len(sessions) == 1:
        return sessions[0]
    listed = "; ".join(
        f"{s.name} ({len(s.infos)} files, ranks {', '.join(str(i.rank) for i in s.infos[:8])})"
        for s in sessions[:6]
    )
    more = f" and {len(sessions) - 6} more" if len(sessions) > 6 else ""
    raise MixedSessions(
        f"The folder holds traces of {len(sessions)} runs that must not be mixed: {listed}{more}.",
        "Choose one with --session NAME, or name one file.",
    )
