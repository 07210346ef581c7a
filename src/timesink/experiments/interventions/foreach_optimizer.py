"""``foreach-optimizer``: operators over lists of parameters instead of one by one."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any

from timesink.experiments.interventions.base import Kind, Recorder
from timesink.experiments.interventions.optimizers import each_optimizer


def install(value: str, recorder: Recorder) -> None:
    """Pass ``foreach=True`` to every optimizer that has it and is not fused."""

    def edit(arguments: MutableMapping[str, Any]) -> bool:
        if arguments["foreach"] or arguments.get("fused"):
            return False
        arguments["foreach"] = True
        return True

    each_optimizer("foreach", edit, recorder)


KIND = Kind(
    name="foreach-optimizer",
    takes="",
    summary="the optimizer works on lists of parameters",
    nothing="the script makes no optimizer of torch.optim, or it does so already",
    may_change="Rounding of the update; memory for as many bytes as the parameters have.",
    numerics="rounding",
    code="Optimizer(..., foreach=True)",
    install=install,
)
