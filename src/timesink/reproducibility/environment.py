"""The environment record: what two runs must share to be comparable, as flat text fields.

Every probe is guarded: what cannot be read is absent, never wrong. Environment variables are
recorded from an allow-list only, so that no secret ends up in a report. torch is looked at only
where the script has imported it, and CUDA only where it is already initialised.
"""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

from timesink.model.run import Environment

_VARIABLES = re.compile(
    r"(OMP|MKL|KMP|GOMP|CUDA|CUBLAS|CUDNN|NVIDIA_TF32|PYTORCH|TORCH|TORCHINDUCTOR|NCCL|GLOO|HIP|"
    r"ROCR|HSA|MIOPEN|XLA|OPENBLAS|ATEN|TOKENIZERS)_[A-Z0-9_]+$|PYTHONHASHSEED$|LD_PRELOAD$|"
    r"(LOCAL_RANK|RANK|WORLD_SIZE)$"
)
_SECRET = re.compile(r"TOKEN|KEY|SECRET|PASSWORD|CREDENTIAL", re.I)
_PACKAGES = (
    "numpy", "torchvision", "torchaudio", "triton", "lightning", "pytorch-lightning",
    "transformers", "accelerate", "datasets", "deepspeed", "timm", "timesink",
)  # fmt: skip
_GIT_SECONDS = 2.0


def environment() -> Environment:
    """The record of this process and machine."""
    fields: dict[str, str] = {}
    for probe in (_system, _processor, _memory, _torch, _gpus, _variables, _packages, _git):
        try:
            fields.update(probe())
        except Exception:
            continue
    return Environment(tuple(fields.items()))


def diff(a: Environment, b: Environment) -> tuple[tuple[str, str, str], ...]:
    """(field, value in ``a``, value in ``b``) wherever they differ; "" is absent."""
    left, right = dict(a.fields), dict(b.fields)
    names = dict.fromkeys([*left, *right])
    return tuple(
        (n, left.get(n, ""), right.get(n, "")) for n in names if left.get(n) != right.get(n)
    )


def _system() -> Iterator[tuple[str, str]]:
    yield "os", platform.platform()
    yield "python.version", platform.python_version()
    yield "python.implementation", platform.python_implementation()


def _processor() -> Iterator[tuple[str, str]]:
    info = Path("/proc/cpuinfo")
    if info.exists():
        match = re.search(r"model name\s*:\s*(.+)", info.read_text())
        if match:
            yield "cpu.model", match[1].strip()
    yield "cpu.machine", platform.machine()
    yield "cpu.cores", str(os.cpu_count() or 0)
    if hasattr(os, "sched_getaffinity"):
        yield "cpu.usable", str(len(os.sched_getaffinity(0)))
    quota = Path("/sys/fs/cgroup/cpu.max")
    if quota.exists():
        limit, period = quota.read_text().split()[:2]
        if limit != "max":
            yield "cpu.quota", f"{int(limit) / int(period):g}"


def _memory() -> Iterator[tuple[str, str]]:
    yield "memory.bytes", str(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))


def _torch() -> Iterator[tuple[str, str]]:
    torch: Any = sys.modules.get("torch")
    if torch is None or not hasattr(torch, "get_num_threads"):
        return
    yield "torch.version", str(torch.__version__)
    yield "torch.cuda", str(torch.version.cuda or "")
    yield "torch.hip", str(getattr(torch.version, "hip", "") or "")
    yield "cpu.threads.torch", str(torch.get_num_threads())
    yield "cpu.threads.interop", str(torch.get_num_interop_threads())
    readings: dict[str, Callable[[], Any]] = {
        "torch.deterministic": torch.are_deterministic_algorithms_enabled,
        "torch.matmul_precision": torch.get_float32_matmul_precision,
        "torch.cudnn.benchmark": lambda: torch.backends.cudnn.benchmark,
        "torch.cudnn.deterministic": lambda: torch.backends.cudnn.deterministic,
        "torch.anomaly": torch.is_anomaly_enabled,
    }
    for name, read in readings.items():
        try:
            yield name, str(read())
        except Exception:
            continue


def _gpus() -> Iterator[tuple[str, str]]:
    torch: Any = sys.modules.get("torch")
    if torch is None or not hasattr(torch, "cuda"):
        return
    # Counting through NVML does not initialise CUDA, which would break forked workers.
    count = torch.cuda.device_count() if torch.version.cuda or torch.version.hip else 0
    yield "gpu.count", str(count)
    if not torch.cuda.is_initialized():
        return
    yield "torch.cudnn", str(torch.backends.cudnn.version())
    for i in range(count):
        properties = torch.cuda.get_device_properties(i)
        yield f"gpu.{i}.name", str(properties.name)
        yield f"gpu.{i}.memory", str(properties.total_memory)
        yield f"gpu.{i}.capability", f"{properties.major}.{properties.minor}"


def _variables() -> Iterator[tuple[str, str]]:
    for name in sorted(os.environ):
        if _VARIABLES.match(name) and not _SECRET.search(name.removeprefix("TOKENIZERS_")):
            yield f"env.{name}", os.environ[name]


def _packages() -> Iterator[tuple[str, str]]:
    for name in _PACKAGES:
        try:
            yield f"package.{name}", metadata.version(name)
        except metadata.PackageNotFoundError:
            continue


def _git() -> Iterator[tuple[str, str]]:
    def git(*arguments: str) -> str:
        done = subprocess.run(
            ["git", *arguments],
            capture_output=True, text=True, timeout=_GIT_SECONDS, check=True,
        )  # fmt: skip
        return done.stdout.strip()

    yield "git.commit", git("rev-parse", "HEAD")
    yield "git.branch", git("rev-parse", "--abbrev-ref", "HEAD")
    yield "git.dirty", str(bool(git("status", "--porcelain", "--untracked-files=no"))).lower()
