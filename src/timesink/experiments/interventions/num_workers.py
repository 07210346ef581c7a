"""``num-workers=N``: batches are made in N worker processes."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any

from timesink.experiments.interventions.base import Kind, Recorder, whole_number
from timesink.experiments.interventions.loaders import each_loader


def install(value: str, recorder: Recorder) -> None:
    """Change every loader but those whose workers would all yield the same data."""
    from torch.utils.data import IterableDataset

    workers = int(value)

    def edit(arguments: MutableMapping[str, Any]) -> None:
        if arguments["num_workers"] == workers:
            recorder.left(f"a DataLoader has {workers} workers already")
        elif isinstance(arguments["dataset"], IterableDataset):
            recorder.left(
                "a DataLoader over an IterableDataset was left alone: each worker would yield all "
                "of its data, unless it splits them itself"
            )
        else:
            arguments["num_workers"] = workers
            if not workers:
                arguments.update(prefetch_factor=None, persistent_workers=False, timeout=0,
                                 multiprocessing_context=None)  # fmt: skip
            recorder.changed("DataLoader")

    each_loader(edit)


KIND = Kind(
    name="num-workers",
    takes="N",
    summary="make batches in N worker processes",
    nothing="the script makes no DataLoader",
    may_change="Augmentation that draws random numbers draws others in workers.",
    numerics="exact",
    code="DataLoader(..., num_workers={value})",
    install=install,
    check=whole_number(0),
)
