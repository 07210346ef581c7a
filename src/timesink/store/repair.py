"""Damaged JSON: a defect costs at most the event it is in.

What msgspec does by itself, measured with 0.23: it keeps the last of duplicate keys; it refuses raw
control bytes, illegal escapes, bad UTF-8 (where a field is wanted), lone surrogates, ``nan`` and
``inf``, numbers beyond float64. A chunk that it refuses comes here: it is split at the starts of
events, each piece is tried as it is, then repaired, then given up and counted.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec

from timesink.model.trace import QualityNote

_loose = msgspec.json.Decoder()
_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|[{}\[\]]', re.S)
_ESCAPE = re.compile(rb'\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})|\\', re.S)
_CONTROL = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]|[\t\r\n]")
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"', re.S)
_WORD = re.compile(
    rb'"(?:[^"\\]|\\.)*"|[-+]?\b(?:inf(?:inity)?|nan(?:\(\w*\))?|true|false|none|null)\b',
    re.S | re.I,
)
_SURROGATE = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}(?:\\u[dD][c-fC-F][0-9a-fA-F]{2})?"
    rb"|\\u[dD][c-fC-F][0-9a-fA-F]{2}"
)
_KEY = re.compile(rb'([{,]\s*)([A-Za-z_][\w ]*)"\s*:')
_HUGE = re.compile(rb"(?<=[:\s,\[])-?\d+(?:\.\d*)?[eE]\+?\d{3,}")
#: How many following pieces are tried together with one that does not decode by itself: a piece
#: boundary may be a nested object that starts like an event.
_JOIN = 3

_SENTENCES = {
    "illegal-escape": "{n} illegal escapes repaired (Windows path): the path may not be exact",
    "control-byte": "{n} events had raw control bytes in a string",
    "bad-utf8": "{n} events had bytes that are not UTF-8; shown as �",
    "not-a-number": "{n} events had nan, inf or Python literals; those values count as missing",
    "lone-surrogate": "{n} events had half a Unicode pair; shown as �",
    "missing-quote": "{n} events had a key without its opening quote (first at byte {at})",
    "unreadable-event": "{n} event unreadable at byte {at}",
    "several-writers": "the file was written by more than one process: a second document begins "
    "at byte {at}",
    "truncated": "the file ends in the middle of an event (byte {at}): it is truncated",
}


@dataclass(frozen=True, slots=True)
class Salvaged:
    """``events``: JSON texts that decode, in order. ``lost``: events given up. ``ended``: the list
    of events was closed inside the chunk; ``rest`` is what follows its closing bracket."""

    events: tuple[bytes, ...]
    lost: int
    notes: tuple[QualityNote, ...]
    ended: bool = False
    rest: bytes = b""


def object_end(text: bytes, start: int) -> int:
    """Index after the balanced JSON object or array at ``start``; -1 when it does not close."""
    depth = 0
    for token in _TOKEN.finditer(text, start):
        first = token[0][:1]
        if first in b"{[":
            depth += 1
        elif first in b"}]":
            depth -= 1
            if depth == 0:
                return token.end()
    return -1


def note(code: str, count: int, at: int = 0) -> QualityNote:
    """The quality note of a kind of damage."""
    severity: Any = (
        "error" if code in ("truncated", "several-writers", "unreadable-event") else ("warning")
    )
    return QualityNote(code, _SENTENCES[code].format(n=count, at=at), count, severity)


def salvage(chunk: bytes, base_offset: int = 0, key: bytes = b"ph") -> Salvaged:
    """Every event of a chunk that can be had.

    ``chunk`` is comma-separated objects, maybe followed by the end of their list; ``key`` is the
    key that events of this file start with; ``base_offset`` is the chunk's place in the file.
    """
    pattern = re.compile(rb'\{\s*"' + re.escape(key) + rb'"\s*:')
    starts = [m.start() for m in pattern.finditer(chunk)]
    if not starts:
        end = chunk.find(b"]")
        return Salvaged((), 0, (), end >= 0, chunk[end + 1 :] if end >= 0 else b"")
    state = _State(base_offset)
    bounds = [*starts, len(chunk)]
    i = 0
    while i < len(starts):
        i += state.take(chunk, bounds, i)
        if state.ended:
            state.rest += chunk[bounds[i] :]
            break
    return Salvaged(tuple(state.events), state.lost, state.notes(), state.ended, state.rest)


class _State:
    """What has been salvaged so far."""

    def __init__(self, base: int) -> None:
        self.base = base
        self.events: list[bytes] = []
        self.counts: Counter[str] = Counter()
        self.first: dict[str, int] = {}
        self.lost = 0
        self.ended = False
        self.rest = b""

    def take(self, chunk: bytes, bounds: list[int], i: int) -> int:
        """Salvage the event that starts at ``bounds[i]``; returns how many pieces it used."""
        start = bounds[i]
        for used in range(1, min(_JOIN, len(bounds) - 1 - i) + 1):
            piece = chunk[start : bounds[i + used]]
            if self._whole(piece, start, last=i + used == len(bounds) - 1):
                return used
        piece = chunk[start : bounds[i + 1]]
        last = i + 1 == len(bounds) - 1
        if not self._repaired(piece, start):
            truncated = last and object_end(piece, 0) < 0
            if b'"traceEvents"' in piece:
                self._count("several-writers", start)
            self._count("truncated" if truncated else "unreadable-event", start)
            self.lost += 1
        return 1

    def _whole(self, piece: bytes, start: int, *, last: bool) -> bool:
        body = piece.rstrip()
        body = body[:-1].rstrip() if body.endswith(b",") else body
        if _decodes(body):
            self.events.append(body)
            return True
        end = object_end(piece, 0)
        if end < 0 or not _decodes(piece[:end]):
            return False
        self._after(piece[end:].lstrip(), start + end)
        self.events.append(piece[:end])
        return True

    def _after(self, rest: bytes, at: int) -> None:
        """What stands between an event and the next piece: the list's end, or another document."""
        if b'"traceEvents"' in rest or b'"schemaVersion"' in rest:
            self._count("several-writers", at)
        elif rest.startswith(b"]"):
            self.ended, self.rest = True, rest[1:]

    def _repaired(self, piece: bytes, start: int) -> bool:
        body = piece.rstrip().removesuffix(b",")
        fixed, codes = repaired(body)
        if not _decodes(fixed):
            end = object_end(fixed, 0)
            if end < 0 or not _decodes(fixed[:end]):
                return False
            self._after(fixed[end:].lstrip(), start + end)
            fixed = fixed[:end]
        for code, count in codes.items():
            self._count(code, start, count)
        self.events.append(fixed)
        return True

    def _count(self, code: str, at: int, count: int = 1) -> None:
        self.counts[code] += count
        self.first.setdefault(code, self.base + at)

    def notes(self) -> tuple[QualityNote, ...]:
        return tuple(note(c, n, self.first[c]) for c, n in self.counts.items())


def _decodes(text: bytes) -> bool:
    try:
        return isinstance(_loose.decode(text), dict)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return False


def repaired(text: bytes) -> tuple[bytes, dict[str, int]]:
    """The text with every known defect mended, and how many of each were found."""
    codes: dict[str, int] = {}
    for code, mend in _MENDS:
        text, count = mend(text)
        if count:
            codes[code] = count if code == "illegal-escape" else 1
    return text, codes


def repair_value(text: bytes) -> bytes | None:
    """One JSON value of the head or tail (a Windows path, say) made decodable, or None."""
    for candidate in (text, repaired(text)[0]):
        try:
            _loose.decode(candidate)
        except (msgspec.MsgspecError, RecursionError):
            continue
        return candidate
    return None


def _utf8(text: bytes) -> tuple[bytes, int]:
    try:
        text.decode()
    except UnicodeDecodeError:
        return text.decode("utf-8", "replace").encode(), 1
    return text, 0


def _escapes(text: bytes) -> tuple[bytes, int]:
    count = 0

    def mend(match: re.Match[bytes]) -> bytes:
        nonlocal count
        if len(match[0]) > 1:
            return match[0]
        count += 1
        return b"\\\\"

    return _ESCAPE.sub(mend, text), count


def _controls(text: bytes) -> tuple[bytes, int]:
    """Raw control bytes inside strings become escapes; between tokens white space may stay."""
    count = 0

    def escape(match: re.Match[bytes]) -> bytes:
        nonlocal count
        count += 1
        return b"\\u%04x" % match[0][0]

    return _STRING.sub(lambda m: _CONTROL.sub(escape, m[0]), text), count


def _words(text: bytes) -> tuple[bytes, int]:
    count = 0

    def mend(match: re.Match[bytes]) -> bytes:
        nonlocal count
        word = match[0]
        if word[:1] == b'"' or word in (b"true", b"false", b"null"):
            return word
        count += 1
        return word.lower() if word.lower() in (b"true", b"false") else b"null"

    text = _WORD.sub(mend, text)
    text, huge = _HUGE.subn(b"null", text)
    return text, count + huge


def _surrogates(text: bytes) -> tuple[bytes, int]:
    count = 0

    def mend(match: re.Match[bytes]) -> bytes:
        nonlocal count
        if len(match[0]) == 12:
            return match[0]
        count += 1
        return b"\\ufffd"

    return _SURROGATE.sub(mend, text), count


def _keys(text: bytes) -> tuple[bytes, int]:
    """``, tid": 0`` → ``, "tid": 0``, only in a text that has an odd number of quotes."""
    if text.count(b'"') % 2 == 0:
        return text, 0
    return _KEY.subn(rb'\1"\2":', text)


_MENDS: tuple[tuple[str, Callable[[bytes], tuple[bytes, int]]], ...] = (
    ("bad-utf8", _utf8),
    ("illegal-escape", _escapes),
    ("missing-quote", _keys),
    ("lone-surrogate", _surrogates),
    ("control-byte", _controls),
    ("not-a-number", _words),
)
