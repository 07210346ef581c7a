"""What ``timesink quick`` prints: environment, Python functions, operators."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from timesink.model.results import OpRow
from timesink.model.run import Environment
from timesink.reports import units
from timesink.reports.document import Column, Table
from timesink.reports.terminal import print_table

_SHOWN = (
    "python.version", "torch.version", "torch.cuda", "os", "cpu.model", "cpu.usable",
    "cpu.threads.torch", "gpu.count", "gpu.0.name",
)  # fmt: skip


def print_quick(
    environment: Environment,
    functions: Sequence[Any],
    operators: Sequence[OpRow],
    notes: Sequence[str],
    limit: int,
    console: Console,
) -> None:
    """``functions`` have name, file, line, calls, self_ns and total_ns."""
    _head("Environment", console)
    for key in _SHOWN:
        value = environment.get(key)
        if value:
            console.print(Text(f"{key:<20} {units.clean(value)}"), highlight=False)
    _head("Python functions, by self time", console)
    columns = (
        Column("function"), Column("calls", "count"), Column("self", "time"),
        Column("total", "time"),
    )  # fmt: skip
    rows = tuple((_where(f), f.calls, f.self_ns, f.total_ns) for f in functions)
    print_table(Table("functions", columns, rows), console, limit)
    _head("Operators, by self CPU time", console)
    device = any(r.device_self_ns for r in operators)
    columns = (
        Column("operator"), Column("phase"), Column("calls", "count"), Column("self CPU", "time"),
        Column("total CPU", "time"), *((Column("self device", "time"),) if device else ()),
    )  # fmt: skip
    values = tuple(
        (r.name, r.phase.value, r.calls, r.cpu_self_ns, r.cpu_total_ns)
        + ((r.device_self_ns,) if device else ())
        for r in operators
    )
    print_table(Table("operators", columns, values), console, limit)
    if not operators:
        console.print("none recorded")
    if notes:
        _head("Notes", console)
    for note in notes:
        console.print(Text(f"- {units.clean(note)}"), highlight=False)


def _where(function: Any) -> str:
    if not function.line:
        return str(function.name)
    return f"{function.file}({function.line}): {function.name}"


def _head(title: str, console: Console) -> None:
    console.print()
    console.print(Text(title, "bold"))
