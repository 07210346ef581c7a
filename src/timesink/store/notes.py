"""Collects quality notes while a trace is read: one per kind of damage, counts added up."""

from __future__ import annotations

from dataclasses import replace

from timesink.model.trace import QualityNote, Severity
from timesink.store.repair import added


class Notes:
    """Notes by code, in the order of their first appearance."""

    def __init__(self) -> None:
        self._notes: dict[str, QualityNote] = {}

    def add(self, code: str, message: str, count: int = 1, severity: Severity = "info") -> None:
        """Add ``count`` to a note. ``{n}`` in the message stands for the sum in the end."""
        known = self._notes.get(code)
        total = count + (known.count if known else 0)
        self._notes[code] = QualityNote(code, message, total, severity)

    def merge(self, note: QualityNote) -> None:
        """Add a note made elsewhere; the number at the start of its sentence is renewed."""
        known = self._notes.get(note.code)
        if known is None:
            self._notes[note.code] = note
            return
        self._notes[note.code] = added(known, note.count)

    def has(self, code: str) -> bool:
        """Whether there is a note of this kind."""
        return code in self._notes

    def result(self) -> tuple[QualityNote, ...]:
        """All notes with their numbers filled in."""
        return tuple(
            replace(n, message=n.message.replace("{n}", f"{n.count:,}"))
            for n in self._notes.values()
        )
