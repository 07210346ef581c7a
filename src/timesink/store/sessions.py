"""Folders of traces: which files are traces, which belong to one run, which ranks are missing."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from timesink.errors import BadUsage, MixedSessions
from timesink.model.trace import TraceInfo

_OURS = ("run.json", "meta.json", "functions.json")
#: Windows of one run start together on all ranks; further apart than this they are another run.
_SAME_RUN_NS = 60 * 10**9
_EPOCH_NS = 10**17  # 1973: no clock that counts from a machine's start gets there
#: As ``tensorboard_trace_handler`` names its files: worker, time, ending.
_HANDLER_NAME = re.compile(r"(.+)\.\d{10,}\.pt\.trace\.json")
_FILES_NAMED = 4


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
    """Traces by run. Two traces of one rank (or of one process) are two runs; so are windows far
    apart in time, and traces of jobs of different sizes.

    Ranks come from ``distributedInfo``, then the file name; where no trace of a run has one, its
    files are ranked by their order and that is said.
    """
    runs: list[list[TraceInfo]] = []
    for info in sorted(infos, key=lambda i: (_start(i), i.path)):
        home = next((run for run in reversed(runs) if _belongs(info, run)), None)
        if home is None:
            runs.append([info])
        else:
            home.append(info)
    sessions = sorted((_session(run) for run in runs), key=lambda s: (_start(s.infos[0]), s.name))
    return _named_apart(sessions)


def _start(info: TraceInfo) -> int:
    return (info.base_ns or 0) + info.start_ns


def _dated(info: TraceInfo) -> bool:
    """Whether the start is on the calendar: with a base, or as old traces count since 1970."""
    return info.base_ns is not None or info.start_ns > _EPOCH_NS


def _belongs(info: TraceInfo, run: list[TraceInfo]) -> bool:
    """Whether a trace can be one more rank of a run whose traces began no later."""
    last = run[-1]
    if (info.rank is None) != (last.rank is None):
        return False
    worlds = {i.world_size for i in (info, *run)} - {None}
    if len(worlds) > 1 or any(_who(i) == _who(info) for i in run):
        return False
    comparable = _dated(info) == _dated(last)
    return not comparable or _start(info) - _start(last) <= _SAME_RUN_NS


def _who(info: TraceInfo) -> int | str:
    """What tells a trace from the others of its run: the rank, else the process that wrote it."""
    if info.rank is not None:
        return info.rank
    name = Path(info.path).name
    match = _HANDLER_NAME.match(name)
    return match[1] if match else info.path


def _named_apart(sessions: list[Session]) -> tuple[Session, ...]:
    """Sessions whose names can be told apart: by their folder where that helps, else by number."""
    names = [s.name for s in sessions]
    if len(set(names)) < len(names):
        folders = [Path(s.infos[0].path).parent.name for s in sessions]
        names = folders if len(set(folders)) == len(folders) and all(folders) else names
    seen: dict[str, int] = defaultdict(int)
    out = []
    for session, name in zip(sessions, names, strict=True):
        seen[name] += 1
        out.append(replace(session, name=name if seen[name] == 1 else f"{name}-{seen[name]}"))
    return tuple(out)


def _session(infos: list[TraceInfo]) -> Session:
    if all(i.rank is not None for i in infos):
        sources = {i.rank_source for i in infos}
        source = sources.pop() if len(sources) == 1 else "distributedInfo and file name"
        ranked = sorted(infos, key=lambda i: i.rank or 0)
    else:
        source = "order"
        in_order = sorted(infos, key=lambda i: i.path)
        ranked = [replace(i, rank=n, rank_source="order") for n, i in enumerate(in_order)]
    world = next((i.world_size for i in infos if i.world_size is not None), None)
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
    if not sessions:
        raise BadUsage("There is no trace to choose from.", "Name a folder that holds traces.")
    listed = "; ".join(f"{s.name} ({_files(s)})" for s in sessions[:6])
    more = f" and {len(sessions) - 6} more" if len(sessions) > 6 else ""
    raise MixedSessions(
        f"The folder holds traces of {len(sessions)} runs that must not be mixed: {listed}{more}.",
        "Choose one with --session NAME, or name one file.",
    )


def _files(session: Session) -> str:
    files = [f"rank {i.rank}: {Path(i.path).name}" for i in session.infos[:_FILES_NAMED]]
    more = len(session.infos) - len(files)
    return ", ".join(files) + (f" and {more} more" if more else "")
