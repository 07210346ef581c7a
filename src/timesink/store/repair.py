"""Damaged chunks of events: a defect costs at most the event it is in.

A chunk that does not decode is split at the starts of events; each piece is tried as it is, then
mended (see ``mend``), then given up and counted. Nothing disappears without a note.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from timesink.model.trace import QualityNote
from timesink.store.mend import decodes, escapes, object_end, repair_value, repaired

__all__ = ["Salvaged", "added", "note", "object_end", "repair_value", "repaired", "salvage"]

_loose = msgspec.json.Decoder()
_elements = msgspec.json.Decoder(list[msgspec.Raw])
_SPACE = re.compile(rb"[\s,]*")
_LIST_END = re.compile(rb"\}\s*\]")
#: How many following pieces are tried together with one that does not close by itself: a piece
#: boundary may be a nested object that starts like an event.
_JOIN = 3
_EVENT_KEYS = frozenset(("ph", "ts", "dur", "name", "cat", "pid", "tid", "args", "id"))
#: How many places are tried as the end of the list behind an unreadable last event.
_ENDS = 64

#: (of one, of several)
_SENTENCES = {
    "illegal-escape": (
        "{n} illegal escape repaired (Windows path): the path may not be exact",
        "{n} illegal escapes repaired (Windows path): the path may not be exact",
    ),
    "control-byte": (
        "{n} event had raw control bytes in a string",
        "{n} events had raw control bytes in a string",
    ),
    "bad-utf8": (
        "{n} event had bytes that are not UTF-8; shown as �",
        "{n} events had bytes that are not UTF-8; shown as �",
    ),
    "not-a-number": (
        "{n} event had nan, inf or Python literals; those values count as missing",
        "{n} events had nan, inf or Python literals; those values count as missing",
    ),
    "lone-surrogate": (
        "{n} event had half a Unicode pair; shown as �",
        "{n} events had half a Unicode pair; shown as �",
    ),
    "missing-quote": (
        "{n} event had a key without its opening quote, repaired (byte {at})",
        "{n} events had a key without its opening quote, repaired (first at byte {at})",
    ),
    "unreadable-event": (
        "{n} event unreadable at byte {at}",
        "{n} events unreadable, the first at byte {at}",
    ),
    "stray-bytes": (
        "{n} byte between events belongs to none (byte {at})",
        "{n} bytes between events belong to none (first at byte {at})",
    ),
    "several-writers": (
        "the file was written by more than one process: a second document begins at byte {at}",
    ),
    "truncated": (
        "the file is truncated: its list of events ends without being closed (byte {at})",
    ),
}
_ERRORS = ("truncated", "several-writers", "unreadable-event")


@dataclass(frozen=True, slots=True)
class Salvaged:
    """``events``: JSON texts that decode, in order. ``lost``: events given up. ``ended``: the list
    of events was closed inside the chunk; ``rest`` is what follows its closing bracket."""

    events: tuple[bytes, ...]
    lost: int
    notes: tuple[QualityNote, ...]
    ended: bool = False
    rest: bytes = b""


def note(code: str, count: int, at: int = 0) -> QualityNote:
    """The quality note of a kind of damage, first seen at byte ``at`` of the decompressed file."""
    sentence = _SENTENCES[code][0 if count == 1 else -1]
    severity: Any = "error" if code in _ERRORS else "warning"
    return QualityNote(code, sentence.format(n=count, at=at), count, severity)


def added(known: QualityNote, count: int) -> QualityNote:
    """A note with ``count`` more of the same; where the first one was stays."""
    total = known.count + count
    if known.code in _SENTENCES:
        at = re.search(r"byte (\d+)", known.message)
        return note(known.code, total, int(at[1]) if at else 0)
    return replace(known, message=re.sub(r"^\d+", str(total), known.message), count=total)


def salvage(chunk: bytes, base_offset: int = 0, key: bytes = b"ph") -> Salvaged:
    """Every event of a chunk that can be had.

    ``chunk`` is comma-separated objects, maybe followed by the end of their list; ``key`` is the
    key that events of this file start with; ``base_offset`` is the chunk's place in the file.
    """
    simple = _escapes_only(chunk, base_offset)
    if simple is not None:
        return simple
    pattern = re.compile(rb'\{\s*"' + re.escape(key) + rb'"\s*:')
    starts = [m.start() for m in pattern.finditer(chunk)]
    state = _State(base_offset, chunk, [*starts, len(chunk)])
    if not starts or chunk[: starts[0]].strip(b" \t\r\n,"):
        state.walk(chunk[: state.bounds[0]], 0, last=not starts)
    i = 0
    while i < len(starts) and not state.ended:
        i += state.take(i)
    if state.ended:
        state.rest += chunk[state.bounds[i] :]
    return Salvaged(tuple(state.events), state.lost, state.notes(), state.ended, state.rest)


def _escapes_only(chunk: bytes, base: int) -> Salvaged | None:
    """The fast way for a file full of Windows paths: nothing else is wrong with the chunk."""
    fixed, count = escapes(chunk.strip(b" \t\r\n,"))
    text = b"[" + fixed + b"]"
    if not count or not decodes(text):
        return None
    events = tuple(bytes(e) for e in _elements.decode(text))
    return Salvaged(events, 0, (note("illegal-escape", count, base),))


class _State:
    """What has been salvaged so far. ``bounds``: where pieces begin, and the chunk's end."""

    def __init__(self, base: int, chunk: bytes, bounds: list[int]) -> None:
        self.base = base
        self.chunk = chunk
        self.bounds = bounds
        self.events: list[bytes] = []
        self.counts: Counter[str] = Counter()
        self.first: dict[str, int] = {}
        self.lost = 0
        self.ended = False
        self.rest = b""

    def take(self, i: int) -> int:
        """Salvage the event that starts at ``bounds[i]``; returns how many pieces it used."""
        start = self.bounds[i]
        pieces = len(self.bounds) - 1
        for used in range(1, min(_JOIN, pieces - i) + 1):
            text = self.chunk[start : self.bounds[i + used]]
            if self._event(text.rstrip(b" \t\r\n,"), start):
                return used
            end = object_end(text, 0)
            if end > 0 and (
                used == 1 or _is_event(text[:end]) or _is_event(repaired(text[:end])[0])
            ):
                self.walk(text, start, last=i + used == pieces)
                return used
        text = self.chunk[start : self.bounds[i + 1]]
        self._give_up(text, start, last=i + 1 == pieces)
        return 1

    def walk(self, text: bytes, start: int, *, last: bool) -> None:
        """All objects of a text, one after the other, and what stands between them."""
        at = 0
        while (at := _skip(text, at)) < len(text):
            if text[at : at + 1] == b"{":
                end = object_end(text, at)
                whole = text[at:end] if end > 0 else text[at:]
                if b'"ph"' not in whole and decodes(whole):  # a fragment, or no event at all
                    self._count("stray-bytes", start + at, len(whole))
                elif not self._event(whole, start + at):
                    self._give_up(whole, start + at, last=last and end < 0)
                if end < 0:
                    return
                at = end
            elif self._closes(text[at:], start + at, last=last):
                return
            else:
                following = text.find(b"{", at)
                following = len(text) if following < 0 else following
                self._count("stray-bytes", start + at, following - at)
                at = following

    def _event(self, text: bytes, start: int) -> bool:
        """Keep one object, mended if need be; False when it is none or cannot be read."""
        codes: dict[str, int] = {}
        if not _is_event(text):
            text, codes = repaired(text)
            if not codes or not _is_event(text):
                return False
        for code, count in codes.items():
            self._count(code, start, count)
        self.events.append(text)
        return True

    def _give_up(self, text: bytes, start: int, *, last: bool) -> None:
        if last and self._find_end(text, start):
            return
        self.lost += 1
        if b'"traceEvents"' in text:
            self._count("several-writers", start)
        cut = last and not self.ended and text.rstrip()[-1:] not in (b"}", b"]")
        self._count("truncated" if cut else "unreadable-event", start)

    def _find_end(self, text: bytes, start: int) -> bool:
        """Look for the list's end behind an event whose quotes do not pair: what follows must be
        the keys that stand behind the list. (A closing brace alone may be the event's own, unless
        the event is whole without it.) True when the event could be mended, its end being known.
        """
        for match in list(_LIST_END.finditer(text))[-_ENDS:]:
            rest = text[match.end() :]
            alone = rest.strip() == b"}"
            if alone or not rest.strip() or _is_tail(rest.strip()):
                mended = self._event(text[: match.start() + 1], start)
                if mended or not alone:
                    self.ended, self.rest = True, rest
                    return mended
        return False

    def _closes(self, rest: bytes, at: int, *, last: bool) -> bool:
        """Whether the list of events ends here, or another document begins."""
        if b'"traceEvents"' in rest or b'"schemaVersion"' in rest:
            self._count("several-writers", at)
            return True
        if not rest.startswith(b"]"):
            return False
        # A bracket that is followed by the next event at once is a stray one.
        if last or rest.strip(b" \t\r\n,]"):
            self.ended, self.rest = True, rest[1:]
        return self.ended

    def _count(self, code: str, at: int, count: int = 1) -> None:
        self.counts[code] += count
        self.first.setdefault(code, self.base + at)

    def notes(self) -> tuple[QualityNote, ...]:
        return tuple(note(c, n, self.first[c]) for c, n in self.counts.items())


def _is_event(text: bytes) -> bool:
    """Whether a text is one JSON object with a phase."""
    if text[:1] != b"{" or b'"ph"' not in text:
        return False
    return decodes(text)


def _is_tail(rest: bytes) -> bool:
    """Whether a text is the top-level keys behind the list of events, to the end of the file."""
    fixed = repair_value(b'{"_": 0' + rest) if rest.startswith(b",") else None
    return fixed is not None and not _EVENT_KEYS & set(_loose.decode(fixed))


def _skip(text: bytes, start: int) -> int:
    match = _SPACE.match(text, start)
    return match.end() if match else start
