"""``python -m benchmarks.fingerprint``: what proof of reproducibility costs, as ratios.

Speed of fingerprints by size beside the hashes of the standard library, and the time of a training
step with fingerprints of everything after it, and with every operator hashed, relative to plain.
The arms alternate step by step, since a machine drifts; medians are given.
"""

from __future__ import annotations

import hashlib
import os
import statistics
import time
from collections.abc import Callable
from typing import Any

import torch

from timesink.reproducibility.fingerprint import fingerprint
from timesink.reproducibility.operators import OperatorHasher
from timesink.reproducibility.steps import generators, gradients, step_prints

_SIZES = (4, 1 << 12, 1 << 16, 1 << 20, 1 << 24, 1 << 27)
_NETS = {"tiny (MLP 8-8-8, batch 4)": (8, 2, 4), "small (MLP 256×4, batch 64)": (256, 4, 64),
         "large (MLP 1024×4, batch 256)": (1024, 4, 256)}  # fmt: skip
_ROUNDS = 15


def _seconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def speeds() -> None:
    """GB/s of :func:`fingerprint`, of SHA-256 and of BLAKE2b over the same bytes."""
    print("bytes        fingerprint       sha256      blake2b   (GB/s; time of one call)")
    for size in _SIZES:
        value = torch.randint(0, 256, (size,), dtype=torch.uint8)
        raw = value.numpy()
        calls: tuple[Callable[[], object], ...] = (
            lambda v=value: fingerprint(v),  # type: ignore[misc]
            lambda r=raw: hashlib.sha256(r).digest(),  # type: ignore[misc]
            lambda r=raw: hashlib.blake2b(r).digest(),  # type: ignore[misc]
        )
        repeat = 200 if size < 1 << 18 else 7
        times = [statistics.median(_seconds(c) for _ in range(repeat)) for c in calls]
        cells = "  ".join(f"{size / t / 1e9:10.3f}" for t in times)
        print(f"{size:<12}{cells}   {times[0] * 1e6:,.0f} µs")


class _Training:
    def __init__(self, width: int, layers: int, batch: int) -> None:
        torch.manual_seed(0)
        blocks = [[torch.nn.Linear(width, width), torch.nn.ReLU()] for _ in range(layers)]
        self.model = torch.nn.Sequential(*[m for block in blocks for m in block])
        self.optimizer = torch.optim.Adam(self.model.parameters())
        self.x = torch.randn(batch, width)

    def step(self, watch: bool = False) -> None:
        loss = self.model(self.x).square().mean()
        self.optimizer.zero_grad()
        loss.backward()
        if watch:
            early: dict[str, Any] = {"generators": generators(), "inputs": self.x, "loss": loss}
            step_prints(0, {**early, "gradients": gradients(self.model)})
        self.optimizer.step()
        if watch:
            step_prints(0, {"parameters": self.model, "optimizer": self.optimizer})

    def hashed(self) -> None:
        with OperatorHasher() as hasher:
            self.step()
        self.operators = len(hasher.calls)


def ratios() -> None:
    """Step time with fingerprints and with operator hashing, relative to plain."""
    for name, shape in _NETS.items():
        training = _Training(*shape)
        training.step(True)
        training.hashed()
        arms: dict[str, list[float]] = {"plain": [], "fingerprints": [], "operators": []}
        for _ in range(_ROUNDS):
            arms["plain"].append(_seconds(training.step))
            arms["fingerprints"].append(_seconds(lambda t=training: t.step(True)))  # type: ignore[misc]
            arms["operators"].append(_seconds(training.hashed))
        plain = statistics.median(arms["plain"])
        prints, operators = (statistics.median(arms[a]) for a in ("fingerprints", "operators"))
        each = (operators - plain) / training.operators * 1e6
        print(
            f"{name}: plain step {plain * 1e3:.2f} ms; fingerprints ×{prints / plain:.2f}; "
            f"operator hashing ×{operators / plain:.2f} ({training.operators} operators, "
            f"{each:.0f} µs each)"
        )


def main() -> None:
    """Everything."""
    print(f"{os.cpu_count()} cores, torch {torch.__version__}, {torch.get_num_threads()} threads")
    speeds()
    ratios()


if __name__ == "__main__":
    main()
