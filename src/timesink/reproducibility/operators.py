"""Records what every operator is given and makes, for a window of steps.

Importing this module imports torch. An operator that only makes a view is left out: it computes
nothing. Memory from ``torch.empty`` and its like is not looked at until something is written to
it, so that what nobody reads is no difference. Operators inside a ``torch.compile`` region are
seen as torch runs them under a dispatch mode.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode, _get_current_dispatch_mode

from timesink.model.reproducibility import OperatorCall, OperatorRecord
from timesink.reproducibility.bits import Bits, bits
from timesink.reproducibility.compress import digests
from timesink.reproducibility.fingerprint import SHAPE
from timesink.reproducibility.memory import Unwritten
from timesink.reproducibility.places import Places
from timesink.reproducibility.quiet import quiet
from timesink.reproducibility.seeding import hash_seed

LIMIT = 200_000  #: calls in one record; about 1 KB each
_UNWRITTEN = f"{SHAPE} not written yet"
_READABLE = 4  # elements of a tensor made from Python numbers that are kept as numbers
_OVERWRITING = {
    "copy_", "fill_", "zero_", "normal_", "uniform_", "bernoulli_", "random_", "exponential_",
    "cauchy_", "geometric_", "log_normal_", "set_", "resize_",
}  # fmt: skip
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")
_Named = list[tuple[str, Any]]


class OperatorHasher:
    """On from step ``first`` to ``last`` (both included, counted from 0): a context manager with
    :meth:`step`, to be called after each step. Outside of the window operators run untouched.

    It must be entered and left on the thread that trains and not across a dispatch mode that the
    program enters in one step and leaves in another.
    """

    def __init__(self, first: int = 0, last: int = 0, limit: int = LIMIT) -> None:
        self._first, self._last, self._limit = first, last, limit
        self._step = 0
        self._mode: _Mode | None = None
        self._clock = time.time()
        self.calls: list[OperatorCall] = []
        self.truncated = False

    def __enter__(self) -> OperatorHasher:
        self._turn()
        return self

    def __exit__(self, *error: object) -> None:
        self._off()

    def step(self) -> None:
        """A step has ended."""
        self._step += 1
        self._turn()

    def _turn(self) -> None:
        wanted = self._first <= self._step <= self._last
        if wanted and self._mode is None:
            self._mode = _Mode(self)
            self._mode.places.watch()
            self._mode.__enter__()
        elif not wanted:
            self._off()

    def _off(self) -> None:
        mode = self._mode
        if mode is None:
            return
        self._mode = None
        mode.on = False
        mode.places.unwatch()
        if _get_current_dispatch_mode() is mode:  # else it stays, passing everything through
            mode.__exit__(None, None, None)

    def add(self, **call: Any) -> None:
        """One call more, unless the record is full."""
        if len(self.calls) < self._limit:
            self.calls.append(OperatorCall(step=self._step, index=len(self.calls), **call))
        else:
            self.truncated = True

    def record(self) -> OperatorRecord:
        """What was recorded so far."""
        return OperatorRecord(
            calls=tuple(self.calls),
            pid=os.getpid(),
            clock=self._clock,
            threads=torch.get_num_threads(),
            deterministic=torch.are_deterministic_algorithms_enabled(),
            hash_seed=hash_seed(),
            truncated=self.truncated,
        )


class _Mode(TorchDispatchMode):  # type: ignore[misc]
    def __init__(self, to: OperatorHasher) -> None:
        super().__init__()
        self._to = to
        self.on = True
        self.places = Places()
        self._unwritten = Unwritten()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if not self.on or not _computes(func):
            return func(*args, **kwargs)
        given = list(_arguments(func, args, kwargs))
        with quiet():
            inputs = self._texts(given)
            unwritten = self._unwritten.among([g for g in given if g[0] not in _overwritten(func)])
            generator = _generator(func, kwargs, given)
        result = func(*args, **kwargs)
        written = [(n, v) for n, v in given if n in _mutated(func)]
        made = list(_flat("", result)) if not _returns_argument(func) else []
        place = self.places.current()
        with quiet():
            self._unwritten.wrote(written)
            if _gives_memory(func):
                self._unwritten.born(made or written, place.line)
            outputs = self._texts([*written, *made]) if not _in_flight(func) else ()
        self._to.add(
            name=str(func), module=place.module, line=place.line, backward=place.backward,
            inputs=inputs, outputs=outputs, unwritten=unwritten, device=_device([*given, *made]),
            **generator,
        )  # fmt: skip
        return result

    def _texts(self, named: _Named) -> tuple[tuple[str, str], ...]:
        seen: list[Bits | str] = [
            _plain(v) if not isinstance(v, torch.Tensor)
            else _UNWRITTEN if self._unwritten.untouched(v)
            else bits(v)
            for _, v in named
        ]  # fmt: skip
        tensors = [s for s in seen if isinstance(s, Bits)]
        done = iter(digests([t.text for t in tensors], [t.runs for t in tensors]))
        out = []
        for (name, value), item in zip(named, seen, strict=True):
            if isinstance(item, str):
                out.append((name, item))
                continue
            text = next(done)
            if not item.readable:
                text = f"{SHAPE} {item.text}"
            elif value.numel() <= _READABLE and value.device.type == "cpu":
                text = f"{text} = {_numbers(value)}"
            out.append((name, text))
        return tuple(out)


def _computes(func: Any) -> bool:
    """Not a view and no marker. ``lift_fresh`` counts: data enters torch there."""
    if func.namespace in ("profiler", "prim"):
        return False
    return not func.is_view or "lift_fresh" in func.__name__


def _gives_memory(func: Any) -> bool:
    name = func.overloadpacket.__name__
    return "empty" in name.split("_") or name == "resize_"


def _mutated(func: Any) -> set[str]:
    """Names of the arguments that the operator writes to."""
    arguments = func._schema.arguments
    return {a.name for a in arguments if a.alias_info is not None and a.alias_info.is_write}


def _overwritten(func: Any) -> set[str]:
    """Names of the arguments that are written without being read."""
    out = {a.name for a in func._schema.arguments if a.is_out}
    return out | {"self"} if func.overloadpacket.__name__ in _OVERWRITING else out


def _in_flight(func: Any) -> bool:
    """A collective that goes on after the call: its result must not be read yet."""
    return "c10d" in func.namespace and "wait" not in func.__name__


def _returns_argument(func: Any) -> bool:
    """In-place and out= operators return what they were given."""
    returns = func._schema.returns
    return bool(returns) and all(
        r.alias_info is not None and r.alias_info.is_write for r in returns
    )


def _arguments(func: Any, args: Any, kwargs: Any) -> Iterator[tuple[str, Any]]:
    """(name in the operator's schema, tensor or plain value), lists opened under one name."""
    schema = func._schema.arguments
    for i, value in enumerate(args):
        yield from _flat(schema[i].name if i < len(schema) else str(i), value)
    for name, value in kwargs.items():
        if not isinstance(value, torch.Generator):
            yield from _flat(name, value)


def _flat(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, (list, tuple)) and any(isinstance(v, torch.Tensor) for v in value):
        for member in value:
            yield from _flat(name, member)
    else:
        yield name, value


def _plain(value: Any) -> str:
    """repr is exact for floats; addresses in it are not part of a value."""
    return _ADDRESS.sub("", repr(value))[:200]


def _numbers(value: Any) -> str:
    try:
        return str(value.detach().tolist())
    except (RuntimeError, NotImplementedError, TypeError):
        return "?"


def _generator(func: Any, kwargs: Any, given: _Named) -> dict[str, Any]:
    """Where the random numbers of a random operator come from, before it draws."""
    if torch.Tag.nondeterministic_seeded not in func.tags:
        return {}
    own = kwargs.get("generator")
    device = torch.device(kwargs.get("device") or _device(given))
    if own is not None:
        source, kind = own, f"own {own.device.type}"
    elif device.type == "cpu":
        source, kind = torch.default_generator, "default cpu"
    else:
        module = getattr(torch, device.type, None)
        generators = getattr(module, "default_generators", ())
        if not generators:
            return {"generator": f"default {device.type}"}
        current: Any = module
        index = device.index if device.index is not None else current.current_device()
        source, kind = generators[index], f"default {device.type}"
    state = digests([""], [(source.get_state(),)])[0]
    return {
        "generator": kind,
        "generator_seed": source.initial_seed(),
        "generator_state": state,
    }


def _device(named: _Named) -> str:
    """Of the first tensor that is not on the CPU, if any."""
    kinds = [str(v.device) for _, v in named if isinstance(v, torch.Tensor)]
    return next((k for k in kinds if k != "cpu"), "cpu")
