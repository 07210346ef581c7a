"""The timeline as one compact text for the page: delta-coded numbers, gzip, base64.

Base64 has no character that HTML could take for markup, so hostile names cannot leave the data.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Iterator

from timesink.model.timeline import Lane, Timeline
from timesink.reports import units
from timesink.reports.palette import COLOURS

#: Characters of one name; longer ones are shortened in the middle.
NAME_CHARS = 1000
#: Labels whose colours bars take; a bar's class is an index into it.
CLASSES = tuple(COLOURS)

_COPIES = ("memcpy", "memset")
#: What the outermost telling ancestor (or the bar itself) says about a host bar.
_ANCESTORS = (
    ("enumerate(DataLoader)", "data loading"),
    ("Optimizer.", "optimizer"),
    ("autograd::engine::", "backward operators"),
    ("timesink::gc", "garbage collection"),
    ("timesink::checkpoint", "checkpoint/IO"),
)


def pack(timeline: Timeline) -> str:
    """Base64 of gzip of JSON; the page's script unpacks it."""
    value = {
        "dur": timeline.dur_ns,
        "steps": [list(step) for step in timeline.steps],
        "names": [units.middle(units.clean(n), NAME_CHARS) for n in timeline.names],
        "categories": [units.clean(c) for c in timeline.categories],
        "args": [units.clean(a) for a in timeline.args],
        "classes": CLASSES,
        "lanes": [_lane(lane, timeline) for lane in timeline.lanes],
    }
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    packed = gzip.compress(text.encode("utf-8", "backslashreplace"), 6, mtime=0)
    return base64.b64encode(packed).decode("ascii")


def _lane(lane: Lane, timeline: Timeline) -> dict[str, object]:
    return {
        "label": units.clean(lane.label),
        "kind": lane.kind,
        "start": list(_deltas(lane.start_ns)),
        "dur": lane.dur_ns,
        "depth": lane.depth,
        "name": lane.name,
        "category": lane.category,
        "args": lane.args,
        "class": [CLASSES.index(label) for label in bar_classes(lane, timeline)],
    }


def _deltas(values: tuple[int, ...]) -> Iterator[int]:
    last = 0
    for value in values:
        yield value - last
        last = value


def bar_classes(lane: Lane, timeline: Timeline) -> Iterator[str]:
    """The palette's label for each bar: device rows by kind, host rows by what they are part of.

    This only colours; the breakdown's owners come from the analyses.
    """
    if lane.kind == "stream":
        for name, category in zip(lane.name, lane.category, strict=True):
            yield _device_class(timeline.names[name], timeline.categories[category])
        return
    path: list[str] = []  # class inherited at each depth, "" where no ancestor tells
    for name, category, depth in zip(lane.name, lane.category, lane.depth, strict=True):
        del path[depth:]
        path.extend([""] * (depth - len(path)))
        own = _telling(timeline.names[name]) or (path[-1] if path else "")
        path.append(own)
        yield _host_class(timeline.names[name], timeline.categories[category], own)


def _device_class(name: str, category: str) -> str:
    low = name.lower()
    if any(word in category.lower() for word in _COPIES):
        return "exposed copies"
    if "nccl" in low or "rccl" in low or "hccl" in low:
        return "exposed communication"
    return "device compute"


def _telling(name: str) -> str:
    return next((label for prefix, label in _ANCESTORS if name.startswith(prefix)), "")


def _host_class(name: str, category: str, inherited: str) -> str:
    low = category.lower()
    if "runtime" in low or "driver" in low:
        return "synchronisation wait" if "ynchronize" in name else "runtime/launch"
    if "python" in low:
        return "other Python"
    if inherited:
        return inherited
    return "other Python" if "annotation" in low else "forward operators"
