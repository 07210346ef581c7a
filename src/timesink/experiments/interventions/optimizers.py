"""Changes a switch of every optimizer that the script makes."""

from __future__ import annotations

import inspect
from collections.abc import Callable, MutableMapping
from functools import wraps
from typing import Any

from timesink.experiments.interventions.base import Recorder


def each_optimizer(
    switch: str, edit: Callable[[MutableMapping[str, Any]], bool], recorder: Recorder
) -> None:
    """Call ``edit`` before an optimizer that has ``switch`` is made; it says whether it changed
    something. Optimizers without the switch are left alone, and that is recorded."""
    import torch
    from torch.optim import Optimizer

    for kind in vars(torch.optim).values():
        if isinstance(kind, type) and issubclass(kind, Optimizer) and kind is not Optimizer:
            if switch in inspect.signature(kind).parameters:
                _wrap(kind, edit, recorder)
            else:
                _watch(kind, switch, recorder)


def _wrap(kind: Any, edit: Callable[[MutableMapping[str, Any]], bool], recorder: Recorder) -> None:
    make = kind.__init__
    signature = inspect.signature(make)

    @wraps(make)
    def edited(self: Any, *args: Any, **kwargs: Any) -> None:
        bound = signature.bind(self, *args, **kwargs)
        bound.apply_defaults()
        # A base class (Adam below AdamW) is called by its subclass with what was already changed.
        if edit(bound.arguments):
            recorder.changed(f"{type(self).__name__} optimizer")
        make(*bound.args, **bound.kwargs)

    kind.__init__ = edited


def _watch(kind: Any, switch: str, recorder: Recorder) -> None:
    make = kind.__init__

    @wraps(make)
    def watched(self: Any, *args: Any, **kwargs: Any) -> None:
        if type(self) is kind:
            recorder.left(f"{kind.__name__} has no {switch} implementation")
        make(self, *args, **kwargs)

    kind.__init__ = watched
