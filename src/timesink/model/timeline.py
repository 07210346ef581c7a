"""The window as lanes of bars, for the built-in timeline. Arrays, since there can be many bars."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Lane:
    """One thread or stream. All tuples have one entry per bar, sorted by start.

    ``start_ns`` is relative to ``Timeline.origin_ns``; ``depth`` is the nesting level (0 = root);
    ``name`` and ``category`` index into the timeline's ``names``/``categories``;
    ``args`` indexes ``Timeline.args`` (-1: none).
    """

    label: str
    kind: str  #: "thread" or "stream"
    start_ns: tuple[int, ...]
    dur_ns: tuple[int, ...]
    depth: tuple[int, ...]
    name: tuple[int, ...]
    category: tuple[int, ...]
    args: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Timeline:
    """``args`` are JSON texts shown on hover. ``dropped``: bars left out to keep the file small
    (the shortest ones first), ``steps``: (number, start, dur) relative to the origin."""

    origin_ns: int
    dur_ns: int
    lanes: tuple[Lane, ...]
    names: tuple[str, ...]
    categories: tuple[str, ...]
    args: tuple[str, ...]
    steps: tuple[tuple[int, int, int], ...] = ()
    dropped: int = 0
