"""Reading a run's tensors without touching it: no graph, no modes, no hooks, no random draw."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any


@contextmanager
def quiet() -> Iterator[None]:
    """What runs inside is invisible to autograd, to dispatch and function modes (profilers of
    operators, fake tensors, a default device) and to functorch transforms."""
    import torch

    native: Any = torch._C
    with ExitStack() as stack:
        stack.enter_context(torch.no_grad())
        stack.enter_context(native.DisableTorchFunction())
        if native._len_torch_dispatch_stack():
            from torch.utils._python_dispatch import _disable_current_modes

            stack.enter_context(_disable_current_modes())
        if native._functorch.peek_interpreter_stack() is not None:
            from torch._functorch.pyfunctorch import temporarily_clear_interpreter_stack

            stack.enter_context(temporarily_clear_interpreter_stack())
        yield
