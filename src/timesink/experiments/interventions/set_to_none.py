"""``set-to-none``: gradients are dropped instead of being filled with zeros."""

from __future__ import annotations

from functools import wraps
from typing import Any

from timesink.experiments.interventions.base import Kind, Recorder


def install(value: str, recorder: Recorder) -> None:
    """Override ``set_to_none=False`` where the script passes it."""
    import torch

    for kind in (torch.optim.Optimizer, torch.nn.Module):
        _wrap(kind, recorder)


def _wrap(kind: Any, recorder: Recorder) -> None:
    zero = kind.zero_grad
    seen: set[str] = set()

    @wraps(zero)
    def dropped(self: Any, set_to_none: bool = True) -> None:
        name = f"{type(self).__name__}.zero_grad"
        if not set_to_none and name not in seen:
            seen.add(name)
            recorder.changed(name)
        zero(self, set_to_none=True)

    kind.zero_grad = dropped


KIND = Kind(
    name="set-to-none",
    takes="",
    summary="zero_grad drops gradients instead of filling them with zeros",
    nothing="no zero_grad(set_to_none=False) is called",
    may_change="Parameters without a gradient are skipped: no decay, no momentum.",
    numerics="exact",
    code="optimizer.zero_grad()  # set_to_none=True is the default",
    install=install,
)
