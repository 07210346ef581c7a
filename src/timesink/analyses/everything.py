"""All analyses of one trace, in order."""

from __future__ import annotations

from collections.abc import Iterable

from timesink.analyses.breakdown import breakdown
from timesink.analyses.copies import copies
from timesink.analyses.idle import idle
from timesink.analyses.kernels import kernels
from timesink.analyses.launches import launches
from timesink.analyses.lines import user_lines
from timesink.analyses.longest import longest_device, longest_op, longest_self_op
from timesink.analyses.memory import memory, memory_notes
from timesink.analyses.ops import ops
from timesink.analyses.prepare import Prepared, prepare
from timesink.analyses.ranges import loader_ranges, ranges
from timesink.analyses.runtime import runtime
from timesink.analyses.trends import trends
from timesink.analyses.usage import usage
from timesink.model.results import Analysis
from timesink.model.trace import QualityNote, TraceInfo
from timesink.store.schema import Tables


def analyse(tables: Tables, info: TraceInfo, quality: Iterable[QualityNote] = ()) -> Analysis:
    """Everything that is known from one trace; ``quality`` are the notes made on reading it."""
    return analyse_prepared(prepare(tables, info), quality)


def analyse_prepared(p: Prepared, quality: Iterable[QualityNote] = ()) -> Analysis:
    """The same for a trace that was prepared already."""
    parts = breakdown(p)
    lines = user_lines(p)
    threads = p.host["track"].unique()
    return Analysis(
        info=p.info,
        quality=merged([*quality, *p.notes, *memory_notes(p.tables)]),
        breakdown=parts,
        steps_counted=len(parts.verdict_steps),
        usage=usage(p),
        idle=idle(p),
        ops=ops(p),
        ranges=ranges(p),
        loaders=loader_ranges(p),
        kernels=kernels(p),
        copies=copies(p),
        runtime=runtime(p, lines=lines),
        launches=launches(p),
        memory=memory(p.tables),
        longest_op=longest_op(p, lines),
        longest_self_op=longest_self_op(p, lines),
        longest_device=longest_device(p, lines),
        trends=trends(p),
        host_threads=len(threads),
        processes=p.tables.tracks[threads]["pid"].n_unique() if len(threads) else 0,
    )


def merged(notes: Iterable[QualityNote]) -> tuple[QualityNote, ...]:
    """Notes with each code once: the first, since reading comes before analysis."""
    first: dict[str, QualityNote] = {}
    for note in notes:
        first.setdefault(note.code, note)
    return tuple(first.values())
