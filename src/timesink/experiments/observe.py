"""Inside a measured process: losses, gradient norms, inputs and peak memory, as they come.

Timed processes record the losses only (one number a step). Check runs also record the norm of all
gradients at every optimizer step and a fingerprint of what each outermost module call was given.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator
from functools import wraps
from typing import Any

from timesink.capture.summary import peak_resident
from timesink.experiments.interventions.roots import Call, each_root

_KEPT = 10_000  #: of each kind; more are counted only
_HASHED_BYTES = 64 * 1024**2  #: of one call's inputs


class Losses:
    """The tensor that each backward was called on."""

    def __init__(self) -> None:
        self._values: list[Any] = []

    def install(self) -> None:
        """Wrap torch.autograd.backward, which Tensor.backward looks up by name."""
        import torch

        backward = torch.autograd.backward
        is_compiling = torch.compiler.is_compiling

        @wraps(backward)
        def recorded(tensors: Any, *args: Any, **kwargs: Any) -> Any:
            if not is_compiling() and len(self._values) < _KEPT:
                self._values.append(_kept(tensors))
            return backward(tensors, *args, **kwargs)

        torch.autograd.backward = recorded

    def values(self) -> list[float]:
        """As numbers: exact, since every float format fits into a double."""
        return [_number(v) for v in self._values]


def _kept(tensors: Any) -> Any:
    """A scalar on the CPU as a number; one on a device as a copy, so that nothing waits for it."""
    first = tensors if hasattr(tensors, "detach") else next(iter(tensors), None)
    try:
        value = first.detach()  # type: ignore[union-attr]
        if value.numel() != 1:
            value = value.double().norm()
        return value.item() if value.device.type == "cpu" else value.clone()
    except Exception:
        return float("nan")


def _number(value: Any) -> float:
    try:
        return float(value)
    except Exception:
        return float("nan")


class GradNorms:
    """The 2-norm over all gradients of an optimizer, before it steps."""

    def __init__(self) -> None:
        self.values: list[float] = []

    def install(self) -> None:
        """By torch's own global hook."""
        from torch.optim.optimizer import register_optimizer_step_pre_hook

        def before(optimizer: Any, args: Any, kwargs: Any) -> None:
            if len(self.values) < _KEPT:
                self.values.append(_norm(optimizer))

        register_optimizer_step_pre_hook(before)


def _norm(optimizer: Any) -> float:
    total = 0.0
    try:
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                grad = parameter.grad
                if grad is not None:
                    dense = grad.coalesce().values() if grad.is_sparse else grad
                    total += float(dense.detach().double().norm()) ** 2
    except Exception:
        return float("nan")
    return float(total**0.5)


class Parameters:
    """Bytes of all parameters that an optimizer has, each once."""

    def __init__(self) -> None:
        self._bytes: dict[int, int] = {}

    def install(self) -> None:
        """Look at each optimizer when it steps."""
        from torch.optim.optimizer import register_optimizer_step_pre_hook

        def before(optimizer: Any, args: Any, kwargs: Any) -> None:
            for group in optimizer.param_groups:
                for p in group["params"]:
                    self._bytes[id(p)] = p.numel() * p.element_size()

        register_optimizer_step_pre_hook(before)

    @property
    def total(self) -> int:
        """So far."""
        return sum(self._bytes.values())


class Inputs:
    """Fingerprints of what outermost modules are given: equal bits, equal text."""

    def __init__(self) -> None:
        self.values: list[str] = []

    def install(self) -> None:
        """Look at the arguments of every outermost call."""

        def wrap(module: Any, call: Call) -> Call:
            def seen(*args: Any, **kwargs: Any) -> Any:
                if len(self.values) < _KEPT:
                    self.values.append(fingerprint((args, kwargs)))
                return call(*args, **kwargs)

            return seen

        each_root(wrap)


def fingerprint(value: Any) -> str:
    """A hash of all tensors in nested lists, tuples and dicts: shape, type and bits, whatever the
    memory layout. Beyond 64 MiB only shapes and types count."""
    import torch

    digest = hashlib.blake2b(digest_size=8)
    budget = _HASHED_BYTES
    for tensor in _tensors(value):
        digest.update(f"{tuple(tensor.shape)}{tensor.dtype}".encode())
        size = tensor.numel() * tensor.element_size()
        if size > budget or tensor.layout is not torch.strided:
            continue
        budget -= size
        try:
            plain = tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8)
            digest.update(plain.numpy().data)
        except Exception:
            continue
    return digest.hexdigest()


def _tensors(value: Any) -> Iterator[Any]:
    import torch

    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, dict):
        for key in value:
            yield from _tensors(value[key])
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _tensors(item)


def peak_memory() -> dict[str, int]:
    """Peak resident bytes of this process, and what torch allocated and reserved on CUDA."""
    found = {"peak_rss": peak_resident(), "device_allocated": 0, "device_reserved": 0}
    torch = sys.modules.get("torch")
    try:
        if torch is not None and torch.cuda.is_initialized():
            found["device_allocated"] = torch.cuda.max_memory_allocated()
            found["device_reserved"] = torch.cuda.max_memory_reserved()
    except Exception:
        pass
    return found
