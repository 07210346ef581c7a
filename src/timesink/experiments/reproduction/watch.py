"""Inside a process: fingerprints of what each training step is given and makes, as it comes.

What is fingerprinted when: the arguments of every outermost module call before it, and what it
returns; the tensors that backward is called on; the gradients before an optimizer steps; when the
step is over, parameters, buffers and optimizer state of the models that were called and the
optimizers that stepped in it (others may die at any time: their end must be no difference). Nothing
is kept but texts and weak references.
"""

from __future__ import annotations

import weakref
from collections.abc import Container, Iterator
from functools import wraps
from typing import Any

from timesink.experiments.interventions.roots import Call, each_root, has_parameters
from timesink.model.reproducibility import StepPrints
from timesink.reproducibility.steps import generators, step_prints


class Watch:
    """Installed right after torch was imported; :meth:`take` ends a step."""

    def __init__(self) -> None:
        self._entries: list[tuple[str, str, str]] = []
        self._models: dict[str, weakref.ref[Any]] = {}
        self._optimizers: dict[str, weakref.ref[Any]] = {}
        self._active: set[str] = set()
        self._calls = self._losses = 0
        self._step = 0

    def install(self) -> None:
        """Begin to watch; the generators as they are now belong to step 0."""
        each_root(self._wrap)
        self._hook_backward()
        self._hook_optimizers()
        self._start()

    @property
    def busy(self) -> bool:
        """Whether the step that goes on has anything to compare yet."""
        return any(section != "generators" for section, _, _ in self._entries)

    def take(self) -> StepPrints:
        """The step that has just ended; the next one begins."""
        models, optimizers = self._alive(self._models), self._alive(self._optimizers)
        if not any(section == "gradients" for section, _, _ in self._entries) and not optimizers:
            self._add("gradients", {k: _gradients(m) for k, m in models.items()})
        loose = {label: list(_loose(o, models)) for label, o in optimizers.items()}
        self._add("parameters", models)
        self._add("parameters", {k: v for k, v in loose.items() if v})
        self._add("optimizer", optimizers)
        done = StepPrints(self._step, tuple(self._entries))
        self._step += 1
        self._calls = self._losses = 0
        self._active.clear()
        self._start()
        return done

    def _alive(self, among: dict[str, weakref.ref[Any]]) -> dict[str, Any]:
        """Label → object, of those that took part in this step."""
        found = {label: ref() for label, ref in among.items() if label in self._active}
        return {label: each for label, each in found.items() if each is not None}

    def _start(self) -> None:
        self._entries = []
        self._add("generators", generators())

    def rest(self) -> StepPrints:
        """The generators at the start of the step that goes on."""
        states = tuple(e for e in self._entries if e[0] == "generators")
        return StepPrints(self._step, states)

    def _add(self, section: str, value: Any) -> None:
        if not value:
            return
        known = {path for s, path, _ in self._entries if s == section}
        for _, path, text in step_prints(self._step, {section: value}).entries:
            unique = _free(path, known)  # an optimizer that steps twice, say
            known.add(unique)
            self._entries.append((section, unique, text))

    def _wrap(self, module: Any, call: Call) -> Call:
        label = type(module).__name__
        if has_parameters(module):
            label = _free(label, self._models)
            self._models[label] = weakref.ref(module)

        def seen(*args: Any, **kwargs: Any) -> Any:
            name = f"call {self._calls} of {label}"
            self._calls += 1
            self._active.add(label)
            given = {str(i): a for i, a in enumerate(args)} | kwargs
            self._add("inputs", {name: given})
            made = call(*args, **kwargs)
            self._add("outputs", {name: made})
            return made

        return seen

    def _hook_backward(self) -> None:
        import torch

        backward = torch.autograd.backward
        is_compiling = torch.compiler.is_compiling

        @wraps(backward)
        def watched(tensors: Any, *args: Any, **kwargs: Any) -> Any:
            if not is_compiling():
                self._add("loss", {str(self._losses): tensors})
                self._losses += 1
            return backward(tensors, *args, **kwargs)

        torch.autograd.backward = watched

    def _hook_optimizers(self) -> None:
        import torch
        from torch.optim.optimizer import register_optimizer_step_pre_hook

        is_compiling = torch.compiler.is_compiling

        def before(optimizer: Any, args: Any, kwargs: Any) -> None:
            if is_compiling():
                return
            known = (label for label, ref in self._optimizers.items() if ref() is optimizer)
            label = next(known, "") or _free(type(optimizer).__name__, self._optimizers)
            self._optimizers[label] = weakref.ref(optimizer)
            self._active.add(label)
            self._add("gradients", dict(self._named_gradients(optimizer)))

        register_optimizer_step_pre_hook(before)

    def _named_gradients(self, optimizer: Any) -> Iterator[tuple[str, Any]]:
        names = {
            id(p): f"{label}.{name}"
            for label, ref in self._models.items()
            if (model := ref()) is not None
            for name, p in model.named_parameters()
        }
        for g, group in enumerate(optimizer.param_groups):
            for i, parameter in enumerate(group["params"]):
                yield names.get(id(parameter), f"group{g}.{i}"), parameter.grad


def _free(label: str, taken: Container[str]) -> str:
    """``Net``, ``Net (2)``, …"""
    unique, n = label, 1
    while unique in taken:
        n += 1
        unique = f"{label} ({n})"
    return unique


def _gradients(module: Any) -> dict[str, Any]:
    return {name: p.grad for name, p in module.named_parameters() if p.grad is not None}


def _loose(optimizer: Any, models: dict[str, Any]) -> Iterator[Any]:
    """Parameters of an optimizer that belong to none of the modules that were called."""
    known = {id(p) for model in models.values() for p in model.parameters()}
    for group in optimizer.param_groups:
        yield from (p for p in group["params"] if id(p) not in known)
