"""Makes a big trace from a real one: its events again and again, later in time.

Times move by the trace's span, correlation and external ids and step numbers stay unique, so the
copies are further steps of the same job and not the same step twice. Text is edited in place,
so bytes per event and the writer's layout stay those of Kineto.
"""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

_TS = re.compile(rb'("ts":\s*)(\d+)')
_IDS = re.compile(rb'("(?:External id|correlation|Ev Idx|Record function id|id)":\s*)(\d+)')
_STEP = re.compile(rb"ProfilerStep#(\d+)")
_STRIDE = 10**8  # further apart than any id of one trace


def multiply(source: Path, target: Path, copies: int) -> int:
    """Write ``copies`` of ``source`` (plain or gz) as one plain JSON file; returns its events."""
    raw = source.read_bytes()
    text = gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw
    document = json.loads(text)
    events = document["traceEvents"]
    timed = [e for e in events if e.get("ph") == "X" and e.get("cat") != "Trace"]
    span = max(int(e["ts"] + e["dur"]) for e in timed) - min(int(e["ts"]) for e in timed)
    steps = 1 + len(set(_STEP.findall(text)))
    head, body, tail = _split(text)
    temporary = target.with_suffix(".tmp")
    with temporary.open("wb") as out:
        out.write(head)
        for copy in range(copies):
            out.write(b",\n" if copy else b"\n")
            out.write(_shifted(body, copy, copy * (span + 1000), steps))
        out.write(tail)
    temporary.rename(target)
    return len(events) * copies


def _split(text: bytes) -> tuple[bytes, bytes, bytes]:
    opening = text.index(b'"traceEvents": [') + len(b'"traceEvents": [')
    closing = text.rindex(b"]")
    return text[:opening], text[opening:closing].strip(), b"\n" + text[closing:]


def _shifted(body: bytes, copy: int, shift: int, steps: int) -> bytes:
    if not copy:
        return body
    body = _TS.sub(lambda m: m[1] + str(int(m[2]) + shift).encode(), body)
    body = _IDS.sub(lambda m: m[1] + str(int(m[2]) + copy * _STRIDE).encode(), body)
    return _STEP.sub(lambda m: b"ProfilerStep#%d" % (int(m[1]) + copy * steps), body)
