"""``channels-last``: convolutions on NHWC memory, the layout that fast kernels want."""

from __future__ import annotations

from typing import Any

from timesink.experiments.interventions.base import Kind, Recorder
from timesink.experiments.interventions.roots import Call, each_root


def install(value: str, recorder: Recorder) -> None:
    """Convert every outermost module with 4-D parameters, and the 4-D inputs of its calls."""
    import torch

    def convert(value: Any) -> Any:
        if isinstance(value, torch.Tensor) and value.dim() == 4:
            return value.contiguous(memory_format=torch.channels_last)
        return value

    def wrap(module: Any, call: Call) -> Call | None:
        if not any(p.dim() == 4 for p in module.parameters()):
            return None
        module.to(memory_format=torch.channels_last)
        recorder.changed(f"module ({type(module).__name__})")

        def converted(*args: Any, **kwargs: Any) -> Any:
            return call(*map(convert, args), **{k: convert(v) for k, v in kwargs.items()})

        return converted

    each_root(wrap)


KIND = Kind(
    name="channels-last",
    takes="",
    summary="NHWC memory for convolutions",
    nothing="no module with 4-D parameters (convolutions) is called",
    may_change="Rounding (other kernels); code that views activations as NCHW memory.",
    numerics="rounding",
    code="model.to(memory_format=torch.channels_last)  # and the images",
    install=install,
    order=30,
)
