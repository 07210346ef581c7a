"""The line of the program's own code, of a stack that goes through libraries."""

from __future__ import annotations

import ast
import functools
import linecache
import os
import site
import sys
import sysconfig
from types import FrameType

OURS = os.path.dirname(os.path.dirname(__file__)) + os.sep  # noqa: PTH120
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
    return not file.startswith((OURS, "<", *_INSTALLED))


def user_line(frame: FrameType | None = None) -> str:
    """ "file:number (function)" of the innermost frame of the program's own; if there is none, of
    the innermost that is neither torch's nor ours; else "". ``frame`` None: the caller's."""
    frame = frame or sys._getframe(1)
    fallback = ""
    while frame is not None:
        file = frame.f_code.co_filename
        if not file.startswith((OURS, "<")):
            installed = file.startswith(_INSTALLED)
            if not installed or (not fallback and f"{os.sep}torch{os.sep}" not in file):
                text = f"{file}:{frame.f_lineno} ({frame.f_code.co_name})"
                if not installed:
                    return text
                fallback = text
        frame = frame.f_back
    return fallback


def statement(line: str) -> tuple[str, int, int]:
    """File, first and last line of the statement that "file:number (function)" is in; of a loop or
    another block, of its head. What cannot be read or parsed is a statement of one line."""
    file, _, rest = line.rpartition(":")
    number = int(rest.split(" ")[0]) if rest.split(" ")[0].isdigit() else 0
    spans = [s for s in _statements(file) if s[0] <= number <= s[1]]
    return (file, *min(spans, key=lambda s: s[1] - s[0], default=(number, number)))


@functools.lru_cache(maxsize=64)
def _statements(file: str) -> tuple[tuple[int, int], ...]:
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except (SyntaxError, ValueError):
        return ()
    nodes = (n for n in ast.walk(tree) if isinstance(n, (ast.stmt, ast.ExceptHandler)))
    return tuple((n.lineno, _end(n)) for n in nodes)


def _end(node: ast.stmt | ast.ExceptHandler) -> int:
    body = getattr(node, "body", None)
    if body:
        return max(int(node.lineno), int(body[0].lineno) - 1)
    return int(node.end_lineno or node.lineno)
