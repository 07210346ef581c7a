"""``pin-memory``: batches are copied into page-locked memory, from which copies are faster."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any

from timesink.experiments.interventions.base import Kind, Recorder
from timesink.experiments.interventions.loaders import each_loader


def install(value: str, recorder: Recorder) -> None:
    """Change every loader, where there is an accelerator to copy to."""
    import torch

    def edit(arguments: MutableMapping[str, Any]) -> None:
        if arguments["pin_memory"]:
            recorder.left("a DataLoader pins its memory already")
        elif not torch.cuda.is_available():
            recorder.left("there is no CUDA device: pinned memory would do nothing")
        else:
            arguments["pin_memory"] = True
            recorder.changed("DataLoader")

    each_loader(edit)


KIND = Kind(
    name="pin-memory",
    takes="",
    summary="batches in page-locked memory",
    nothing="the script makes no DataLoader",
    may_change="More host memory that cannot be swapped out.",
    numerics="exact",
    code="DataLoader(..., pin_memory=True)  # and batch.to(device, non_blocking=True)",
    install=install,
)
