"""Records what every operator is given and makes, for a window of steps.

Importing this module imports torch. An operator that only makes a view is left out: it computes
nothing. Memory from ``torch.empty`` and its like is not looked at until something is written to
it, so that what nobody reads is no difference. A ``torch.compile`` region stays compiled, since
running it operator by operator would be another computation: its fused kernels are not seen (older
torch has no such choice and runs it operator by operator).
"""

from __future__ import annotations

import os
import re
import sys
import time
from typing import Any

import torch
from torch._guards import CompileContext
from torch.utils._python_dispatch import TorchDispatchMode, _get_current_dispatch_mode

from timesink.model.reproducibility import OperatorCall, OperatorRecord
from timesink.reproducibility.bits import Bits, bits
from timesink.reproducibility.compress import digests
from timesink.reproducibility.fingerprint import SHAPE
from timesink.reproducibility.memory import Unwritten, Writers
from timesink.reproducibility.places import Places
from timesink.reproducibility.quiet import quiet
from timesink.reproducibility.seeding import hash_seed
from timesink.reproducibility.signature import Named, arguments, flat, signature

LIMIT = 200_000  #: calls in one record; about 1 KB each
_UNWRITTEN = f"{SHAPE} not written yet"
_READABLE = 4  # elements of a tensor made from Python numbers that are kept as numbers
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")


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
            compiled=_compiled(),
            truncated=self.truncated,
        )


class _Mode(TorchDispatchMode):  # type: ignore[misc]
    def __init__(self, to: OperatorHasher) -> None:
        super().__init__()
        self._to = to
        self.on = True
        self.places = Places()
        self._unwritten = Unwritten()
        self._writers = Writers()

    @classmethod
    def ignore_compile_internals(cls) -> bool:
        """Asked by torch: compiled code runs as it would without the mode."""
        return True

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        known = signature(func)
        if not self.on or not known.computes or CompileContext.try_get() is not None:
            return func(*args, **kwargs)
        given = list(arguments(known, args, kwargs))
        with quiet():
            inputs = self._texts(given)
            made_by = self._writers.of(given)
            unwritten = self._unwritten.among([g for g in given if g[0] not in known.overwritten])
            generator = _generator(kwargs, given) if known.random else {}
        result = func(*args, **kwargs)
        written = [(n, v) for n, v in given if n in known.mutated]
        made = list(flat("", result)) if not known.returns_argument else []
        place = self.places.current()
        with quiet():
            self._unwritten.wrote(written)
            if known.gives_memory:
                self._unwritten.born(made or written, place.line)
            outputs = self._texts([*written, *made]) if not known.in_flight else ()
            self._writers.wrote([*written, *made], len(self._to.calls))
        self._to.add(
            name=known.name, module=place.module, line=place.line, backward=place.backward,
            inputs=inputs, outputs=outputs, unwritten=unwritten, device=_device([*given, *made]),
            made_by=made_by, **generator,
        )  # fmt: skip
        return result

    def _texts(self, named: Named) -> tuple[tuple[str, str], ...]:
        seen = [self._seen(v) for _, v in named]
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
            elif _is_number(value):
                text = f"{text} = {_numbers(value)}"
            out.append((name, text))
        return tuple(out)

    def _seen(self, value: Any) -> Bits | str:
        if isinstance(value, torch.UntypedStorage):  # of a tensor from another process
            return bits(torch.empty(0, dtype=torch.uint8, device=value.device).set_(value))
        if not isinstance(value, torch.Tensor):
            return _plain(value)
        return _UNWRITTEN if self._unwritten.untouched(value) else bits(value)


def _is_number(value: Any) -> bool:
    small = isinstance(value, torch.Tensor) and value.numel() <= _READABLE
    return small and value.device.type == "cpu"


def _compiled() -> bool:
    """Whether ``torch.compile`` has compiled anything in this process."""
    utils: Any = sys.modules.get("torch._dynamo.utils")
    return bool(utils is not None and utils.counters["stats"].get("unique_graphs"))


def _plain(value: Any) -> str:
    """repr is exact for floats; addresses in it are not part of a value."""
    return _ADDRESS.sub("", repr(value))[:200]


def _numbers(value: Any) -> str:
    try:
        return str(value.detach().tolist())
    except (RuntimeError, NotImplementedError, TypeError):
        return "?"


def _generator(kwargs: Any, given: Named) -> dict[str, Any]:
    """Where the random numbers of a random operator come from, before it draws."""
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


def _device(named: Named) -> str:
    """Of the first tensor that is not on the CPU, if any."""
    kinds = [str(v.device) for _, v in named if isinstance(v, torch.Tensor)]
    return next((k for k in kinds if k != "cpu"), "cpu")
