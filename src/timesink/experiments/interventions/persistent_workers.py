"""``persistent-workers``: workers live on between epochs instead of being started again."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any

from timesink.experiments.interventions.base import Kind, Recorder
from timesink.experiments.interventions.loaders import each_loader, without_workers


def install(value: str, recorder: Recorder) -> None:
    """Change every loader that has workers."""

    def edit(arguments: MutableMapping[str, Any]) -> None:
        if without_workers(arguments):
            recorder.left("a DataLoader has no workers that could persist")
        elif arguments["persistent_workers"]:
            recorder.left("the workers of a DataLoader persist already")
        else:
            arguments["persistent_workers"] = True
            recorder.changed("DataLoader")

    each_loader(edit)


KIND = Kind(
    name="persistent-workers",
    takes="",
    summary="workers live on between epochs",
    nothing="the script makes no DataLoader",
    may_change="From the second epoch on the order of samples: torch draws one random number "
    "less. The dataset in the workers keeps its state between epochs; their memory stays.",
    numerics="exact",
    code="DataLoader(..., persistent_workers=True)",
    install=install,
    measure="mean",  # epoch starts are what it saves: a typical step is none
    order=60,  # after num-workers
)
