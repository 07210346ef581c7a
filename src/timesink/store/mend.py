"""Mends for damaged JSON: each turns one known defect into JSON that decodes, and counts it.

What msgspec does by itself, measured with 0.23: it keeps the last of duplicate keys; it refuses raw
control bytes, illegal escapes, bad UTF-8 (where a field is wanted), lone surrogates, ``nan`` and
``inf``, numbers beyond float64. Every pattern here takes time and memory in proportion to the text,
also for a string of many MB and for quotes that do not pair.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import msgspec

_loose = msgspec.json.Decoder()
_TOKEN = re.compile(rb'\\.|["{}\[\]]', re.S)
_QUOTE = re.compile(rb'\\.|"', re.S)
_ESCAPE = re.compile(rb'\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})|\\')
_CONTROL = re.compile(rb"[\x00-\x1f]")
#: Also as Microsoft's C library spells them: ``-nan(ind)``, ``1.#INF``.
_WORD = re.compile(
    rb"[-+]?\b(?:inf(?:inity)?|nan)\b(?:\(\w*\))?|[-+]?1\.#[a-z]+\d*"
    rb"|\b(?:true|false|none|null)\b",
    re.I,
)
_HUGE = re.compile(rb"(?<=[:\s,\[])-?\d+(?:\.\d*)?[eE]\+?\d{3,}")
_SURROGATE = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}(?:\\u[dD][c-fC-F][0-9a-fA-F]{2})?"
    rb"|\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\.",
    re.S,
)
_KEY = re.compile(rb'([{,]\s*)([A-Za-z_][\w ]*)"\s*:')

Mend = Callable[[bytes], tuple[bytes, int]]


def object_end(text: bytes, start: int) -> int:
    """Index after the JSON object or array at ``start``; -1 when its brackets do not match."""
    awaited, inside = bytearray(), False
    for token in _TOKEN.finditer(text, start):
        char = token[0]
        if char == b'"':
            inside = not inside
        elif inside or len(char) > 1:
            continue
        elif char in b"{[":
            awaited += b"}" if char == b"{" else b"]"
        elif not awaited or awaited.pop() != char[0]:
            return -1
        elif not awaited:
            return token.end()
    return -1


def decodes(text: bytes) -> bool:
    """Whether a text is one JSON value."""
    try:
        _loose.decode(text)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return False
    return True


def repaired(text: bytes) -> tuple[bytes, dict[str, int]]:
    """The text with its defects mended, as far as needed, and how many there were of each kind."""
    codes: dict[str, int] = {}
    for code, mend in _MENDS:
        text, count = mend(text)
        if count:
            codes[code] = count if code == "illegal-escape" else 1
            if decodes(text):
                break
    return text, codes


def repair_value(text: bytes) -> bytes | None:
    """One JSON value of the head or tail (a Windows path, say) made decodable, or None."""
    if decodes(text):
        return text
    fixed = repaired(text)[0]
    return fixed if decodes(fixed) else None


def escapes(text: bytes) -> tuple[bytes, int]:
    """A backslash that begins no legal escape becomes a literal one."""
    if b"\\" not in text:
        return text, 0
    count = 0

    def mend(match: re.Match[bytes]) -> bytes:
        nonlocal count
        if len(match[0]) > 1:
            return match[0]
        count += 1
        return b"\\\\"

    return _ESCAPE.sub(mend, text), count


def _utf8(text: bytes) -> tuple[bytes, int]:
    try:
        text.decode()
    except UnicodeDecodeError:
        return text.decode("utf-8", "replace").encode(), 1
    return text, 0


def _split(text: bytes) -> list[bytes]:
    """Outside, string, outside, string, ...: strings with their quotes, the last may be open."""
    parts, start, inside = [], 0, False
    for match in _QUOTE.finditer(text):
        if match[0] == b'"':
            cut = match.end() if inside else match.start()
            parts.append(text[start:cut])
            start, inside = cut, not inside
    return [*parts, text[start:]]


def _controls(text: bytes) -> tuple[bytes, int]:
    """Raw control bytes inside strings become escapes; between tokens white space may stay."""
    parts, count = _split(text), 0

    def escape(match: re.Match[bytes]) -> bytes:
        nonlocal count
        count += 1
        return b"\\u%04x" % match[0][0]

    parts[1::2] = [_CONTROL.sub(escape, p) for p in parts[1::2]]
    return b"".join(parts), count


def _words(text: bytes) -> tuple[bytes, int]:
    """Tokens outside strings that are no JSON: not a number, Python's literals, huge numbers."""
    parts, count = _split(text), 0

    def mend(match: re.Match[bytes]) -> bytes:
        nonlocal count
        word = match[0]
        if word in (b"true", b"false", b"null"):
            return word
        count += 1
        return word.lower() if word.lower() in (b"true", b"false") else b"null"

    def outside(part: bytes) -> bytes:
        nonlocal count
        part, huge = _HUGE.subn(b"null", _WORD.sub(mend, part))
        count += huge
        return part

    parts[0::2] = [outside(p) for p in parts[0::2]]
    return b"".join(parts), count


def _surrogates(text: bytes) -> tuple[bytes, int]:
    count = 0

    def mend(match: re.Match[bytes]) -> bytes:
        nonlocal count
        if len(match[0]) != 6:
            return match[0]
        count += 1
        return b"\\ufffd"

    return _SURROGATE.sub(mend, text), count


def _keys(text: bytes) -> tuple[bytes, int]:
    """``, tid": 0`` → ``, "tid": 0``, only in a text whose quotes do not pair."""
    return _KEY.subn(rb'\1"\2":', text) if len(_split(text)) % 2 == 0 else (text, 0)


_MENDS: tuple[tuple[str, Mend], ...] = (
    ("bad-utf8", _utf8),
    ("illegal-escape", escapes),
    ("missing-quote", _keys),
    ("lone-surrogate", _surrogates),
    ("control-byte", _controls),
    ("not-a-number", _words),
)
