"""The line of the program's own code, of a stack that goes through libraries."""

from __future__ import annotations

import os
import site
import sys
import sysconfig
from types import FrameType

_OURS = os.path.dirname(os.path.dirname(__file__)) + os.sep  # noqa: PTH120
_INSTALLED = tuple(
    {
        path + os.sep
        for path in (
            *(sysconfig.get_paths().get(k, "") for k in ("stdlib", "purelib", "platlib")),
            *site.getsitepackages(),
            site.getusersitepackages(),
        )
        if path
    }
)


def is_own(file: str) -> bool:
    """Whether a file is the program's own: neither installed, nor ours, nor made up."""
    return not file.startswith((_OURS, "<", *_INSTALLED))


def user_line(frame: FrameType | None = None) -> str:
    """ "file:number (function)" of the innermost frame of the program's own; if there is none, of
    the innermost that is neither torch's nor ours; else "". ``frame`` None: the caller's."""
    frame = frame or sys._getframe(1)
    fallback = ""
    while frame is not None:
        file = frame.f_code.co_filename
        if not file.startswith((_OURS, "<")):
            installed = file.startswith(_INSTALLED)
            if not installed or (not fallback and f"{os.sep}torch{os.sep}" not in file):
                text = f"{file}:{frame.f_lineno} ({frame.f_code.co_name})"
                if not installed:
                    return text
                fallback = text
        frame = frame.f_back
    return fallback
