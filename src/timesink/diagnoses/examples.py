"""Builders of small cases, so that a rule's examples read like sentences. Times in ms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from timesink.model.findings import Case
from timesink.model.owners import Owner, Phase
from timesink.model.results import (
    Analysis,
    CopyRow,
    DeviceUsage,
    IdleCause,
    IdleSummary,
    KernelRow,
    LaunchStats,
    OpRow,
    RangeRow,
    RuntimeKind,
    RuntimeRow,
    Trend,
)
from timesink.model.run import Environment, LightSteps, LoaderInfo, RunRecord
from timesink.model.steps import Breakdown, Step, StepBreakdown
from timesink.model.trace import DeviceInfo, TraceInfo

MS = 1_000_000
STEPS = 5
STEP_MS = 100.0


def breakdown(
    owners: Mapping[Owner, float] | None = None,
    *,
    steps: int = STEPS,
    step_ms: float = STEP_MS,
    device: bool = False,
    known: bool = True,
) -> Breakdown:
    """Equal steps; ``owners`` gives shares, what is left over goes to forward operators."""
    wall = round(step_ms * MS)
    parts = {o: round(wall * s) for o, s in (owners or {}).items()}
    rest = Owner.DEVICE_COMPUTE if device else Owner.FORWARD
    parts[rest] = parts.get(rest, 0) + wall - sum(parts.values())
    row = tuple(parts.get(o, 0) for o in Owner)
    entries = tuple(StepBreakdown(Step(n, n * wall, (n + 1) * wall), row) for n in range(steps))
    return Breakdown(entries, "ProfilerStep", has_device=device, device_known=known)


def case(
    owners: Mapping[Owner, float] | None = None,
    *,
    steps: int = STEPS,
    step_ms: float = STEP_MS,
    device: bool = False,
    known: bool = True,
    gpu: str = "",
    capability: tuple[int, ...] = (),
    run: RunRecord | None = None,
    light: LightSteps | None = None,
    **results: Any,
) -> Case:
    """A case with a trace. ``results`` are fields of ``Analysis`` (lists become tuples)."""
    devices = (DeviceInfo(0, gpu, 1 << 34, capability),) if gpu else ()
    info = TraceInfo("trace.json", "K3b", "nvidia" if device else "cpu", devices=devices)
    parts = breakdown(owners, steps=steps, step_ms=step_ms, device=device, known=known)
    fields: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in results.items()}
    if device and known and "usage" not in fields:
        fields["usage"] = (usage(),)
    return Case(Analysis(info, (), parts, steps, **fields), run, light)


def usage(device: int = 0, busy: float = 0.9) -> DeviceUsage:
    """A device that is busy for a share of its span."""
    span = round(STEPS * STEP_MS * MS)
    work = round(span * busy)
    return DeviceUsage(device, 1000, 1, span, work, span - work, work, work, 0, 0, 0, 0)


def op(
    name: str,
    calls_per_step: float,
    ms_per_step: float,
    *,
    phase: Phase = Phase.FORWARD,
    device_ms: float = 0.0,
    steps: int = STEPS,
) -> OpRow:
    """An operator group with self = total."""
    total, device = round(ms_per_step * steps * MS), round(device_ms * steps * MS)
    return OpRow(name, phase, round(calls_per_step * steps), total, total, device, device)


def kernel(
    name: str, calls_per_step: float, ms_per_step: float, *, graph: bool = False
) -> KernelRow:
    """A compute kernel group on stream 7."""
    calls, total = round(calls_per_step * STEPS), round(ms_per_step * STEPS * MS)
    mean = total / max(1, calls)
    return KernelRow(
        name, "compute", calls, total, mean, int(mean), int(mean), 0.5, (7,), graph=graph
    )


def call(
    name: str,
    kind: RuntimeKind,
    calls_per_step: float,
    ms_per_step: float,
    *,
    op: str = "",
    phase: Phase = Phase.FORWARD,
    idle_ms: float = 0.0,
    line: str = "",
) -> RuntimeRow:
    """A group of runtime calls."""
    total, idle = round(ms_per_step * STEPS * MS), round(idle_ms * STEPS * MS)
    calls = round(calls_per_step * STEPS)
    return RuntimeRow(name, kind, phase, op, calls, total, total // max(1, calls), idle, line)


def copy(
    kind: str, source: str, target: str, ms_per_step: float, *, exposed_ms: float = 0.0,
    compute_stream: bool = True,
) -> CopyRow:  # fmt: skip
    """A group of copies, two a step."""
    total, exposed = round(ms_per_step * STEPS * MS), round(exposed_ms * STEPS * MS)
    calls = 2 * STEPS
    size = calls << 20
    return CopyRow(
        kind, source, target, calls, total, size, total // calls, exposed, (7,), compute_stream
    )


def fetch(name: str, ms_per_step: float, step_ms: float = STEP_MS) -> RangeRow:
    """The fetches of a DataLoader: name "Single" or "Multi"."""
    iterator = {"Single": "_SingleProcess", "Multi": "_MultiProcessing"}[name]
    total = round(ms_per_step * STEPS * MS)
    full = f"enumerate(DataLoader)#{iterator}DataLoaderIter.__next__"
    return RangeRow(full, STEPS, total, 0, ms_per_step / step_ms, total / STEPS, total // STEPS)


def idle(causes: Mapping[IdleCause, float]) -> list[IdleSummary]:
    """Idle ms per step by cause on device 0."""
    rows = tuple((c, round(ms * STEPS * MS), STEPS) for c, ms in causes.items())
    return [IdleSummary(0, sum(ns for _, ns, _ in rows), STEPS * len(rows), rows, ())]


def launches(
    count: int = 1000, queue_empty: int = 900, short: int = 900, graphs: int = 0
) -> LaunchStats:
    """Launches over the window."""
    return LaunchStats(
        launches=count, graph_launches=graphs, rows=count, linked=count, unlaunched=0, lost=0,
        negative=0, delay_mean_ns=8e3, delay_median_ns=7e3, delay_p90_ns=1e4, delay_max_ns=20_000,
        short=short, queue_empty=queue_empty, launch_call_mean_ns=6e3, kernel_mean_ns=4e3,
    )  # fmt: skip


def trend(name: str, calls: Sequence[int], ms: Sequence[float], shape: str = "[[8,8]]") -> Trend:
    """One operator step by step."""
    return Trend(name, shape, tuple(calls), tuple(round(m * MS) for m in ms))


def light(
    count: int = 50,
    *,
    wall_ms: float | Sequence[float] = STEP_MS,
    data: float = 0.0,
    gc: float = 0.0,
    epoch_every: int = 0,
    epoch_data_ms: float = 0.0,
    compiled: Sequence[int] = (),
    rss: Sequence[int] = (),
) -> LightSteps:
    """Light steps: ``data`` and ``gc`` are shares; an epoch's first fetch can take longer."""
    walls = [wall_ms] * count if isinstance(wall_ms, (int, float)) else list(wall_ms)
    first = [bool(epoch_every) and i % epoch_every == 0 for i in range(len(walls))]
    extra = [epoch_data_ms if f else 0.0 for f in first]
    wall = [round((w + e) * MS) for w, e in zip(walls, extra, strict=True)]
    fetches = [round((w * data + e) * MS) for w, e in zip(walls, extra, strict=True)]
    zeros = (0,) * len(wall)
    return LightSteps(
        kind=tuple("train" for _ in wall),
        start_ns=tuple(sum(wall[:i]) for i in range(len(wall))),
        wall_ns=tuple(wall),
        data_ns=tuple(fetches),
        forward_ns=tuple((w - d) // 3 for w, d in zip(wall, fetches, strict=True)),
        backward_ns=tuple((w - d) // 3 for w, d in zip(wall, fetches, strict=True)),
        optimizer_ns=zeros,
        gc_ns=tuple(round(w * gc) for w in wall),
        rss=tuple(rss) or zeros,
        device_bytes=zeros,
        profiled=(False,) * len(wall),
        compiled=tuple(i in compiled for i in range(len(wall))),
        boundary=tuple(first),
    )


def run(
    *,
    workers: int | None = None,
    persistent: bool = False,
    epochs: int = 1,
    optimizers: tuple[str, ...] = (),
    **environment: str,
) -> RunRecord:
    """A record; ``environment`` keys use "_" for "." ("cpu_usable")."""
    loaders: tuple[LoaderInfo, ...] = ()
    if workers is not None:
        prefetch = 2 if workers else None
        loaders = (LoaderInfo(workers, 32, False, persistent, prefetch, "Images", epochs),)
    fields = tuple((k.replace("_", ".", 1), v) for k, v in environment.items())
    return RunRecord(
        "train", ("train.py",), "2026-01-01T00:00:00+00:00", Environment(fields),
        loaders=loaders, optimizers=optimizers,
    )  # fmt: skip


def healthy_cpu() -> Case:
    """A CPU run with nothing wrong: compute in forward and backward."""
    owners = {
        Owner.BACKWARD: 0.5, Owner.OPTIMIZER: 0.03, Owner.DATA_LOADING: 0.01,
        Owner.OTHER_PYTHON: 0.03,
    }  # fmt: skip
    ops = [
        op("aten::mm", 20, 35),
        op("aten::item", 1, 0.02),
        op("aten::mm", 40, 50, phase=Phase.BACKWARD),
    ]
    return case(owners, ops=ops, light=light(data=0.01), run=run(workers=0, cpu_usable="2"))


def healthy_gpu() -> Case:
    """A GPU run with nothing wrong: the device computes."""
    owners = {Owner.EXPOSED_COPIES: 0.01, Owner.RUNTIME: 0.02, Owner.DATA_LOADING: 0.01}
    return case(
        owners, device=True, gpu="NVIDIA A100", capability=(8, 0),
        kernels=[kernel("ampere_bf16_s16816gemm_128x64", 50, 80)],
        copies=[copy("HtoD", "Pinned", "Device", 1.0)],
        runtime=[
            call("cudaLaunchKernel", "launch", 500, 4),
            call("cudaStreamSynchronize", "sync", 1, 30),
        ],
        launches=launches(queue_empty=10, short=50), idle=idle({IdleCause.UNKNOWN: 2}),
        run=run(workers=4, cpu_usable="8", gpu_count="1"),
    )  # fmt: skip
