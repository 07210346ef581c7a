"""``--fail-if "step_time > 5%"``: conditions on a comparison, for CI. Pure.

``METRIC OP NUMBER[UNIT]`` with OP one of > >= < <=. A percentage is the relative change of after
against before; with a unit of time or size, or none, it is the absolute change.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from dataclasses import dataclass

from timesink.errors import BadUsage
from timesink.model.comparison import Comparison, Pair, Unit

_GATE = re.compile(r"\s*([a-z_/]+)\s*(>=|<=|>|<)\s*([+-]?\d+(?:\.\d+)?)\s*(%|[a-zA-Zµ]+)?\s*\Z")
_OPERATORS: dict[str, Callable[[float, float], bool]] = {
    ">": operator.gt, ">=": operator.ge, "<": operator.lt, "<=": operator.le,
}  # fmt: skip
_UNITS: dict[str, tuple[Unit, float]] = {
    "ns": ("time", 1.0), "us": ("time", 1e3), "µs": ("time", 1e3), "ms": ("time", 1e6),
    "s": ("time", 1e9), "B": ("bytes", 1.0), "KiB": ("bytes", 2.0**10),
    "MiB": ("bytes", 2.0**20), "GiB": ("bytes", 2.0**30),
}  # fmt: skip
_SMALLEST = {"time": "ns", "bytes": "B"}


@dataclass(frozen=True, slots=True)
class Gate:
    """A condition. ``limit``: a share where ``relative``, else ns, bytes or a count."""

    text: str
    metric: str
    op: str
    limit: float
    relative: bool
    unit: Unit | None


@dataclass(frozen=True, slots=True)
class Checked:
    """A gate with the change that was measured, and whether its condition holds."""

    gate: Gate
    value: float
    holds: bool

    @property
    def text(self) -> str:
        """For a person: ``FAILED: step_time > 5% (it is +7.1 %)``."""
        scale = next((s for u, s in _UNITS.values() if u == self.gate.unit), 1.0)
        shown = f"{self.value:+.2%}" if self.gate.relative else f"{self.value / scale:+,.6g}"
        unit = "" if self.gate.relative or not self.gate.unit else f" {_SMALLEST[self.gate.unit]}"
        word = "FAILED" if self.holds else "passed"
        return f"{word}: {self.gate.text} (it is {shown}{unit})"


def parse(text: str) -> Gate:
    """Raises ``BadUsage`` with the grammar."""
    match = _GATE.match(text)
    if not match:
        raise BadUsage(
            f"--fail-if {text!r} is not a condition.",
            'Write METRIC OP NUMBER, e.g. "step_time > 5%" or "peak_memory > 100MiB".',
        )
    metric, op, number, unit = match.groups()
    if unit == "%":
        return Gate(text.strip(), metric, op, float(number) / 100, True, None)
    if unit is not None and unit not in _UNITS:
        known = ", ".join(["%", *_UNITS])
        raise BadUsage(f"--fail-if {text!r} has no known unit.", f"Units are {known}.")
    kind, scale = _UNITS[unit] if unit else (None, 1.0)
    return Gate(text.strip(), metric, op, float(number) * scale, False, kind)


def check(gate: Gate, comparison: Comparison) -> Checked:
    """Apply it. An unknown metric or value raises ``BadUsage``: a gate never passes by accident."""
    pair = comparison.find(gate.metric)
    if pair is None:
        names = ", ".join(p.name for p in (comparison.step, *comparison.numbers))
        raise BadUsage(f"--fail-if: there is no metric {gate.metric}.", f"There are {names}.")
    if gate.unit is not None and gate.unit != pair.unit:
        raise BadUsage(
            f"--fail-if: {gate.metric} is not measured in the unit of {gate.text!r}.",
            f"It is a {pair.unit}; % always works.",
        )
    value = _value(gate, pair)
    if value is None:
        raise BadUsage(
            f"--fail-if: {gate.metric} is unknown on one side, so {gate.text!r} cannot be checked.",
            "Choose a metric that both sides have.",
        )
    return Checked(gate, value, _OPERATORS[gate.op](value, gate.limit))


def _value(gate: Gate, pair: Pair) -> float | None:
    if not gate.relative:
        return pair.delta
    if pair.before == 0 and pair.after is not None:
        return 0.0 if pair.after == 0 else float("inf")
    return pair.change
