"""The dials of torch: seeds of all devices, deterministic algorithms, and what is only recorded.

torch must have been imported; this module looks it up and never imports it first. Each function
turns or reads one dial and yields what it did; one that this torch does not have is "not there".
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from typing import Any

from timesink.model.reproducibility import Dial

CUBLAS = "CUBLAS_WORKSPACE_CONFIG"
_WORKERS = (
    "torch derives them from the loader's generator, or else its global one: Python, NumPy and "
    "torch in each worker; nothing was changed, so the order of samples is the usual one"
)


def torch_dials(seed: int, deterministic: bool, warn_only: bool) -> Iterator[Dial]:
    """Turn the dials one by one, in the order yielded. A dial that fails does not stop others."""
    torch: Any = sys.modules["torch"]
    torch.manual_seed(seed)  # the CPU and every accelerator, also one that is not initialised yet
    yield Dial("torch random (CPU and accelerators)", "set", str(seed))
    yield Dial("DataLoader workers", "as it was", why=_WORKERS)
    if deterministic:
        yield from determinism(warn_only)
    yield from _readings(torch, 0 if not deterministic else 3)


def determinism(warn_only: bool = False) -> Iterator[Dial]:
    """Turn everything that makes kernels give the same bits each time; no seed."""
    torch: Any = sys.modules["torch"]
    yield from _guarded(_algorithms, torch, warn_only)
    yield from _guarded(_fill, torch)
    yield from _guarded(_cudnn, torch)
    yield from _guarded(_cublas, torch)
    yield from _guarded(_inductor, torch)


def cublas_is_deterministic(value: str) -> bool:
    """Whether a value of CUBLAS_WORKSPACE_CONFIG is one of the two that cuBLAS documents for it."""
    return value in (":4096:8", ":16:8")


def _guarded(turn: Callable[..., Iterator[Dial]], *arguments: Any) -> Iterator[Dial]:
    try:
        yield from turn(*arguments)
    except Exception as error:
        name = turn.__name__.strip("_").replace("_", " ")
        yield Dial(name, "not set", why=f"{type(error).__name__}: {error}")


def _algorithms(torch: Any, warn_only: bool) -> Iterator[Dial]:
    torch.use_deterministic_algorithms(True, warn_only=warn_only)
    yield Dial(
        "torch.use_deterministic_algorithms", "set", "True, warn_only" if warn_only else "True"
    )


def _fill(torch: Any) -> Iterator[Dial]:
    settings: Any = torch.utils.deterministic
    settings.fill_uninitialized_memory = True
    yield Dial("fill_uninitialized_memory", "set", "True", "torch.empty gives NaN or the maximum")


def _cudnn(torch: Any) -> Iterator[Dial]:
    torch.backends.cudnn.deterministic = True
    torch.backends.cudnn.benchmark = False
    yield Dial("cudnn.deterministic", "set", "True")
    yield Dial("cudnn.benchmark", "set", "False")


def _cublas(torch: Any) -> Iterator[Dial]:
    before = os.environ.get(CUBLAS, "")
    if torch.version.cuda is None:
        yield Dial(CUBLAS, "not there", why="this torch is built without CUDA")
    elif cublas_is_deterministic(before):
        yield Dial(CUBLAS, "as it was", before)
    elif torch.cuda.is_initialized():
        why = "CUDA is in use already and cuBLAS reads it only once: set it before the program"
        yield Dial(CUBLAS, "not set", before, why)
    else:
        os.environ[CUBLAS] = ":4096:8"
        yield Dial(CUBLAS, "set", ":4096:8")


def _inductor(torch: Any) -> Iterator[Dial]:
    """Newer torch turns this together with the algorithms; others read a variable, or have none."""
    config: Any = sys.modules.get("torch._inductor.config")
    name = "torch.compile (inductor deterministic)"
    if config is not None and hasattr(config, "deterministic"):
        config.deterministic = True
        yield Dial(name, "set", "True", "no choice of kernels by timing")
    elif config is None:
        os.environ["TORCHINDUCTOR_DETERMINISTIC"] = "1"
        yield Dial(name, "set", "TORCHINDUCTOR_DETERMINISTIC=1", "read when inductor is imported")
    else:
        yield Dial(name, "not there", why="max_autotune may choose other kernels in each run")


def _readings(torch: Any, skip: int) -> Iterator[Dial]:
    """What is left alone, without the first ``skip``, which were set: the same in each run of one
    program on one machine, but the numbers depend on it."""
    readings: dict[str, Callable[[], Any]] = {
        "torch.use_deterministic_algorithms": torch.are_deterministic_algorithms_enabled,
        "cudnn.deterministic": lambda: torch.backends.cudnn.deterministic,
        "cudnn.benchmark": lambda: torch.backends.cudnn.benchmark,
        "float32 matmul precision": torch.get_float32_matmul_precision,
        "cudnn.allow_tf32": lambda: torch.backends.cudnn.allow_tf32,
        "torch threads": torch.get_num_threads,
        "torch threads (interop)": torch.get_num_interop_threads,
    }
    for name, read in list(readings.items())[skip:]:
        try:
            yield Dial(name, "as it was", str(read()))
        except Exception:
            continue
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "MKL_CBWR"):
        if name in os.environ:
            yield Dial(name, "as it was", os.environ[name])
