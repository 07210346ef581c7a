"""Changes the arguments of every DataLoader that the script makes."""

from __future__ import annotations

import inspect
from collections.abc import Callable, MutableMapping
from functools import wraps
from typing import Any

#: Gets the arguments of a loader that is about to be made, defaults filled in; may change them.
Edit = Callable[[MutableMapping[str, Any]], None]


_edits: list[Edit] = []


def each_loader(edit: Edit) -> None:
    """Call ``edit`` before every DataLoader is made, from now on; several in the order in which
    they came, so that a later one sees what an earlier one has changed."""
    _edits.append(edit)
    if len(_edits) == 1:
        _watch()


def _watch() -> None:
    from torch.utils.data import DataLoader

    make: Any = DataLoader.__init__
    signature = inspect.signature(make)

    @wraps(make)
    def edited(self: Any, *args: Any, **kwargs: Any) -> None:
        bound = signature.bind(self, *args, **kwargs)
        bound.apply_defaults()
        for edit in _edits:
            edit(bound.arguments)
        make(*bound.args, **bound.kwargs)

    DataLoader.__init__ = edited


def without_workers(arguments: MutableMapping[str, Any]) -> bool:
    """Whether the loader works in the training process itself."""
    return not arguments.get("num_workers")
