"""Wraps the outermost modules that the script calls: the models, whatever they are nested in.

A module is met at its first call. From then on its calls go through ``_compiled_call_impl``, which
torch itself looks at first, is per instance, and is never pickled or copied with the module.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from functools import wraps
from typing import Any

Call = Callable[..., Any]
#: Gets a module at its first call and what calls it now; returns what shall call it, or None to
#: leave it alone.
Wrap = Callable[[Any, Call], Call | None]

_wraps: list[Wrap] = []
_inside = [False]


def each_root(wrap: Wrap) -> None:
    """Call ``wrap`` once for every outermost module, in the order of these calls."""
    _wraps.append(wrap)
    if len(_wraps) == 1:
        _watch()


def _watch() -> None:
    import torch

    is_compiling = torch.compiler.is_compiling
    plain = torch.nn.Module._call_impl
    known: weakref.WeakSet[Any] = weakref.WeakSet()

    @wraps(plain)
    def met(module: Any, *args: Any, **kwargs: Any) -> Any:
        if is_compiling() or _inside[0]:
            return plain(module, *args, **kwargs)
        if module not in known:
            known.add(module)
            _wrap(module)
            if module._compiled_call_impl is not None:
                return module._compiled_call_impl(*args, **kwargs)
        return _from_outside(plain)(module, *args, **kwargs)

    torch.nn.Module._call_impl = met


def _wrap(module: Any) -> None:
    # A model that the script has compiled in place is called by that; others by whatever
    # Module._call_impl is at the time of the call: the step recorder times it there.
    def uncompiled(*args: Any, **kwargs: Any) -> Any:
        return module._call_impl(*args, **kwargs)

    for wrap in _wraps:
        made = wrap(module, module._compiled_call_impl or uncompiled)
        if made is not None:
            module._compiled_call_impl = made
    if module._compiled_call_impl is not None:
        module._compiled_call_impl = _from_outside(module._compiled_call_impl)


def _from_outside(call: Call) -> Call:
    """While it runs, the modules that it calls are not outermost."""

    def entered(*args: Any, **kwargs: Any) -> Any:
        if _inside[0]:
            return call(*args, **kwargs)
        _inside[0] = True
        try:
            return call(*args, **kwargs)
        finally:
            _inside[0] = False

    return entered


def has_parameters(module: Any) -> bool:
    """Whether it is a model (and no loss function, say)."""
    return next(iter(module.parameters()), None) is not None
