"""``batch-size=N`` or ``batch-size=×2``: other batches, so another training; per sample faster?"""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any

from timesink.errors import BadUsage
from timesink.experiments.interventions.base import Kind, Recorder, whole_number
from timesink.experiments.interventions.loaders import each_loader

_TIMES = ("×", "x", "X", "*")


def check(value: str) -> str:
    """``64``, or ``×2`` (also typed ``x2``)."""
    times = value.startswith(_TIMES)
    number = value[1:] if times else value
    try:
        return ("×" if times else "") + whole_number(1)(number)
    except BadUsage:
        raise BadUsage(
            f"It takes a number of samples or a multiple, not {value!r}.", "Write 64 or ×2."
        ) from None


def install(value: str, recorder: Recorder) -> None:
    """Change every loader that makes its batches by size."""

    def edit(arguments: MutableMapping[str, Any]) -> None:
        before = arguments["batch_size"]
        if before is None or arguments["batch_sampler"] is not None:
            recorder.left("a DataLoader gets its batches from a sampler of the script's own")
            return
        after = before * int(value[1:]) if value.startswith("×") else int(value)
        if after == before:
            recorder.left(f"a DataLoader has batches of {before} already")
            return
        arguments["batch_size"] = after
        recorder.changed("DataLoader", scale=after / before)

    each_loader(edit)


KIND = Kind(
    name="batch-size",
    takes="N|×N",
    summary="batches of N samples, or N times as large",
    nothing="the script makes no DataLoader",
    may_change="Training itself: fewer, larger steps (retune the learning rate); more memory.",
    numerics="training",
    code="DataLoader(..., batch_size={value})",
    install=install,
    check=check,
)
