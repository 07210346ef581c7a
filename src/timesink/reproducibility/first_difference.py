"""Where two runs part: the first step, and which generators may be behind it.

Pure functions of the fingerprints of steps; operators: ``first_operator``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import zip_longest

from timesink.model.reproducibility import (
    SECTIONS,
    StepDifference,
    StepPrints,
)


def first_step(a: Sequence[StepPrints], b: Sequence[StepPrints]) -> StepDifference | None:
    """The first step that differs, or None if all agree and there are as many of them."""
    for x, y in zip_longest(a, b):
        if x is None or y is None:
            return StepDifference((x or y).step, ended=True)
        where = tuple(_sections(x, y))
        if where:
            return StepDifference(x.step, where)
    return None


def _sections(x: StepPrints, y: StepPrints) -> list[tuple[str, str]]:
    """(section, path) of all that differs, in the order in which a step makes it."""
    names = dict.fromkeys(s for s, _, _ in (*x.entries, *y.entries))
    order = [s for s in SECTIONS if s in names] + [s for s in names if s not in SECTIONS]
    found = []
    for section in order:
        left, right = x.of(section), y.of(section)
        paths = dict.fromkeys([*left, *right])
        found += [(section, p) for p in paths if left.get(p) != right.get(p)]
    return found


def drawn_generators(
    a: Sequence[StepPrints], b: Sequence[StepPrints], step: int
) -> tuple[str, ...]:
    """The global generators ("python", "numpy", "torch-cpu", …) that the program draws from in
    this step and whose states differ between the runs: where unseeded numbers come from.

    It takes the states at the start of this step and of the next; a generator that is merely not
    seeded differs too, but does not advance.
    """
    found = []
    for name in dict.fromkeys(re.split(r"[.\[]", path)[0] for path in _states(a, step)):
        starts = [_of_generator(_states(run, step), name) for run in (a, b)]
        ends = [_of_generator(_states(run, step + 1), name) for run in (a, b)]
        advanced = any(end and start != end for start, end in zip(starts, ends, strict=True))
        seeded = bool(ends[0]) and ends[0] == ends[1]  # by the program, within the step
        if starts[0] != starts[1] and advanced and not seeded:
            found.append(name)
    return tuple(found)


def differing_generators(
    a: Sequence[StepPrints], b: Sequence[StepPrints], step: int
) -> tuple[str, ...]:
    """The global generators whose states differ at the end of this step (where that is not known,
    at its start), drawn from or not."""
    left, right = _states(a, step + 1), _states(b, step + 1)
    if not left or not right:
        left, right = _states(a, step), _states(b, step)
    paths = [p for p in dict.fromkeys([*left, *right]) if left.get(p) != right.get(p)]
    return tuple(dict.fromkeys(re.split(r"[.\[]", path)[0] for path in paths))


def _states(run: Sequence[StepPrints], step: int) -> dict[str, str]:
    return next((s.of("generators") for s in run if s.step == step), {})


def _of_generator(states: dict[str, str], name: str) -> dict[str, str]:
    return {p: t for p, t in states.items() if p == name or p.startswith((f"{name}.", f"{name}["))}
