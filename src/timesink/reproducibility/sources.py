"""Sees where a program takes something that differs from run to run: clocks, entropy, file order.

torch's operators do not show that, so the first difference only says that a number came from
outside. While a :class:`SourceWatch` is on, Python's profile hook tells of each call of a C
function in the table below, and the line of the program's own code that led to it. NumPy's
``default_rng`` is compiled in a way that the hook does not see, so it is wrapped; only calls
without a seed count. It slows Python down and changes no value. Worker processes are not seen.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

from timesink.model.reproducibility import OperatorDifference, SourceKind, SourceUse
from timesink.reproducibility.lines import user_line

#: (module or type, name) of C functions → kind.
_TABLE: dict[tuple[str, str], SourceKind] = {
    **{("time", n): "clock" for n in (
        "time", "time_ns", "monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns",
        "process_time", "localtime", "gmtime")},
    **{("datetime", n): "clock" for n in ("now", "utcnow", "today")},
    **{(m, n): "process id" for m in ("posix", "nt") for n in ("getpid", "getppid")},
    **{(m, n): "entropy" for m in ("posix", "nt") for n in ("urandom", "getrandom")},
    **{(m, n): "file order" for m in ("posix", "nt") for n in ("listdir", "scandir")},
    **{("Random", n): "generator" for n in ("random", "getrandbits", "seed")},
    ("Generator", "seed"): "generator",
    ("builtins", "hash"): "hash",
    ("builtins", "id"): "address",
}  # fmt: skip
_NAMES = {name for _, name in _TABLE}
_Key = tuple[SourceKind, str, str]


class SourceWatch:
    """A context manager; :meth:`uses` tells what was seen, in the order of first use.

    It takes the profile hook of the thread it is entered on, unless a profiler has it already
    (``on`` is then False).
    """

    def __init__(self) -> None:
        self.on = False
        self._seen: dict[_Key, int] = {}
        self._default_rng: Callable[..., Any] | None = None

    def __enter__(self) -> SourceWatch:
        self._wrap_numpy()
        self.on = sys.getprofile() is None
        if self.on:
            sys.setprofile(self._called)
        return self

    def __exit__(self, *error: object) -> None:
        if self.on and sys.getprofile() == self._called:
            sys.setprofile(None)
        if self._default_rng is not None:
            sys.modules["numpy"].random.default_rng = self._default_rng
            self._default_rng = None

    def uses(self) -> tuple[SourceUse, ...]:
        """What was taken, where, and how often."""
        return tuple(SourceUse(*key, count) for key, count in self._seen.items())

    def _called(self, frame: FrameType, event: str, function: Any) -> None:
        if event != "c_call" or getattr(function, "__name__", "") not in _NAMES:
            return
        owner = getattr(function, "__self__", None)
        kind = _TABLE.get((_owner(owner), function.__name__))
        if kind is not None:
            self._note(kind, _title(owner, function.__name__), user_line(frame))

    def _note(self, kind: SourceKind, name: str, line: str) -> None:
        if line:
            key = (kind, name, line)
            self._seen[key] = self._seen.get(key, 0) + 1

    def _wrap_numpy(self) -> None:
        numpy: Any = sys.modules.get("numpy")
        if not hasattr(numpy, "random"):
            return
        self._default_rng = original = numpy.random.default_rng

        def default_rng(seed: Any = None) -> Any:
            if seed is None:
                name = "numpy.random.default_rng() without a seed"
                self._note("generator", name, user_line(sys._getframe(1)))
            return original(seed)

        numpy.random.default_rng = default_rng


def _owner(owner: Any) -> str:
    """The module of a function, or the type of a method's object (for a subclass: its base)."""
    if hasattr(owner, "__spec__") and hasattr(owner, "__name__"):
        return str(owner.__name__)
    if isinstance(owner, random.Random):
        return "Random"
    if isinstance(owner, type):
        return owner.__module__
    return type(owner).__name__


def _title(owner: Any, name: str) -> str:
    if owner is getattr(random, "_inst", None):
        return "Python's global random"
    if isinstance(owner, random.Random):
        return f"a random.{type(owner).__name__} of the program's own"
    module = {"posix": "os", "nt": "os", "builtins": ""}.get(_owner(owner), _owner(owner))
    return f"{module}.{name}()".lstrip(".")


#: Kinds that explain a difference in data, the likeliest first. Clocks are read for many reasons.
_LIKELY: tuple[SourceKind, ...] = (
    "generator", "entropy", "process id", "file order", "hash", "address", "clock",
)  # fmt: skip


def suspects(difference: OperatorDifference, uses: tuple[SourceUse, ...]) -> tuple[SourceUse, ...]:
    """The uses that may be the source of a difference that came from outside of torch, the
    likeliest first: on the operator's own line, then in its function, its file, elsewhere."""
    call = difference.a or difference.b
    if call is None or difference.cause not in ("data", "number", "clock", "process id", "order"):
        return ()
    named = [u for u in uses if u.kind == difference.cause]
    file, _, _rest = call.line.rpartition(":")

    def distance(use: SourceUse) -> tuple[int, int]:
        same_file = use.line.rpartition(":")[0] == file
        same_function = same_file and use.line.partition("(")[2] == call.line.partition("(")[2]
        near = 0 if use.line == call.line else 1 if same_function else 2 if same_file else 3
        return near, _LIKELY.index(use.kind)

    return tuple(sorted(named or uses, key=distance))
