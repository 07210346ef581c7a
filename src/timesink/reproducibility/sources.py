"""Sees where a program takes something that differs from run to run: clocks, entropy, file order.

torch's operators do not show that, so the first difference only says that a number came from
outside. While a :class:`SourceWatch` is on, Python's profile hook tells of each call of a C
function in the table below, and the line of the program's own code that led to it. NumPy's
``default_rng`` is compiled in a way that the hook does not see, so it is wrapped. Generators count
where they are made without a seed, and draws from Python's global one. It slows Python down and
changes no value. Threads that start while it is on and forked processes (DataLoader workers) are
seen too, the latter through ``first`` only; processes that are started afresh are not.
"""

from __future__ import annotations

import os
import random
import sys
import tempfile
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

from timesink.model.reproducibility import OperatorDifference, SourceKind, SourceUse
from timesink.reproducibility.lines import OURS, is_own, statement, user_line

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
GLOBAL_RANDOM = "Python's global random"
_GLOBAL: Any = getattr(random, "_inst", None)
_Key = tuple[SourceKind, str, str, bool]


class SourceWatch:
    """A context manager; :meth:`uses` tells what was seen, in the order of first use.

    It takes the profile hook of the thread it is entered on, unless a profiler has it already
    (``on`` is then False). ``first`` is told of each place once in each process.
    """

    def __init__(self, first: Callable[[SourceUse], None] | None = None) -> None:
        self.on = False
        self._first = first
        self._pid = os.getpid()
        self._pids = {self._pid}
        self._seen: dict[_Key, int] = {}
        self._default_rng: Callable[..., Any] | None = None

    def __enter__(self) -> SourceWatch:
        self.numpy_imported()
        self.on = sys.getprofile() is None
        self.go_on()
        return self

    def pause(self) -> None:
        """See nothing until :meth:`go_on`: what a large library does while it is imported counts
        for nothing and takes long to watch."""
        if self.on and sys.getprofile() == self._called:
            sys.setprofile(None)
            threading.setprofile(None)

    def go_on(self) -> None:
        """After :meth:`pause`."""
        if self.on and sys.getprofile() is None:
            threading.setprofile(self._called)
            sys.setprofile(self._called)

    def __exit__(self, *error: object) -> None:
        self.pause()
        if self._default_rng is not None:
            sys.modules["numpy"].random.default_rng = self._default_rng
            self._default_rng = None

    def uses(self) -> tuple[SourceUse, ...]:
        """What was taken, where, and how often."""
        return tuple(SourceUse(*k[:3], count, k[3]) for k, count in self._seen.items())

    def _called(self, frame: FrameType, event: str, function: Any) -> None:
        if event != "c_call" or getattr(function, "__name__", "") not in _NAMES:
            return
        owner = getattr(function, "__self__", None)
        kind = _TABLE.get((_owner(owner), function.__name__))
        if kind is None or (isinstance(owner, random.Random) and not _counts(owner, frame)):
            return
        if owner is _GLOBAL and function.__name__ == "seed" and os.getpid() not in self._pids:
            self._pids.add(os.getpid())  # Python's own, at each fork
            return
        if not _of_the_program(kind, frame):
            return
        self._note(kind, _title(owner, function.__name__), user_line(frame))

    def _note(self, kind: SourceKind, name: str, line: str) -> None:
        if not line:
            return
        key = (kind, name, line, os.getpid() != self._pid)
        count = self._seen[key] = self._seen.get(key, 0) + 1
        if count == 1 and self._first is not None:
            self._first(SourceUse(kind, name, line, 1, key[3]))

    def numpy_imported(self) -> None:
        """To be called if NumPy was imported while the watch is on."""
        numpy: Any = sys.modules.get("numpy")
        if not hasattr(numpy, "random") or self._default_rng is not None:
            return
        self._default_rng = original = numpy.random.default_rng

        def default_rng(seed: Any = None) -> Any:
            if seed is None:
                name = "numpy.random.default_rng() without a seed"
                self._note("generator", name, user_line(sys._getframe(1)))
            return original(seed)

        numpy.random.default_rng = default_rng


#: What counts only where the program's own code calls it: libraries do so for themselves (caches,
#: progress, names of temporary files).
_DIRECT: tuple[SourceKind, ...] = ("hash", "address", "clock", "process id")


def _of_the_program(kind: SourceKind, frame: FrameType | None) -> bool:
    """Not what a library does for itself or while it is imported, not what timesink does, and in a
    worker process only what is called there: below lies what the parent did when it was forked."""
    if kind in _DIRECT and frame is not None and not is_own(frame.f_code.co_filename):
        return False
    while frame is not None and not is_own(frame.f_code.co_filename):
        code = frame.f_code
        if code.co_filename.startswith((OURS, "<frozen importlib")) or code.co_name == "_bootstrap":
            return False
        if code.co_filename == tempfile.__file__:  # the names it makes up
            return False
        frame = frame.f_back
    return True


def _counts(owner: random.Random, frame: FrameType) -> bool:
    """A seeding without a seed (``random.py`` passes on its own argument ``a``), or a draw from the
    global generator; those of the program's own are judged by how they were seeded."""
    if frame.f_code.co_name in ("seed", "__init__") and "a" in frame.f_locals:
        return frame.f_locals["a"] is None
    return owner is _GLOBAL


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
    if owner is _GLOBAL:
        return GLOBAL_RANDOM
    if isinstance(owner, random.Random):
        return f"random.{type(owner).__name__}() without a seed"
    module = {"posix": "os", "nt": "os", "builtins": ""}.get(_owner(owner), _owner(owner))
    return f"{module}.{name}()".lstrip(".")


#: Kinds that explain a difference in data, the likeliest first. Clocks are read for many reasons.
_LIKELY: tuple[SourceKind, ...] = (
    "generator", "entropy", "process id", "file order", "hash", "address", "clock",
)  # fmt: skip


def suspects(difference: OperatorDifference, uses: tuple[SourceUse, ...]) -> tuple[SourceUse, ...]:
    """The uses that may be the source of a difference that came from outside of torch, the
    likeliest first: on the operator's own line, then in its function, its file, elsewhere."""
    if difference.cause not in ("data", "number", "clock", "process id", "order"):
        return ()
    named = [u for u in uses if u.kind == difference.cause]
    return tuple(
        sorted(named or uses, key=lambda u: (closeness(difference, u), _LIKELY.index(u.kind)))
    )


def closeness(difference: OperatorDifference, use: SourceUse) -> int:
    """0: in the operator's own statement (or in a worker, whose work is the data); 1: in its
    function; 2: in its file; 3: elsewhere. A clock in a worker is read for many reasons: 2."""
    call = difference.a or difference.b
    if call is None:
        return 3
    if use.in_worker:
        return 2 if use.kind == "clock" else 0
    if use.line and statement(use.line) == statement(call.line):
        return 0
    same_file = use.line.rpartition(":")[0] == call.line.rpartition(":")[0]
    same_function = same_file and use.line.partition("(")[2] == call.line.partition("(")[2]
    return 1 if same_function else 2 if same_file else 3
