"""``compile[=mode]``: torch.compile on the modules that the script calls."""

from __future__ import annotations

from typing import Any

from timesink.experiments.interventions.base import Kind, Recorder, one_of
from timesink.experiments.interventions.roots import Call, each_root, has_parameters


def install(value: str, recorder: Recorder) -> None:
    """Compile every outermost module with parameters in place, at its first call."""
    import torch

    def wrap(module: Any, call: Call) -> None:
        compiled = isinstance(module, torch._dynamo.OptimizedModule)
        if compiled or module._compiled_call_impl is not None:
            recorder.left(f"{type(module).__name__} is compiled already")
        elif has_parameters(module):
            module.compile(mode=value) if value else module.compile()
            recorder.changed(f"module ({type(module).__name__})")

    each_root(wrap)


KIND = Kind(
    name="compile",
    takes="mode",
    summary="torch.compile on the model (modes: default, reduce-overhead, max-autotune)",
    nothing="the script calls no module with parameters",
    may_change="Rounding (fused operators); start-up time; a recompilation per new shape.",
    numerics="rounding",
    code='model = torch.compile(model)  # mode="{value}"',
    install=install,
    check=one_of("", "default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs"),
    order=10,  # innermost
)
