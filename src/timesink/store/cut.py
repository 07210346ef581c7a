"""Cuts the stream of a trace into head, chunks of whole events, and tail.

Kineto starts every event with ``{`` white space ``"ph"``; other writers start with another key,
which is learnt from the first event. Inside a JSON string a quote is always escaped, so such a
start cannot occur in a string; it can occur in a nested object, and then the chunk does not decode
and is salvaged piece by piece.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from timesink.store.repair import object_end

CHUNK = 4 << 20
_HEAD_LIMIT = 64 << 20
_OPENING = re.compile(rb'"traceEvents"\s*:\s*\[')
_FIRST_KEY = re.compile(rb'\s*\{\s*"((?:[^"\\]|\\.)*)"\s*:')


class Readable(Protocol):
    """Where bytes come from."""

    def read(self, size: int) -> bytes:
        """At most about ``size`` bytes, b"" at the end."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """Whole events, comma-separated, from ``offset`` of the decompressed stream."""

    offset: int
    data: bytes
    last: bool = False


class Cutter:
    """``head`` is known after ``start``; ``chunks`` yields the events; ``tail`` what follows them.

    ``is_list``: the document is a bare list. ``key``: the key that events start with. ``closed``:
    the list of events was closed in the file (otherwise it is truncated).
    """

    def __init__(self, stream: Readable) -> None:
        self._stream = stream
        self._buffer = b""
        self._offset = 0
        self._eof = False
        self.head = b""
        self.tail = b""
        self.is_list = False
        self.key = b"ph"
        self.closed = False
        self.empty = False
        self._boundary = re.compile(b"")

    def start(self) -> bool:
        """Read up to the list of events; False when the file has none."""
        self._fill(1 << 16)
        if self._buffer.startswith(b"\xef\xbb\xbf"):
            self._drop(3)
        first = self._buffer.lstrip()[:1]
        if first == b"[":
            self.is_list = True
            self._drop(self._buffer.index(b"[") + 1)
        elif first == b"{":
            match = _OPENING.search(self._buffer)
            while match is None and not self._eof and len(self._buffer) < _HEAD_LIMIT:
                self._fill(len(self._buffer) + CHUNK)
                match = _OPENING.search(self._buffer)
            if match is None:
                self.head = self._buffer
                return False
            self.head = self._buffer[: match.end()]
            self._drop(match.end())
        else:
            self.head = self._buffer
            return False
        self._learn()
        return True

    def _learn(self) -> None:
        self._fill(1 << 20)
        match = _FIRST_KEY.match(self._buffer)
        if match:
            self.key = match[1]
        elif not self.is_list:
            self.empty = self._buffer.lstrip()[:1] in (b"]", b"")
        self._boundary = re.compile(rb',\s*(?=\{\s*"' + re.escape(self.key) + rb'"\s*:)')

    def chunks(self) -> Iterator[Chunk]:
        """All events, in chunks of about ``CHUNK`` bytes."""
        size = CHUNK
        while True:
            self._fill(size)
            if self._eof:
                break
            cut = self._last_boundary()
            if cut is None:  # one event larger than the buffer, or no event at all
                size *= 2
                continue
            size = CHUNK
            yield Chunk(self._offset, self._buffer[: cut[0]])
            self._drop(cut[1])
        yield from self._final()

    def _final(self) -> Iterator[Chunk]:
        """The rest: some more events, the end of their list, the tail."""
        rest = self._buffer
        cut = self._last_boundary()
        begin = cut[1] if cut else 0
        end = begin
        while True:
            following = _skip(rest, end)
            if rest[following : following + 1] == b"]":
                self.closed = True
                break
            stop = object_end(rest, following) if rest[following : following + 1] == b"{" else -1
            if stop < 0:
                break
            end = stop
        if self.closed or end > begin:
            self.tail = rest[_skip(rest, end) + self.closed :]
            data = rest[:end]
        else:
            data = rest
        if data.strip():
            yield Chunk(self._offset, data, last=True)

    def peek(self) -> bytes:
        """The bytes that follow the head, as far as they are read."""
        return self._buffer[: 1 << 20]

    def starts(self, text: bytes) -> bool:
        """Whether some event of this file's kind starts in a text."""
        return re.search(rb'\{\s*"' + re.escape(self.key) + rb'"\s*:', text) is not None

    def more(self, rest: bytes, *, last: bool) -> None:
        """The list ended inside a chunk: ``rest`` and what is still unread are the tail."""
        self.closed = True
        if last:
            self.tail = rest
            return
        self._fill(len(self._buffer) + _HEAD_LIMIT)
        self.tail = rest + b"," + self._buffer

    def _last_boundary(self) -> tuple[int, int] | None:
        """(start, end) of the last separator between events in the buffer."""
        window = 1 << 16
        while True:
            begin = max(0, len(self._buffer) - window)
            last = None
            for last in self._boundary.finditer(self._buffer, begin):  # noqa: B007
                pass
            if last is not None and last.start() > 0:
                return last.start(), last.end()
            if begin == 0:
                return None
            window *= 4

    def _fill(self, size: int) -> None:
        parts, have = [self._buffer], len(self._buffer)
        while have < size and not self._eof:
            data = self._stream.read(max(size - have, 1 << 16))
            self._eof = not data
            parts.append(data)
            have += len(data)
        self._buffer = b"".join(parts)

    def _drop(self, size: int) -> None:
        self._buffer = self._buffer[size:]
        self._offset += size


def _skip(text: bytes, start: int) -> int:
    """Index of the next byte that is neither white space nor a comma."""
    match = re.compile(rb"[\s,]*").match(text, start)
    return match.end() if match else start
