"""Reading a run's tensors without touching it: no graph, no modes, no hooks, no random draw."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any


class quiet:  # noqa: N801 (read as a word of the language: with quiet():)
    """What runs inside is invisible to autograd, to dispatch and function modes (profilers of
    operators, fake tensors, a default device) and to functorch transforms.

    A class, since a generator and an ``ExitStack`` would cost more than hashing a small tensor.
    """

    __slots__ = ("_functions", "_grad", "_rest")

    def __enter__(self) -> None:
        import torch

        native: Any = torch._C
        self._grad = torch.is_grad_enabled()
        native._set_grad_enabled(False)
        self._functions = native.DisableTorchFunction()
        self._functions.__enter__()
        self._rest: ExitStack | None = None
        if native._len_torch_dispatch_stack():
            from torch.utils._python_dispatch import _disable_current_modes

            self._rest = ExitStack()
            self._rest.enter_context(_disable_current_modes())
        if native._functorch.peek_interpreter_stack() is not None:
            from torch._functorch.pyfunctorch import temporarily_clear_interpreter_stack

            self._rest = self._rest or ExitStack()
            self._rest.enter_context(temporarily_clear_interpreter_stack())

    def __exit__(self, *error: object) -> None:
        import torch

        if self._rest is not None:
            self._rest.close()
        self._functions.__exit__(None, None, None)
        torch._C._set_grad_enabled(self._grad)
