"""From the plain values of a snapshot to columns. Imports no polars: the worker runs it under a
limit on memory."""

from __future__ import annotations

import json
from array import array
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from timesink.store.unpickle import Refused

Columns = dict[str, Any]
_ACTIONS = {
    "alloc": 1, "free_requested": 2, "free_completed": 3, "free": 3, "segment_alloc": 4,
    "segment_free": 5, "segment_map": 6, "segment_unmap": 7, "oom": 8, "snapshot": 9,
}  # fmt: skip
_STATES = {"inactive": 0, "active_allocated": 1, "active_pending_free": 2,
           "active_awaiting_free": 2}  # fmt: skip
_COLUMNS = ("device", "action", "addr", "size", "stream", "time_us", "device_free", "stack")
#: Frames kept of one stack, from the innermost.
_DEPTH = 200


class _Stacks:
    """Interns stacks. Torch shares the frames among them, so that identity finds most at once."""

    def __init__(self) -> None:
        self.frames: dict[tuple[str, int, str], int] = {}
        self.stacks: dict[tuple[int, ...], int] = {}
        self._by_id: dict[int, int] = {}
        self._seen: dict[tuple[int, ...], int] = {}

    def code(self, frames: Any) -> int:
        if not frames:
            return -1
        key = tuple(map(id, frames))
        found = self._seen.get(key)
        if found is None:
            codes = tuple(self._frame(f) for f in frames[:_DEPTH])
            found = self._seen[key] = self.stacks.setdefault(codes, len(self.stacks))
        return found

    def _frame(self, frame: Any) -> int:
        found = self._by_id.get(id(frame))
        if found is None:
            key = (str(frame.get("filename", "")), int(frame.get("line", 0)),
                   str(frame.get("name", "")))  # fmt: skip
            found = self._by_id[id(frame)] = self.frames.setdefault(key, len(self.frames))
        return found


def columns(value: Any) -> dict[str, Any]:
    """The columns of every table, and ``settings`` and ``notes``. Raises :class:`Refused` when the
    value is not a snapshot."""
    segments, traces, settings, annotations = _parts(value)
    stacks, notes = _Stacks(), list[tuple[str, str, int]]()
    try:
        found = {
            **_segments(segments, stacks),
            "events": _events(traces, stacks, notes),
            "annotations": _annotations(annotations),
        }
    except (TypeError, AttributeError, KeyError, IndexError, ValueError, OverflowError) as error:
        raise Refused(f"a part of it is not as torch writes it ({error})"[:300]) from error
    files, lines, names = zip(*stacks.frames, strict=True) if stacks.frames else ((), (), ())
    found["frames"] = {"file": list(files), "line": list(lines), "name": list(names)}
    found["stacks"] = {"frames": [list(s) for s in stacks.stacks]}
    return {**found, "settings": _settings(settings), "notes": notes}


def _parts(value: Any) -> tuple[Any, Any, Any, Any]:
    """Torch 2.x writes a dict, the first previews only the list of segments."""
    if (
        isinstance(value, list)
        and value
        and all(isinstance(s, dict) and "blocks" in s for s in value)
    ):
        return value, [], {}, []
    if not isinstance(value, dict) or not isinstance(value.get("segments"), list):
        what = type(value).__name__
        if isinstance(value, dict):
            what = f"dict with the keys {', '.join(sorted(map(str, value))[:6])}"
        raise Refused(f"it holds a {what}"[:300])
    return (
        value["segments"],
        value.get("device_traces") or [],
        value.get("allocator_settings") or {},
        value.get("external_annotations") or [],
    )


def _whole(rows: Sequence[Any], key: str, default: int = -1) -> array[int]:
    return array("q", [r.get(key, default) for r in rows])


def _addresses(rows: Sequence[Any], key: str) -> array[int]:
    return array("Q", [r.get(key, 0) % 2**64 for r in rows])


def _segments(segments: Sequence[Any], stacks: _Stacks) -> dict[str, Columns]:
    blocks: Columns = {
        "segment": array("q"), "address": array("Q"), "size": array("q"),
        "requested": array("q"), "state": array("q"), "stack": array("q"),
    }  # fmt: skip
    for row, segment in enumerate(segments):
        address = segment.get("address", 0) % 2**64
        for block in segment["blocks"]:
            size = block["size"]
            state = _STATES.get(block["state"], 0)
            requested, frames = _block(block, size, state)
            blocks["segment"].append(row)
            blocks["address"].append(block.get("address", address) % 2**64)
            blocks["size"].append(size)
            blocks["requested"].append(requested)
            blocks["state"].append(state)
            blocks["stack"].append(stacks.code(frames))
            address += size
    table = {
        "device": _whole(segments, "device", 0),
        "address": _addresses(segments, "address"),
        "size": _whole(segments, "total_size"),
        "stream": _whole(segments, "stream", 0),
        "kind": [str(s.get("segment_type", "")) for s in segments],
        "pool": [_pool(s.get("segment_pool_id")) for s in segments],
        "expandable": [bool(s.get("is_expandable", False)) for s in segments],
    }
    return {"segments": table, "blocks": blocks}


def _block(block: Any, size: int, state: int) -> tuple[int, Any]:
    """What was asked for and where. Torch 2.0 has a history of the block's owners instead."""
    history = block.get("history")
    if history and "frames" not in block:
        latest = history[0]
        return latest.get("real_size", size), latest.get("frames")
    requested = block.get("requested_size", size)
    return (requested if state else 0), block.get("frames")


def _pool(value: Any) -> str:
    return ":".join(str(v) for v in value) if isinstance(value, (tuple, list)) else "0:0"


def _events(
    traces: Sequence[Sequence[Any]], stacks: _Stacks, notes: list[tuple[str, str, int]]
) -> Columns:
    parts = [_history(device, entries, stacks) for device, entries in enumerate(traces)]
    table = {name: _joined(part[name] for part in parts) for name in _COLUMNS}
    unknown = table["action"].count(0)
    if unknown:
        notes.append(("snapshot-actions", "Entries of an unknown kind were passed over.", unknown))
    return table


def _history(device: int, entries: Sequence[Any], stacks: _Stacks) -> Columns:
    code: Callable[[Any], int] = stacks.code
    return {
        "device": array("q", [device]) * len(entries),
        "action": array("q", [_ACTIONS.get(e["action"], 0) for e in entries]),
        "addr": _addresses(entries, "addr"),
        "size": _whole(entries, "size", 0),
        "stream": _whole(entries, "stream", 0),
        "time_us": _whole(entries, "time_us"),
        "device_free": _whole(entries, "device_free"),
        "stack": array("q", [code(e.get("frames")) for e in entries]),
    }


def _joined(parts: Iterable[array[int]]) -> array[int]:
    found = list(parts)
    whole = array(found[0].typecode if found else "q")
    for part in found:
        whole.extend(part)
    return whole


def _annotations(rows: Sequence[Any]) -> Columns:
    return {
        "device": _whole(rows, "device", 0),
        "time_us": _whole(rows, "time_us"),
        "stage": [str(r.get("stage", "")) for r in rows],
        "name": [str(r.get("name", "")) for r in rows],
    }


def _settings(settings: Any) -> list[tuple[str, str]]:
    if not isinstance(settings, dict):
        return []
    plain = (bool, int, float, str)
    return [
        (str(k), str(v) if isinstance(v, plain) else json.dumps(v, default=str)[:500])
        for k, v in settings.items()
    ]
