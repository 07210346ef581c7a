"""``fused-optimizer``: one kernel updates all parameters."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any

from timesink.experiments.interventions.base import Kind, Recorder
from timesink.experiments.interventions.optimizers import each_optimizer


def install(value: str, recorder: Recorder) -> None:
    """Pass ``fused=True`` to every optimizer that has it."""

    def edit(arguments: MutableMapping[str, Any]) -> bool:
        if arguments["fused"]:
            return False
        arguments["fused"], arguments["foreach"] = True, None
        return True

    each_optimizer("fused", edit, recorder)


KIND = Kind(
    name="fused-optimizer",
    takes="",
    summary="one kernel updates all parameters",
    nothing="the script makes no optimizer of torch.optim, or it is fused already",
    may_change="Rounding of the update.",
    numerics="rounding",
    code="Optimizer(..., fused=True)",
    install=install,
)
