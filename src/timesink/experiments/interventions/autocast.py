"""``autocast=bf16|fp16``: the forward of the model in a narrower format."""

from __future__ import annotations

from typing import Any

from timesink.experiments.interventions.base import Kind, Recorder, one_of
from timesink.experiments.interventions.roots import Call, each_root, has_parameters


def install(value: str, recorder: Recorder) -> None:
    """Run every outermost module with parameters under autocast; its outputs become float32 again,
    so that a loss outside of it is computed as before (as Accelerate does)."""
    import torch

    kind = torch.bfloat16 if value == "bf16" else torch.float16

    def wrap(module: Any, call: Call) -> Call | None:
        if not has_parameters(module):
            return None
        device = next(module.parameters()).device.type
        recorder.changed(f"module ({type(module).__name__})")

        def cast(*args: Any, **kwargs: Any) -> Any:
            with torch.autocast(device, dtype=kind):
                return _widened(call(*args, **kwargs), kind)

        return cast

    each_root(wrap)


def _widened(value: Any, kind: Any) -> Any:
    import torch

    if isinstance(value, torch.Tensor):
        return value.float() if value.dtype == kind else value
    if type(value) in (list, tuple):
        return type(value)(_widened(v, kind) for v in value)
    if isinstance(value, dict):
        for key in value:  # in place: it may be a subclass with attributes (ModelOutput)
            value[key] = _widened(value[key], kind)
    return value


KIND = Kind(
    name="autocast",
    takes="bf16|fp16",
    summary="the model's forward in bfloat16 or float16",
    nothing="the script calls no module with parameters",
    may_change="Precision. float16 needs loss scaling (GradScaler), which this does not add.",
    numerics="reduced",
    code="with torch.autocast(device_type, dtype=...):  # {value}, around the forward",
    install=install,
    check=one_of("bf16", "fp16"),
    order=20,
)
