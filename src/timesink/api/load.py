"""From a path to a report: a trace file, a folder of ranks, or a run folder of timesink."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from timesink.errors import BadUsage, EmptyTrace, NotATrace, UnreadableFile
from timesink.model.findings import Case
from timesink.model.report import Report
from timesink.model.results import Analysis
from timesink.model.run import LightSteps, RunRecord
from timesink.model.timeline import Timeline
from timesink.model.trace import QualityNote, TraceInfo

if TYPE_CHECKING:
    from timesink.store.sessions import Session
    from timesink.store.trace import Trace

#: Called with (bytes done, bytes in all) of the file being read.
Progress = Callable[[int, int], None]


def read_trace(path: str | Path, *, cache: bool = True, progress: Progress | None = None) -> Trace:
    """Read one Chrome trace of torch.profiler into tables.

    Raises ``NotATrace``, ``EmptyTrace`` or ``UnreadableFile`` (all ``TimesinkError``) with one
    sentence that says what the file is and what to do.
    """
    from timesink.store import read

    return read.read_trace(path, cache=cache, progress=progress)


def analyze(path: str | Path, *, rank: int | None = None, cache: bool = True) -> Analysis:
    """All results of one trace (or of one rank of a folder or run)."""
    return _analysis(read_trace(find_trace(path, rank=rank), cache=cache))


def report(
    path: str | Path,
    *,
    rank: int | None = None,
    session: str | None = None,
    cache: bool = True,
    progress: Progress | None = None,
    timeline: bool = False,
) -> Report:
    """Measure and judge a trace file, a folder of ranks, or a run folder.

    ``timeline`` also builds the built-in timeline of the window (needed by the HTML report).
    """
    path = _existing(path)
    if path.is_dir() and _is_run(path):
        return _run_report(path, rank, cache, progress, timeline)
    if path.is_dir():
        chosen, notes = _session(path, session, cache, progress)
        return _folder_report(path, chosen, notes, rank, cache, timeline)
    return _trace_report(path, cache, progress, timeline)


def find_trace(path: str | Path, *, rank: int | None = None) -> Path:
    """The one trace file behind a path: itself, a rank of a run folder, a rank of a folder."""
    path = _existing(path)
    if not path.is_dir():
        return path
    if _is_run(path):
        record = _record(path, rank)
        if not record.trace_file or not (path / record.trace_file).exists():
            raise EmptyTrace(
                f"The run {path.name} has no trace for rank {record.rank}.",
                "Its window was never recorded: see `timesink analyze` for why.",
            )
        return path / record.trace_file
    chosen, _ = _session(path, None, True, None)
    return Path(_pick(chosen, rank).path)


def default_page(path: str | Path, trace: Path) -> Path:
    """Where an offline page goes: into the run folder, else beside nothing, in the cwd."""
    path = Path(path)
    if path.is_dir() and _is_run(path):
        return path / "report.html"
    return Path.cwd() / f"{trace.name.split('.')[0]}.timeline.html"


def _existing(path: str | Path) -> Path:
    from timesink.store.inflate import check_file

    path = Path(path)
    run = Path("timesink_runs") / path
    with contextlib.suppress(OSError, ValueError):  # the check below says it better
        if not path.exists() and run.is_dir():
            return run
    check_file(path, folder=True)
    return path


def _is_run(path: Path) -> bool:
    from timesink.capture.folder import is_run_folder

    return is_run_folder(path)


def _record(folder: Path, rank: int | None) -> RunRecord:
    from timesink.capture.folder import ranks_in, read_record

    ranks = ranks_in(folder)
    if rank is not None and rank not in ranks:
        raise BadUsage(f"The run has no rank {rank}.", f"It has {', '.join(map(str, ranks))}.")
    return read_record(folder, min(ranks, default=0) if rank is None else rank)


def _analysis(trace: Trace) -> Analysis:
    from timesink.analyses.everything import analyse

    return analyse(trace.tables, trace.info, trace.quality)


def _analysis_and_timeline(trace: Trace, wanted: bool) -> tuple[Analysis, Timeline | None]:
    from timesink.analyses.everything import analyse_prepared
    from timesink.analyses.prepare import prepare
    from timesink.analyses.timeline import timeline

    prepared = prepare(trace.tables, trace.info)
    analysis = analyse_prepared(prepared, trace.quality)
    return analysis, timeline(prepared, trace.raw_args) if wanted else None


def _judged(
    title: str,
    analysis: Analysis | None,
    run: RunRecord | None = None,
    light: LightSteps | None = None,
    timeline: Timeline | None = None,
    artifacts: tuple[tuple[str, str], ...] = (),
    others: tuple[Analysis, ...] = (),
) -> Report:
    from timesink.diagnoses.engine import diagnose

    diagnosis = diagnose(Case(analysis, run, light))
    return Report(title, diagnosis, analysis, run, light, timeline, artifacts, others)


def _trace_report(path: Path, cache: bool, progress: Progress | None, wanted: bool) -> Report:
    trace = read_trace(path, cache=cache, progress=progress)
    analysis, timeline = _analysis_and_timeline(trace, wanted)
    files = (("Chrome trace", str(path)),)
    return _judged(path.name, analysis, timeline=timeline, artifacts=files)


def _run_report(
    folder: Path, rank: int | None, cache: bool, progress: Progress | None, wanted: bool
) -> Report:
    from timesink.capture.steplog import read_steps

    record = _record(folder, rank)
    light = None
    if record.steps_file and (folder / record.steps_file).exists():
        light = read_steps(folder / record.steps_file)
    analysis, timeline, files = None, None, []
    trace_file = folder / record.trace_file if record.trace_file else None
    if trace_file and trace_file.exists():
        try:
            trace = read_trace(trace_file, cache=cache, progress=progress)
            analysis, timeline = _analysis_and_timeline(trace, wanted)
        except (NotATrace, EmptyTrace, UnreadableFile) as error:  # its step times remain
            notes = (*record.notes, f"The trace cannot be read: {error.message}")
            record = replace(record, notes=notes)
        files.append(("Chrome trace", str(trace_file)))
    files.append(("run folder", str(folder)))
    return _judged(folder.name, analysis, record, light, timeline, tuple(files))


def _session(
    folder: Path, name: str | None, cache: bool, progress: Progress | None
) -> tuple[Session, tuple[QualityNote, ...]]:
    """The one session of a folder (or the one named), and notes on files left out."""
    from timesink.store import sessions

    found = sessions.find_traces(folder)
    infos, notes = [], []
    for path in found.traces:
        try:
            infos.append(read_trace(path, cache=cache, progress=progress).info)
        except (NotATrace, EmptyTrace, UnreadableFile) as error:
            notes.append(QualityNote("file-left-out", f"{path.name}: {error}", 1, "warning"))
    for path, reason in found.ignored:
        notes.append(QualityNote("file-ignored", f"{path.name}: {reason}", 1))
    if not infos:
        reasons = " ".join(n.message for n in notes[:3])
        raise NotATrace(f"{folder} holds no torch.profiler trace. {reasons}".strip())
    groups = sessions.group(infos)
    if name is None:
        return sessions.only(groups), tuple(notes)
    for group in groups:
        if group.name == name:
            return group, tuple(notes)
    raise BadUsage(f"There is no session {name}.", f"There are {[g.name for g in groups]}.")


def _pick(session: Session, rank: int | None) -> TraceInfo:
    infos: Sequence[TraceInfo] = session.infos
    if rank is None:
        return infos[0]
    for info in infos:
        if info.rank == rank:
            return info
    raise BadUsage(f"There is no rank {rank}.", f"There are {[i.rank for i in infos]}.")


def _folder_report(
    folder: Path,
    session: Session,
    notes: tuple[QualityNote, ...],
    rank: int | None,
    cache: bool,
    wanted: bool,
) -> Report:
    shown = _pick(session, rank)
    others = []
    for info in session.infos:
        if info.path != shown.path:
            others.append(replace(_analysis(read_trace(info.path, cache=cache)), info=info))
    analysis, timeline = _analysis_and_timeline(read_trace(shown.path, cache=cache), wanted)
    if session.missing:
        ranks = ", ".join(map(str, session.missing))
        notes += (QualityNote("missing-ranks", f"No trace of rank {ranks}.", 1, "warning"),)
    analysis = replace(analysis, info=shown, quality=analysis.quality + notes)
    files = tuple((f"rank {i.rank}", i.path) for i in session.infos)
    title = f"{folder.name} (rank {shown.rank})" if len(session.infos) > 1 else folder.name
    return _judged(title, analysis, timeline=timeline, artifacts=files, others=tuple(others))
