"""Knows whether the script runs a torch profiler of its own: two at once crash the process.

torch has one profiler per process. A profiler that is being *prepared* (the warm-up of a schedule)
is not yet "enabled", but another one beside it still ends in a segmentation fault, so every
profiler is followed from its preparation to its end.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any

_theirs: set[int] = set()
_asides: list[Callable[[], None]] = []
_ours = [False]
_watching: list[int] = []  #: the process that watches


def watch() -> None:
    """Follow all profilers from now on. May be called again."""
    if _watching:
        return
    _watching.append(os.getpid())
    from torch.autograd.profiler import profile

    for name in ("_prepare_trace", "__enter__", "_start_trace"):
        setattr(profile, name, _begins(getattr(profile, name)))
    profile.__exit__ = _ends(profile.__exit__)


def busy() -> bool:
    """Whether a profiler that is not ours is prepared or runs."""
    import torch

    return bool(_theirs) or bool(torch.autograd.profiler._is_profiler_enabled)


@contextlib.contextmanager
def ours() -> Iterator[None]:
    """What happens to a profiler in here is our own doing."""
    before, _ours[0] = _ours[0], True
    try:
        yield
    finally:
        _ours[0] = before


def step_aside_by(call: Callable[[], None]) -> None:
    """``call`` is called right before a profiler of the script's begins."""
    _asides.append(call)


def forget(call: Callable[[], None]) -> None:
    """``call`` need not step aside any more."""
    if call in _asides:
        _asides.remove(call)


def _not_ours() -> bool:
    return not _ours[0] and os.getpid() == _watching[0]


def _begins(function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def announced(profile: Any, *args: Any, **kwargs: Any) -> Any:
        if _not_ours() and getattr(profile, "enabled", True):
            _theirs.add(id(profile))
            for call in tuple(_asides):
                call()
        return function(profile, *args, **kwargs)

    return announced


def _ends(function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def followed(profile: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return function(profile, *args, **kwargs)
        finally:
            if _not_ours():
                _theirs.discard(id(profile))

    return followed
