"""What several rules ask of a case: step time, data wait, per-step numbers, rows by name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from statistics import median

from timesink.model.findings import Case, Evidence
from timesink.model.owners import DEVICE_OWNERS, Owner, Phase
from timesink.model.results import Analysis, KernelRow, OpRow, RuntimeRow
from timesink.model.run import LightSteps, LoaderInfo

#: Fewer steps than this make a trend or an average doubtful.
FEW_STEPS = 3
#: Driver allocations in a window without step marks from which they are a habit.
_MANY = 50


def has_light(case: Case) -> bool:
    """Whether the light recorder saw enough train steps to speak for the run."""
    return case.light is not None and len(case.light.steady()) >= FEW_STEPS


def light_step_ns(light: LightSteps) -> float:
    """Median wall time of a steady step, unperturbed by the profiler."""
    steady = light.steady()
    return float(median(light.wall_ns[i] for i in steady)) if steady else 0.0


def step_ns(case: Case) -> float:
    """Wall time of one step: of the trace's verdict steps, else of the light recorder's."""
    if case.analysis is not None and case.analysis.breakdown.mean_step_ns:
        return case.analysis.breakdown.mean_step_ns
    return light_step_ns(case.light) if case.light is not None else 0.0


def per_step(analysis: Analysis, total_ns: float) -> float:
    """A total over the verdict steps as a mean per step."""
    return total_ns / max(1, analysis.steps_counted)


def light_share(light: LightSteps, column: Sequence[int]) -> float:
    """A column's part of the wall time over the steady steps."""
    steady = light.steady()
    wall = sum(light.wall_ns[i] for i in steady)
    return sum(column[i] for i in steady) / wall if wall else 0.0


def data_share(case: Case) -> float:
    """Share of a step spent waiting for data.

    Where device rows exist, from the trace: only waiting that the device does not hide. Else from
    the light recorder, which does not slow the loop down and sees every step.
    """
    a = case.analysis
    if a is not None and a.breakdown.has_device and a.breakdown.device_known:
        return a.breakdown.share(Owner.DATA_LOADING)
    if case.light is not None and has_light(case):
        return light_share(case.light, case.light.data_ns)
    return a.breakdown.share(Owner.DATA_LOADING) if a is not None else 0.0


def loader(case: Case) -> LoaderInfo | None:
    """The DataLoader that was iterated most often (the training one)."""
    if case.run is None or not case.run.loaders:
        return None
    return max(case.run.loaders, key=lambda entry: entry.epochs)


def workers_seen(case: Case) -> bool | None:
    """Whether the training loader has workers: from the record, else from the trace's rows."""
    known = loader(case)
    if known is not None:
        return known.num_workers > 0
    if case.analysis is None or not case.analysis.loaders:
        return None
    return "MultiProcessing" in case.analysis.loaders[0].name


def usable_cores(case: Case) -> int:
    """Cores that the process may use; 0 when unknown."""
    if case.run is None:
        return 0
    for field in ("cpu.usable", "cpu.cores"):
        text = case.run.environment.get(field)
        if text.isdigit():
            return int(text)
    return 0


def better_workers(case: Case) -> int:
    """A number of workers worth trying: one per core but one, at least two, at most eight."""
    cores = usable_cores(case)
    return min(8, max(2, cores - 1)) if cores else 4


def with_workers(case: Case, count: int) -> str:
    """The intervention that gives a loader ``count`` workers. Where the model trains on the same
    cores, its threads are limited to those the workers leave: OpenMP threads that spin for a core
    cost more than they bring (1.0x with two workers on two cores, 1.8x with one thread beside)."""
    cores = usable_cores(case)
    on_device = case.analysis is not None and case.analysis.breakdown.has_device
    text = f"num-workers={count}"
    return text if on_device or not cores else f"{text} + threads={max(1, cores - count)}"


def ops_like(rows: Iterable[OpRow], pattern: str, phase: Phase | None = None) -> list[OpRow]:
    """Operators whose name matches, in one phase or in all."""
    match = re.compile(pattern).match
    return [r for r in rows if match(r.name) and (phase is None or r.phase is phase)]


def kernels_like(rows: Iterable[KernelRow], pattern: str) -> list[KernelRow]:
    """Kernels whose name contains a pattern."""
    search = re.compile(pattern, re.I).search
    return [r for r in rows if search(r.name)]


def device_known(analysis: Analysis | None) -> bool:
    """Whether there are device rows to judge by."""
    return (
        analysis is not None and analysis.breakdown.has_device and analysis.breakdown.device_known
    )


def device_idle_ns(analysis: Analysis) -> float:
    """Time per step without any device row: no host-side cause can cost more than that."""
    parts = analysis.breakdown
    return parts.mean_step_ns * max(0.0, 1 - sum(parts.share(o) for o in DEVICE_OWNERS))


def steady_driver_calls(analysis: Analysis, kind: str) -> list[RuntimeRow]:
    """Driver allocations ("alloc") or frees ("free") that go on in the steady state.

    At least one a step over two steps or more; without step marks, many in the window. Fewer are
    growth at the start or the creation of the context.
    """
    rows = [r for r in analysis.runtime if r.kind == kind and "Host" not in r.name]
    least = _MANY if analysis.breakdown.source == "window" else max(2, analysis.steps_counted)
    if analysis.breakdown.source != "window" and analysis.steps_counted < 2:
        return []
    return rows if sum(r.calls for r in rows) >= least else []


def runtime_evidence(row: RuntimeRow, steps: int) -> Evidence:
    """One group of runtime calls as evidence."""
    per = row.calls / max(1, steps)
    who = f" in {row.op}" if row.op else ""
    where = f" at {row.line}" if row.line else ""
    text = f"{row.name}{who}{where}: {per:.3g} calls and {ms(row.total_ns / max(1, steps))} a step"
    return Evidence(text, row.name, row.calls, row.total_ns, row.line)


def op_evidence(row: OpRow, steps: int) -> Evidence:
    """One group of operators as evidence."""
    per = row.calls / max(1, steps)
    text = f"{row.name}: {per:.4g} calls and {ms(row.cpu_total_ns / max(1, steps))} a step"
    return Evidence(text, row.name, row.calls, row.cpu_total_ns)


def kernel_evidence(row: KernelRow, steps: int) -> Evidence:
    """One group of kernels as evidence."""
    text = (
        f"{row.name[:80]}: {row.calls / max(1, steps):.4g} calls and "
        f"{ms(row.total_ns / max(1, steps))} a step"
    )
    return Evidence(text, row.name, row.calls, row.total_ns)


def ms(ns: float) -> str:
    """A time for a sentence."""
    for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if ns >= size:
            return f"{ns / size:.3g} {unit}"
    return f"{ns:.0f} ns"


def percent(share: float) -> str:
    """A share for a sentence: never 0 % or 100 % unless it is exactly that."""
    if share in (0.0, 1.0):
        return f"{share:.0%}".replace("%", " %")
    return f"{min(99, max(1, round(100 * share)))} %" if share >= 0.005 else "less than 1 %"
