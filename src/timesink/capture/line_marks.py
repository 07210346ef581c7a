"""Marks every torch function in the trace with the lines of the program that called it.

The profiler's own Python rows name a function by its first line, and the script's outermost frame
by the line at which recording began: no help in finding *the* line that allocates. In the backward
pass of a CPU the engine runs on the calling thread, so that its operators lie under the mark of the
line that called ``backward``.
"""

from __future__ import annotations

import sys
from typing import Any

import torch
from torch.overrides import TorchFunctionMode, _get_current_function_mode_stack

from timesink.model.owners import MARK_LINE
from timesink.reproducibility.lines import is_own

#: Lines of the program that a mark names, from the innermost.
_DEPTH = 4


class LineMarks(TorchFunctionMode):  # type: ignore[misc]
    """Between :meth:`start` and :meth:`stop`; when another mode was entered meanwhile and not left,
    it stays where it is and does nothing."""

    def __init__(self) -> None:
        super().__init__()
        self._on = False

    def start(self) -> None:
        """Mark from now on, on this thread."""
        self._on = True
        self.__enter__()

    def stop(self) -> None:
        """Mark nothing any more."""
        if self._on:
            self._on = False
            stack = _get_current_function_mode_stack()
            if stack and stack[-1] is self:
                self.__exit__(None, None, None)

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        # A range that begins inside a mark would be cut off at the mark's end.
        if not self._on or torch.compiler.is_compiling() or _is_range(func):
            return func(*args, **kwargs)
        with torch.autograd.profiler.record_function(MARK_LINE + "#" + _lines()):
            return func(*args, **kwargs)


def _is_range(func: Any) -> bool:
    """Whether it begins or ends a range of the profiler."""
    return "_record_function" in getattr(func, "__name__", "") or "_record_function" in str(
        getattr(func, "_qualified_op_name", "")
    )


def _lines() -> str:
    """``train.py(31): step;train.py(60): main``: the program's own frames, innermost first."""
    found: list[str] = []
    frame = sys._getframe(2)
    while frame is not None and len(found) < _DEPTH:
        file = frame.f_code.co_filename
        if is_own(file):
            name = file.replace("\\", "/").rsplit("/", 1)[-1]
            found.append(f"{name}({frame.f_lineno}): {frame.f_code.co_name}")
        frame = frame.f_back  # type: ignore[assignment]
    return ";".join(found)
