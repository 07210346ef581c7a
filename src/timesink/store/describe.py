"""The keys before and after the events: devices, rank, base time, switches, versions."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from timesink.store.notes import Notes
from timesink.store.repair import object_end, repaired

_loose = msgspec.json.Decoder()
_PAIR = re.compile(rb'\s*,?\s*"([^"\\]*(?:\\.[^"\\]*)*)"\s*:\s*', re.S)
_STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.S)
_LAST_STRING = re.compile(rb'"[^"]*"(?=\s*[,}])', re.S)
_SCALAR = re.compile(rb"[^,}\]\s]+")


def describe(head: bytes, tail: bytes, is_list: bool, notes: Notes) -> dict[str, Any]:
    """All top-level keys but ``traceEvents``; a damaged value costs that value only."""
    if is_list:
        return {}
    out: dict[str, Any] = {}
    begin = head.find(b"{") + 1
    _pairs(head[begin:], out, notes)
    _pairs(tail, out, notes)
    out.pop("traceEvents", None)
    return out


def _pairs(text: bytes, out: dict[str, Any], notes: Notes) -> None:
    position = 0
    while (match := _PAIR.match(text, position)) is not None:
        name = match[1].decode("utf-8", "replace")
        position = match.end()
        if name == "traceEvents":
            return
        end = _value_end(text, position)
        value = text[position:end]
        try:
            out[name] = _loose.decode(value)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            fixed, codes = repaired(value)
            try:
                out[name] = _loose.decode(fixed)
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
                codes = {}
                notes.add("unreadable-key", f"the key {name} of the trace is unreadable")
            if "illegal-escape" in codes:
                notes.add(
                    "illegal-escape",
                    "{n} illegal escapes repaired (Windows path): the path may not be exact",
                    codes["illegal-escape"],
                )
        position = max(end, position + 1)


def _value_end(text: bytes, start: int) -> int:
    first = text[start : start + 1]
    if first in (b"{", b"["):
        end = object_end(text, start)
        return end if end > 0 else len(text)
    if first == b'"':
        # A Windows path may end in a backslash that hides the closing quote: then take the
        # last quote before the next separator.
        match = _STRING.match(text, start)
        if match and re.match(rb"\s*(?:[,}\]]|$)", text[match.end() :]):
            return match.end()
        loose = _LAST_STRING.match(text, start)
        return loose.end() if loose else (match.end() if match else len(text))
    scalar = _SCALAR.match(text, start)
    return scalar.end() if scalar else start + 1
