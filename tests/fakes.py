"""A realistic report value, and one whose every text is hostile. Written by us, no trace needed."""

from __future__ import annotations

import dataclasses
import random
from typing import Any

from timesink.model.findings import Diagnosis, Evidence, Finding, Verdict
from timesink.model.owners import Owner, Phase
from timesink.model.report import Report
from timesink.model.results import (
    Analysis,
    CopyRow,
    DeviceUsage,
    IdleCause,
    IdleGap,
    IdleSummary,
    KernelRow,
    LaunchStats,
    LongestEvent,
    MemoryCurve,
    OpRow,
    RangeRow,
    RuntimeRow,
)
from timesink.model.run import Environment, LightSteps, LoaderInfo, RunRecord, Schedule
from timesink.model.steps import Breakdown, Step, StepBreakdown
from timesink.model.timeline import Lane, Timeline
from timesink.model.trace import DeviceInfo, QualityNote, TraceInfo

MS = 1_000_000

#: What names in traces, paths and arguments may hold.
HOSTILE = (
    "</script><script>window.injected=1</script>",
    "<img src=x onerror=window.injected=1>",
    "<!-- -->]]></style></textarea>",
    '" onmouseover="window.injected=1" x=\'',
    "a\nb\r\tc",
    "line\u2028paragraph\u2029end",
    "lone \ud800 surrogate \udfff",
    "\x00\x07\x1b[31mred\x1b[0m\x9b2J\x7f",
    "\u202eright to left\u2066",
    "&lt;b&gt; &amp; &#x3c;",
    "| pipe ` tick ``` fence * _ [a](javascript:alert(1)) $x$ ~~~",
    "{{ 7 * 7 }}{% raw %}${7*7}",
    "日本語 émoji 🙂",
    "n" * 10_000,
    "",
)


def report(**changes: Any) -> Report:
    """An input-bound run on one GPU: 40 light steps, 12 of them recorded."""
    made = Report(
        title="train-1",
        diagnosis=diagnosis(),
        analysis=analysis(),
        run=run(),
        light=light(40),
        timeline=timeline(),
        artifacts=(("Chrome trace", "timesink_runs/train-1/rank0.trace.json.gz"),),
    )
    return dataclasses.replace(made, **changes)


def diagnosis() -> Diagnosis:
    headline = "Input-bound: 62 % of a step is spent waiting for data."
    verdict = Verdict("input", headline, f"{headline} A step takes 100 ms.", healthy=False)
    finding = Finding(
        rule="input-bound-no-workers",
        number=1,
        title="The training loop loads data itself",
        cost_ns=62 * MS,
        share=0.62,
        evidence=(
            Evidence("_SingleProcessDataLoaderIter: 12 fetches, 62.0 ms each", "enumerate", 12),
            Evidence("num_workers is 0", line="train.py(31): <module>"),
        ),
        advice="Let worker processes load data while the device computes.",
        intervention="num-workers=2",
        caveat="Random augmentations are drawn in another order.",
    )
    return Diagnosis(verdict, (finding,), ("Python lines: `--with-stack`",))


def analysis() -> Analysis:
    return Analysis(
        info=TraceInfo(
            path="rank0.trace.json.gz",
            generation="K3b",
            vendor="nvidia",
            event_count=41_234,
            start_ns=0,
            end_ns=1200 * MS,
            devices=(DeviceInfo(0, "NVIDIA H100", 80 << 30, (9, 0)),),
            record_shapes=True,
        ),
        quality=(
            QualityNote("illegal-escape", "3 events had an illegal escape and were repaired", 3),
            QualityNote("no-stack", "Python stacks were not recorded"),
        ),
        breakdown=breakdown(),
        steps_counted=11,
        usage=(DeviceUsage(0, 900, 2, 1100 * MS, 300 * MS, 800 * MS, 310 * MS, 290 * MS, 0,
                           20 * MS, 0, 10 * MS),),
        idle=(idle(),),
        ops=operators(),
        ranges=(RangeRow("my block", 11, 220 * MS, 150 * MS, 0.2, 20.0 * MS, 25 * MS),),
        kernels=kernels(),
        copies=(CopyRow("HtoD", "Pageable", "Device", 22, 20 * MS, 22 << 20, 2 * MS, 10 * MS, (7,)),
                CopyRow("DtoD", "Device", "Device", 3, MS, 0, MS, 0, (7,))),
        runtime=(RuntimeRow("cudaLaunchKernel", "launch", Phase.FORWARD, "aten::mm", 900, 9 * MS,
                            MS),),
        launches=LaunchStats(900, 0, 925, 900, 0, 0, 0, 9e3, 8e3, 2e4, MS, 300, 100, 6e3, 3e5),
        memory=(memory(),),
        longest_op=LongestEvent("aten::conv2d", 5 * MS, 9 * MS, 3, "[[64, 3, 224, 224]]"),
        longest_self_op=LongestEvent("aten::copy_", 6 * MS, 8 * MS, 3),
        longest_device=LongestEvent("ampere_sgemm_128x64_tn", 7 * MS, 4 * MS, None),
        host_threads=3,
        processes=1,
    )  # fmt: skip


def breakdown() -> Breakdown:
    """12 steps of 100 ms whose owners sum to the wall time."""
    owned = {
        Owner.DEVICE_COMPUTE: 25 * MS,
        Owner.EXPOSED_COPIES: MS,
        Owner.DATA_LOADING: 62 * MS,
        Owner.FORWARD: 7 * MS,
        Owner.BACKWARD: 4 * MS + 999_999,
        Owner.OTHER_PYTHON: 1,
    }
    steps = []
    for i in range(12):
        step = Step(i + 5, i * 100 * MS, (i + 1) * 100 * MS, first=i == 0, in_verdict=i > 0,
                    device_ns=26 * MS, device_rows=75, launches=75)  # fmt: skip
        steps.append(StepBreakdown(step, tuple(owned.get(o, 0) for o in Owner)))
    return Breakdown(tuple(steps), "ProfilerStep", has_device=True)


def idle() -> IdleSummary:
    gap = IdleGap(
        0, 10 * MS, 62 * MS, IdleCause.DATA, "sgemm", "sgemm", "enumerate", "train.py(31)"
    )
    causes = ((IdleCause.DATA, 700 * MS, 11), (IdleCause.LAUNCH, 100 * MS, 300))
    return IdleSummary(0, 800 * MS, 311, causes, (gap,))


def operators() -> tuple[OpRow, ...]:
    rows = [
        OpRow(f"aten::op{i}", Phase.FORWARD if i % 2 else Phase.BACKWARD, 11 * (i + 1),
              (30 - i) * MS, (40 - i) * MS, (20 - i % 20) * MS, (25 - i % 20) * MS, 3 * MS)
        for i in range(30)
    ]  # fmt: skip
    return tuple(rows)


def kernels() -> tuple[KernelRow, ...]:
    long = "void at::native::vectorized_elementwise_kernel<4, at::native::{}Functor<float>, {}>({})"
    names = ["ampere_sgemm_128x64_tn", *(long.format(f, "at::detail::Array<char*, 3>", "int, …")
                                         for f in ("Add", "Mul", "Sub"))]  # fmt: skip
    return tuple(
        KernelRow(name, "compute", 100 + i, (80 - i) * MS, 8e5 - i, 1000, MS, 0.25, (7, 13),
                  None if i == 3 else 12_345.0, "aten::mm")
        for i, name in enumerate(names)
    )  # fmt: skip


def memory() -> MemoryCurve:
    ts = tuple(i * 10 * MS for i in range(120))
    allocated = tuple((1 << 30) + (i % 10) * (64 << 20) for i in range(120))
    reserved = (2 << 30,) * 120
    return MemoryCurve("cuda:0", 4321, ts, allocated, reserved, max(allocated), 2 << 30, 90 * MS, 0)


def run() -> RunRecord:
    fields = (("python.version", "3.11.2"), ("torch.version", "2.13.0"), ("cpu.model", "a CPU"))
    return RunRecord(
        name="train-1",
        command=("train.py", "--epochs", "1"),
        started="2026-01-02T03:04:05+00:00",
        environment=Environment(fields),
        schedule=Schedule(3, 2, 12),
        exit_code=0,
        total_steps=40,
        recorded_steps=12,
        trace_file="rank0.trace.json.gz",
        notes=("The window was closed early",),
        loaders=(LoaderInfo(0, 64, False, False, None, "ImageFolder", 1),),
        optimizers=("SGD",),
    )


def light(count: int) -> LightSteps:
    """Steps of 100 ms; the first takes ten times as long and compiles, 12 are profiled."""
    wall = [100 * MS + (i % 7) * MS for i in range(count)]
    wall[0] = 1000 * MS
    part = tuple(w // 10 for w in wall)
    return LightSteps(
        kind=("train",) * count,
        start_ns=tuple(sum(wall[:i]) for i in range(count)) if count < 2000 else (0,) * count,
        wall_ns=tuple(wall),
        data_ns=tuple(w // 2 for w in wall),
        forward_ns=part,
        backward_ns=part,
        optimizer_ns=part,
        gc_ns=(0,) * count,
        rss=(1 << 30,) * count,
        device_bytes=(0,) * count,
        profiled=tuple(5 <= i < 17 for i in range(count)),
        compiled=tuple(i == 0 for i in range(count)),
        boundary=tuple(i == 30 for i in range(count)),
    )


def timeline(bars: int = 600, seed: int = 1) -> Timeline:
    """A host lane with three levels of nesting, an autograd lane and two streams."""
    names = ("ProfilerStep#5", "aten::conv2d", "aten::mm", "autograd::engine::evaluate_function",
             "ampere_sgemm_128x64_tn", "ncclDevKernel_AllReduce", "cudaLaunchKernel")  # fmt: skip
    categories = ("user_annotation", "cpu_op", "kernel", "cuda_runtime")
    args = ('{"Input Dims": [[64, 3, 224, 224]], "Ev Idx": 7}', '{"stream": 7, "grid": [1, 2, 3]}')
    draw = random.Random(seed)
    host, back, stream, comm = ([] for _ in range(4))  # type: list[list[tuple[int, ...]]]
    step = 100 * MS
    for s in range(12):
        host.append((s * step, step - 1, 0, 0, 0, -1))
    each = max(1, bars // 48)
    slot = step // each
    for s in range(12):
        for k in range(each):
            start = s * step + k * slot
            long = max(3, int(slot * draw.uniform(0.3, 0.9)))
            host += [(start, long, 1, 1, 1, 0), (start + 1, long // 3, 2, 6, 3, -1)]
            back.append((start, long, 0, 3, 1, -1))
            stream.append((start + long // 4, long, 0, 4, 2, 1))
        comm.append((s * step + step // 2, step // 5, 0, 5, 2, 1))
    lanes = (
        _lane("python 1 · thread 1", "thread", host),
        _lane("autograd", "thread", back),
        _lane("H100 · stream 7", "stream", stream),
        _lane("stream 13", "stream", comm),
    )
    steps = tuple((s + 5, s * step, step) for s in range(12))
    return Timeline(0, 12 * step, lanes, names, categories, args, steps, 17)


def _lane(label: str, kind: str, bars: list[tuple[int, ...]]) -> Lane:
    columns = tuple(zip(*sorted(bars), strict=True))
    return Lane(label, kind, *columns)


def hostile(text: str) -> Report:
    """The same report with ``text`` in place of every free text, however deep."""
    return _poisoned(report(), text)


_CLOSED = {"kind", "source", "bound", "severity", "vendor", "generation"}


def _poisoned(value: Any, text: str, field: str = "") -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        changes = {
            f.name: _poisoned(getattr(value, f.name), text, f.name)
            for f in dataclasses.fields(value)
        }
        return dataclasses.replace(value, **changes)
    if isinstance(value, tuple):
        return tuple(_poisoned(v, text, field) for v in value)
    if type(value) is str and field not in _CLOSED:
        return text
    return value
