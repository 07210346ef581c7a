"""Where in the user's program an operator is called: module and Python line.

In the backward pass there is no such line; autograd's sequence number leads back to the forward
operator's. Importing this module imports torch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch.nn.modules import module as nn_module

from timesink.reproducibility.lines import user_line


@dataclass(frozen=True, slots=True)
class Place:
    """``line``: "file:number (function)"; "" where no code of the program's is on the stack."""

    module: str = ""
    line: str = ""
    backward: bool = False


class Places:
    """Follows the modules that run; :meth:`current` tells where the program is."""

    def __init__(self) -> None:
        self._stack: list[str] = []
        self._names: dict[int, str] = {}
        self._forward: dict[int, Place] = {}
        self._handles: list[Any] = []

    def watch(self) -> None:
        """Follow the calls of all modules."""
        self._handles = [
            nn_module.register_module_forward_pre_hook(self._enter),
            nn_module.register_module_forward_hook(self._leave, always_call=True),
        ]

    def unwatch(self) -> None:
        """Follow no more."""
        for handle in self._handles:
            handle.remove()
        self._handles = []

    def _enter(self, module: Any, args: Any) -> None:
        if not self._stack:
            self._names = {id(m): n or type(m).__name__ for n, m in module.named_modules()}
        self._stack.append(self._names.get(id(module), type(module).__name__))

    def _leave(self, module: Any, args: Any, output: Any) -> None:
        if self._stack:
            self._stack.pop()

    def current(self) -> Place:
        """The place of the operator that is being called on this thread."""
        node = torch._C._current_autograd_node()
        if node is not None:
            forward = self._forward.get(node._sequence_nr())
            if forward is not None:
                return Place(forward.module, forward.line, True)
            return Place(self._stack[-1] if self._stack else "", user_line(), True)
        place = Place(self._stack[-1] if self._stack else "", user_line())
        # The node of an operator is made before it is dispatched, so its number is the last one.
        self._forward.setdefault(torch.autograd._get_sequence_nr() - 1, place)
        return place
