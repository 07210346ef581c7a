"""``timesink memory``: from a snapshot, a trace or a run to answers and findings."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from timesink.errors import BadUsage, UnreadableFile
from timesink.model.memory import MemoryAnswer, MemoryReport

if TYPE_CHECKING:
    from timesink.analyses.snapshot_history import History
    from timesink.reports.document import Document
    from timesink.store.snapshot_schema import Snapshot

_UNSEEN = (
    "What was allocated before the window, the parameters above all, is not in these numbers: on a "
    "CPU torch does not record it. `timesink fit` counts it in."
)
#: In a run folder.
SNAPSHOT = ".memory.pickle"


def memory_snapshot(path: str | Path) -> Snapshot:
    """Read a snapshot of the caching allocator into polars tables.

    Raises ``NotASnapshot`` or ``UnreadableFile`` (both ``TimesinkError``).
    """
    from timesink.store.snapshot import read_snapshot

    return read_snapshot(path)


def memory_report(path: str | Path, *, rank: int | None = None, cache: bool = True) -> MemoryReport:
    """What memory is made of: of a snapshot, a trace, a folder of ranks or a run."""
    place = Path(path)
    snapshot = _snapshot_at(place, rank)
    if snapshot is not None:
        return _of_snapshot(snapshot, place.name)
    if not place.exists():
        raise UnreadableFile(f"There is no {place}.", "Check the path.")
    return _of_trace(place, rank, cache)


def find_snapshot(path: str | Path, *, rank: int | None = None) -> Path:
    """The snapshot behind a path: itself, or a rank's in a run folder."""
    found = _snapshot_at(Path(path), rank)
    if found is not None:
        return found
    raise UnreadableFile(
        f"{path} has no memory snapshot.",
        "On CUDA, `timesink run --memory train.py` records one; on a CPU see `timesink memory`.",
    )


def _snapshot_at(place: Path, rank: int | None) -> Path | None:
    from timesink.store.snapshot import is_pickle

    if place.is_dir() and (found := sorted(place.glob(f"rank*{SNAPSHOT}"))):
        return found[rank or 0]
    return place if place.is_file() and is_pickle(place) else None


def _of_snapshot(path: Path, title: str) -> MemoryReport:
    from timesink.analyses.snapshot_history import histories

    snapshot = memory_snapshot(path)
    found = [_answer(snapshot, h) for h in histories(snapshot)]
    notes = tuple(f"{n.message} ({n.count})" for n in snapshot.notes)
    return _judged(title, tuple(found), snapshot.settings, notes)


def _answer(snapshot: Snapshot, history: History) -> MemoryAnswer:
    from timesink.analyses.fragmentation import fragmentation, out_of_memory
    from timesink.analyses.memory_answer import answer, with_end

    a = history.allocations
    reserved = history.reserved
    found = answer(a, "snapshot", reserved)
    device = int(a.device.partition(":")[2])
    filled = fragmentation(snapshot, device)
    oom = out_of_memory(history, filled.largest_free if filled else 0)
    capacity = oom.capacity if oom else 0
    growth = with_end(found.growth, capacity - found.end) if capacity else found.growth
    top = int(reserved.max()) if len(reserved) else (filled.reserved if filled else 0)
    return replace(
        found, agrees=history.missing == 0, fragmentation=filled, oom=oom, capacity=capacity,
        growth=growth, peak_reserved=top, notes=_notes(history),
    )  # fmt: skip


def _notes(history: History) -> tuple[str, ...]:
    found = []
    if history.missing:
        found.append(
            f"The blocks hold {history.missing:+,} bytes against the history: an entry is missing."
        )
    if not history.allocations.count:
        found.append("There is no history: only what was held when the snapshot was taken.")
    return tuple(found)


def _of_trace(path: Path, rank: int | None, cache: bool) -> MemoryReport:
    from timesink.analyses.memory_answer import answer
    from timesink.analyses.memory_rows import trace_histories
    from timesink.analyses.prepare import prepare
    from timesink.api.load import find_trace, read_trace

    trace = read_trace(find_trace(path, rank=rank), cache=cache)
    prepared = prepare(trace.tables, trace.info)
    answers = tuple(answer(a, "trace") for a in trace_histories(prepared))
    if not answers:
        raise BadUsage(
            f"{path} has no memory rows.",
            "Record them with `timesink run --memory train.py` (profile_memory=True).",
        )
    notes = () if any(a.device != "cpu" for a in answers) else (_UNSEEN,)
    return _judged(path.resolve().name, answers, (), notes)


def _judged(
    title: str, answers: tuple[MemoryAnswer, ...], settings: tuple[tuple[str, str], ...],
    notes: tuple[str, ...],
) -> MemoryReport:  # fmt: skip
    from timesink.diagnoses.memory import headline, memory_findings

    findings = memory_findings(answers)
    return MemoryReport(
        title, headline(answers, findings), answers, findings, settings, notes,
    )  # fmt: skip


def memory_page(report: MemoryReport) -> Document:
    """The report as a document."""
    from timesink.reports.memory import build

    return build(report)


def memory_comparison_page(before: MemoryReport, after: MemoryReport) -> Document:
    """Two reports side by side, as a document."""
    from timesink.reports.memory_compare import build

    return build(before, after)


def memory_json(report: MemoryReport) -> bytes:
    """The report as JSON with a ``schema_version``."""
    from timesink.reports.json_ import dump_result

    return dump_result(report)
