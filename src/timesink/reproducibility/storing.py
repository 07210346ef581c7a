"""Step fingerprints, operators and sources as lines of JSON, written as they come.

A line that is damaged (a process that was killed while it wrote) ends the reading: what came before
counts.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields, replace
from typing import Any, TypeVar

from timesink.model.reproducibility import OperatorCall, OperatorRecord, SourceUse, StepPrints

_T = TypeVar("_T")
_CALL = tuple(f.name for f in fields(OperatorCall))
_RECORD = tuple(f.name for f in fields(OperatorRecord) if f.name != "calls")


def step_line(step: StepPrints) -> str:
    """One step."""
    return json.dumps([step.step, step.entries])


def read_steps(lines: Iterable[str]) -> tuple[StepPrints, ...]:
    """The inverse, of all lines."""
    return tuple(_each(lines, _step))


def _step(plain: Any) -> StepPrints:
    number, entries = plain
    return StepPrints(int(number), tuple((str(s), str(p), str(t)) for s, p, t in entries))


def call_line(call: OperatorCall) -> str:
    """One operator."""
    return json.dumps([getattr(call, name) for name in _CALL])


def record_line(record: OperatorRecord) -> str:
    """Everything of a record but its calls."""
    return json.dumps({name: getattr(record, name) for name in _RECORD})


def read_operators(lines: Iterable[str]) -> OperatorRecord:
    """A record from the lines of its calls and, anywhere among them, those of
    :func:`record_line`, of which the last counts."""
    record, calls = OperatorRecord(), []
    for plain in _each(lines, lambda p: p):
        if isinstance(plain, dict):
            record = OperatorRecord(**{k: plain[k] for k in _RECORD if k in plain})
        else:
            calls.append(_call(plain))
    return replace(record, calls=tuple(calls))


def _call(plain: list[Any]) -> OperatorCall:
    values = dict(zip(_CALL, plain, strict=True))
    for name in ("inputs", "outputs", "unwritten"):
        values[name] = tuple((a, b) for a, b in values[name])
    values["made_by"] = tuple(values["made_by"])
    return OperatorCall(**values)


def source_line(use: SourceUse) -> str:
    """One place that takes something from outside."""
    return json.dumps([getattr(use, f.name) for f in fields(SourceUse)])


def read_sources(lines: Iterable[str]) -> tuple[SourceUse, ...]:
    """Every place once, in the order of first use; counts are added up."""
    found: dict[SourceUse, int] = {}
    for use in _each(lines, lambda plain: SourceUse(*plain)):
        key = replace(use, count=1)
        found[key] = found.get(key, 0) + use.count
    return tuple(replace(use, count=count) for use, count in found.items())


def _each(lines: Iterable[str], made: Callable[[Any], _T]) -> Iterator[_T]:
    for line in lines:
        try:
            yield made(json.loads(line))
        except (ValueError, TypeError, KeyError):
            return
