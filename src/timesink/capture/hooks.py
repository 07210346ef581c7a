"""Tells a listener when data is fetched, and when forward, backward and optimizer steps happen.

Everything goes through torch's own global hooks or wraps one function that all callers look up by
name, so a script needs no change. Only the process and the thread that trains count: forked
DataLoader workers and pin-memory threads inherit the hooks but not the listener.
"""

from __future__ import annotations

import gc
import os
import threading
import time
from collections.abc import Callable
from functools import wraps
from typing import Any, Protocol

from timesink.capture import foreign
from timesink.capture.machine import Part

_now = time.perf_counter_ns


class Listener(Protocol):
    """What the hooks report to."""

    def enter(self, part: Part, now: int, ident: int = 0) -> None:
        """Something begins."""

    def leave(self, part: Part, now: int, ident: int = 0) -> None:
        """Something ends."""

    def epoch(self, loader: Any) -> None:
        """A DataLoader begins to be iterated."""

    def optimizer(self, optimizer: Any) -> None:
        """An optimizer steps for the first time."""

    def collected(self, duration: int) -> None:
        """A garbage collection took this long, in ns."""


class Hooks:
    """Installs everything once torch has been imported."""

    def __init__(self, listener: Listener) -> None:
        self._to = listener
        self._thread = 0
        self._optimizers: dict[int, int] = {}
        self._gc_start = 0

    def install(self) -> None:
        """Hook optimizers, loaders, backward, modules, garbage collection and profilers."""
        self._thread = threading.get_ident()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forget)
        self._hook_optimizers()
        self._hook_loaders()
        self._hook_backward()
        self._hook_scaler()
        self._hook_modules()
        self._hook_checkpoints()
        foreign.watch()
        gc.callbacks.append(self._on_gc)

    def _forget(self) -> None:
        """A forked child is not the process that trains."""
        self._thread = 0

    def _mine(self) -> bool:
        return threading.get_ident() == self._thread  # a forked child has its own: see install

    def _around(self, function: Callable[..., Any], part: Part) -> Callable[..., Any]:
        """``function`` with its duration reported as ``part``."""

        import torch

        is_compiling = torch.compiler.is_compiling

        @wraps(function)
        def timed(*args: Any, **kwargs: Any) -> Any:
            if is_compiling() or not self._mine():
                return function(*args, **kwargs)
            self._to.enter(part, _now())
            try:
                return function(*args, **kwargs)
            finally:
                self._to.leave(part, _now())

        return timed

    def _hook_optimizers(self) -> None:
        import torch
        from torch.optim.optimizer import (
            register_optimizer_step_post_hook,
            register_optimizer_step_pre_hook,
        )

        is_compiling = torch.compiler.is_compiling

        def before(optimizer: Any, args: Any, kwargs: Any) -> None:
            if not is_compiling() and self._mine():
                self._to.enter(Part.OPTIMIZER, _now(), self._ident(optimizer))

        def after(optimizer: Any, args: Any, kwargs: Any) -> None:
            if not is_compiling() and self._mine():
                self._to.leave(Part.OPTIMIZER, _now(), self._ident(optimizer))

        register_optimizer_step_pre_hook(before)
        register_optimizer_step_post_hook(after)

    def _ident(self, optimizer: Any) -> int:
        known = self._optimizers.get(id(optimizer))
        if known is None:
            known = self._optimizers[id(optimizer)] = len(self._optimizers) + 1
            self._to.optimizer(optimizer)
        return known

    def _hook_loaders(self) -> None:
        from torch.utils.data import DataLoader, dataloader

        base = dataloader._BaseDataLoaderIter
        base.__next__ = self._around(base.__next__, Part.DATA)
        iterate = DataLoader.__iter__

        @wraps(iterate)
        def announced(loader: Any) -> Any:
            if not self._mine():
                return iterate(loader)
            self._to.enter(Part.DATA, _now())
            self._to.epoch(loader)
            try:
                return iterate(loader)
            finally:
                self._to.leave(Part.DATA, _now())

        DataLoader.__iter__ = announced

    def _hook_backward(self) -> None:
        import torch

        torch.autograd.backward = self._around(torch.autograd.backward, Part.BACKWARD)
        torch.autograd.grad = self._around(torch.autograd.grad, Part.BACKWARD)

    def _hook_scaler(self) -> None:
        """A GradScaler that skips a step (inf gradients) still ends the training step."""
        try:
            from torch.amp import GradScaler
        except ImportError:
            return
        step = GradScaler.step

        @wraps(step)
        def timed(scaler: Any, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
            if not self._mine():
                return step(scaler, optimizer, *args, **kwargs)
            ident = self._ident(optimizer)
            self._to.enter(Part.OPTIMIZER, _now(), ident)
            try:
                return step(scaler, optimizer, *args, **kwargs)
            finally:
                self._to.leave(Part.OPTIMIZER, _now(), ident)

        GradScaler.step = timed

    def _hook_modules(self) -> None:
        """Time the outermost module calls, by wrapping the one method that all of them go through.

        Not by forward hooks: those are pickled with the model, and torch.compile traces them.
        ``is_compiling`` comes first: a compiler folds it and never sees the rest, so that nothing
        is compiled differently or again.
        """
        import torch

        is_compiling = torch.compiler.is_compiling
        plain = torch.nn.Module._call_impl
        inside = [False]

        def outermost(call: Callable[..., Any]) -> Callable[..., Any]:
            @wraps(call)
            def timed(*args: Any, **kwargs: Any) -> Any:
                if is_compiling() or inside[0] or not self._mine():
                    return call(*args, **kwargs)
                inside[0] = True
                torch.nn.Module._call_impl = plain  # the modules within pay nothing
                self._to.enter(Part.FORWARD, _now())
                try:
                    return call(*args, **kwargs)
                finally:
                    inside[0] = False
                    torch.nn.Module._call_impl = wrapped
                    self._to.leave(Part.FORWARD, _now())

            return timed

        wrapped = outermost(plain)
        torch.nn.Module._call_impl = wrapped
        compile_in_place = torch.nn.Module.compile

        @wraps(compile_in_place)
        def compiled(module: Any, *args: Any, **kwargs: Any) -> None:
            compile_in_place(module, *args, **kwargs)  # such a module is called by another way
            module._compiled_call_impl = outermost(module._compiled_call_impl)

        torch.nn.Module.compile = compiled

    def _hook_checkpoints(self) -> None:
        """Mark torch.save and torch.load in the trace while a profiler runs."""
        import torch

        from timesink.model.owners import MARK_CHECKPOINT

        for name in ("save", "load"):
            setattr(torch, name, _marked(getattr(torch, name), f"{MARK_CHECKPOINT} torch.{name}"))

    def _on_gc(self, phase: str, info: dict[str, int]) -> None:
        if phase == "start":
            self._gc_start = _now()
        elif self._gc_start and self._mine():
            self._to.collected(_now() - self._gc_start)


def _marked(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    import torch

    @wraps(function)
    def marked(*args: Any, **kwargs: Any) -> Any:
        if not torch.autograd.profiler._is_profiler_enabled:
            return function(*args, **kwargs)
        with torch.profiler.record_function(name):
            return function(*args, **kwargs)

    return marked
