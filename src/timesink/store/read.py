"""Reads a trace: head, chunks on all cores, tail; into memory or into the cache as it goes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import polars as pl

from timesink.store import cache as cached
from timesink.store import repair, saved, sniff
from timesink.store.assemble import Assembler
from timesink.store.columns import Columns
from timesink.store.cut import Chunk, Cutter
from timesink.store.describe import describe
from timesink.store.finish import classify_bare, join_halves, stats, track_table
from timesink.store.inflate import Stream, check_file, open_stream
from timesink.store.info import trace_info
from timesink.store.notes import Notes
from timesink.store.pool import decoded
from timesink.store.schema import EVENTS, FLOWS
from timesink.store.trace import Trace
from timesink.store.work import work

#: Files whose JSON is smaller are decoded in this process: starting others (0.3 s) costs more.
PARALLEL_BYTES = 64 << 20
#: Files smaller than this are read again as fast as their cache would be.
CACHE_BYTES = 2 << 20
_GZIP_FACTOR = 12
#: Documents of other writers that are looked for behind the first one's end.
_DOCUMENTS = 64


def read_trace(
    path: str | Path,
    *,
    cache: bool = True,
    progress: Callable[[int, int], None] | None = None,
    workers: int | None = None,
) -> Trace:
    """Read one Chrome trace of torch.profiler.

    ``workers``: decoding processes (default: by size and cores; 0 or 1 decode in this process).
    ``progress`` is called with (bytes done, bytes in all) of the file. Raises ``NotATrace``,
    ``EmptyTrace`` or ``UnreadableFile``.
    """
    path = Path(path)
    check_file(path)
    if cache and (folder := cached.lookup(path)):
        trace = saved.load(folder, path)
        if trace is not None:
            return trace
        cached.discard(folder)
    stream = open_stream(path)
    try:
        return _Reading(path, stream, progress, cache).run(workers)
    finally:
        stream.close()


class _Reading:
    """The state of one reading."""

    def __init__(
        self,
        path: Path,
        stream: Stream,
        progress: Callable[[int, int], None] | None,
        cache: bool,
    ) -> None:
        self.path = path
        self.stream = stream
        self.progress = progress
        self.cutter = Cutter(stream)
        self.assembler = Assembler()
        self.notes = Notes()
        self.index: list[tuple[int, int, int]] = []
        self.parts: dict[str, list[pl.DataFrame]] = {}
        self.metadata: list[tuple[str, str, str, str]] = []
        self.phases: dict[str, int] = {}
        self.json_size = stream.size * (_GZIP_FACTOR if stream.compressed else 1)
        big = self.json_size >= CACHE_BYTES
        self.folder = cached.begin() if cache and big else None
        self.number = 0
        if cache and big and self.folder is None:
            self.notes.add("no-cache", "the cache folder cannot be written: nothing was cached")

    def run(self, workers: int | None) -> Trace:
        try:
            found = self.cutter.start()
            sniff.check_head(self.cutter.head + self.cutter.peek(), self.path, found)
            for chunk, columns in self._decoded(workers):
                self._take(chunk, columns)
                if self.progress:
                    self.progress(self.stream.compressed_read, self.stream.size)
                if columns.ended:
                    self.cutter.more(columns.rest, last=chunk.last)
                    break
            return self._finish()
        except BaseException:
            if self.folder:
                cached.discard(self.folder)
            raise

    def _decoded(self, workers: int | None) -> Iterator[tuple[Chunk, Columns]]:
        if workers is None:
            cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 2
            workers = cores if self.json_size >= PARALLEL_BYTES and cores > 1 else 0
        count = workers if workers > 1 else 0
        return decoded(self.cutter.chunks(), self.cutter.key, count)

    def _take(self, chunk: Chunk, columns: Columns) -> None:
        self.index.append((self.assembler.ordinal, chunk.offset, len(chunk.data)))
        for note in columns.notes:
            self.notes.merge(note)
        if columns.counts.get("unfinished"):
            self.notes.add(
                "unfinished",
                "{n} rows without an end (negative or no duration) are left out of all sums",
                columns.counts["unfinished"],
                "warning",
            )
        self.metadata += columns.metadata
        for phase, count in columns.phases.items():
            self.phases[phase] = self.phases.get(phase, 0) + count
        for name, frame in self.assembler.frames(columns).items():
            if frame.height:
                self.parts.setdefault(name, []).append(frame)
        if self.folder and sum(f.height for f in self.parts.get("events", [])) >= saved.PART_ROWS:
            self._spill()

    def _spill(self) -> None:
        """Write what has been collected as parts; a full disk ends caching, not the reading."""
        assert self.folder is not None
        try:
            saved.write_parts(self.folder, self.number, self.parts)
        except OSError as error:
            self.parts = saved.read_back(self.folder, self.parts)
            cached.discard(self.folder)
            self.folder = None
            reason = error.strerror or str(error)
            self.notes.add("no-cache", f"the cache could not be written ({reason})")
            return
        self.number += 1
        self.parts = {k: v for k, v in self.parts.items() if k == "open"}

    def _finish(self) -> Trace:
        cutter, assembler = self.cutter, self.assembler
        for note in self.stream.notes:
            self.notes.merge(note)
        if b'"traceEvents"' in cutter.tail or cutter.starts(cutter.tail):
            self.notes.merge(repair.note("several-writers", 1, self.stream.compressed_read))
            self._take_strays()
        if not cutter.closed and not self.notes.has("truncated"):
            self.notes.merge(repair.note("truncated", 1, self.stream.compressed_read))
        head = describe(cutter.head, cutter.tail, cutter.is_list, self.notes)
        join_halves(self.parts, self.notes)
        self._settle_timeless()
        sniff.check_events(stats(assembler, self.phases, self.parts, head), self.path)
        tracks = track_table(assembler, self.metadata)
        if assembler.bare:
            self._classify(tracks)
        info = trace_info(
            self.path,
            head,
            assembler,
            is_list=cutter.is_list,
            base_in_tail=b"baseTimeNanoseconds" in cutter.tail,
            truncated=self.notes.has("truncated"),
        )
        trace = Trace(
            info, self.notes.result(), self.parts, tracks,
            pl.Series("text", list(assembler.strings), pl.String), self.index, cutter.key,
        )  # fmt: skip
        if self.folder:
            return saved.store(trace, self.folder, self.path, self.parts, self.number)
        return trace

    def _take_strays(self) -> None:
        """Events behind the end of the list: another process wrote into the same file."""
        rest = self.cutter.tail
        for _ in range(_DOCUMENTS):
            if not self.cutter.starts(rest):
                return
            columns = work(rest, 0, self.cutter.key)
            # Nowhere in the file as one chunk: their args cannot be had on demand.
            self._take(Chunk(0, b""), columns)
            rest = columns.rest

    def _classify(self, tracks: pl.DataFrame) -> None:
        """Rows without a category need the whole file; such files are small."""
        parts = saved.read_back(self.folder, self.parts) if self.folder else self.parts
        events = pl.concat(parts.get("events") or [pl.DataFrame(schema=EVENTS)])
        flows = pl.concat(parts.get("flows") or [pl.DataFrame(schema=FLOWS)])
        parts["events"] = [classify_bare(events, flows, tracks, self.assembler)]
        self.parts = parts
        if self.folder:
            for part in self.folder.iterdir():
                part.unlink()
            self.number = 0

    def _settle_timeless(self) -> None:
        count, rows = self.assembler.timeless()
        if rows is not None:
            self.parts.setdefault("events", []).append(rows)
        if count:
            self.notes.add(
                "device-rows-without-time",
                "{n} device rows without a time are left out",
                count,
                "warning",
            )
