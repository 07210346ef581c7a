"""The fingerprints of one training step, from the live objects of a run."""

from __future__ import annotations

import random
import sys
from collections.abc import Mapping
from typing import Any

from timesink.model.reproducibility import StepPrints
from timesink.reproducibility.fingerprint import fingerprints


def step_prints(step: int, sections: Mapping[str, Any]) -> StepPrints:
    """Everything of one step: section ("inputs", "loss", …) → tensors, containers, modules,
    optimizers. Take "gradients" after backward and before they are cleared, see
    :func:`gradients`; "parameters" and "optimizer" after the optimizer's step."""
    entries = []
    for path, text in fingerprints(dict(sections)).items():
        section = next(s for s in sections if path == s or (path[len(s) :][:1] in (".", "[", " ")
                       and path.startswith(s)))  # fmt: skip
        entries.append((section, path[len(section) :].lstrip("."), text))
    return StepPrints(step, tuple(entries))


def gradients(module: Any) -> dict[str, Any]:
    """Name → gradient (None: it has none) of every parameter of a module."""
    return {name: parameter.grad for name, parameter in module.named_parameters()}


def generators() -> dict[str, Any]:
    """The states of the global generators of Python, NumPy and torch, none of them advanced.

    What is not imported or, on an accelerator, not in use yet is left out.
    """
    found: dict[str, Any] = {"python": repr(random.getstate())}
    numpy: Any = sys.modules.get("numpy")
    if hasattr(numpy, "random"):
        found["numpy"] = numpy.random.get_state()
    torch: Any = sys.modules.get("torch")
    if hasattr(torch, "get_rng_state"):
        found["torch-cpu"] = torch.get_rng_state()
        for kind in ("cuda", "xpu"):
            device = getattr(torch, kind, None)
            if device is not None and device.is_available() and device.is_initialized():
                states = enumerate(device.default_generators)
                found.update({f"torch-{kind}-{i}": g.get_state() for i, g in states})
    return found
