"""``prefetch-factor=N``: each worker prepares N batches ahead."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any

from timesink.experiments.interventions.base import Kind, Recorder, whole_number
from timesink.experiments.interventions.loaders import each_loader, without_workers


def install(value: str, recorder: Recorder) -> None:
    """Change every loader that has workers."""
    factor = int(value)

    def edit(arguments: MutableMapping[str, Any]) -> None:
        if without_workers(arguments):
            recorder.left("a DataLoader has no workers that could fetch ahead")
        elif arguments["prefetch_factor"] == factor:
            recorder.left(f"a DataLoader fetches {factor} batches ahead already")
        else:
            arguments["prefetch_factor"] = factor
            recorder.changed("DataLoader")

    each_loader(edit)


KIND = Kind(
    name="prefetch-factor",
    takes="N",
    summary="each worker prepares N batches ahead",
    nothing="the script makes no DataLoader",
    may_change="More memory for batches that wait.",
    numerics="exact",
    code="DataLoader(..., prefetch_factor={value})",
    install=install,
    check=whole_number(1),
    measure="mean",  # it evens out single slow batches
    order=60,  # after num-workers
)
