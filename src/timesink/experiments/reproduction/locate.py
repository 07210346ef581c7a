"""From the first step that differs to its first operator: two runs more, with operators hashed."""

from __future__ import annotations

import linecache
import textwrap
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from timesink.experiments.reproduction.process import (
    all_prints,
    comparable,
    operators,
    prints,
    sources,
)
from timesink.model.reproducibility import (
    OperatorDifference,
    StepDifference,
    StepPrints,
)
from timesink.model.reproduction import Located, ReproProcess, SwitchName
from timesink.reproducibility.evidence import OUTSIDE, candidates, explained, plausible
from timesink.reproducibility.first_difference import (
    differing_generators,
    drawn_generators,
    first_step,
)
from timesink.reproducibility.first_operator import Pair, differing_pairs, own_differences
from timesink.reproducibility.lines import statement
from timesink.reproducibility.sources import suspects

_TRIES = 3
_SOURCES = 5  #: named at most
_LINES = 6  #: of a statement that are shown after its first
_ALL: tuple[SwitchName, ...] = ("seed", "PYTHONHASHSEED", "deterministic")
_UNSEEN = (
    "No operator on the training thread differs: the difference is made in another thread or "
    "process, in a torch.compile region, or by code that writes past torch (NumPy, a C extension)."
)
_GONE = "The difference did not show again with operators hashed: it does not happen in each pair."


class Runner(Protocol):
    """What starts processes; see ``runner.Check``."""

    folder: Path

    def process(
        self, switches: tuple[SwitchName, ...], window: tuple[int, int] | None = None
    ) -> ReproProcess:
        """One process more."""


def located(
    runner: Runner, switches: tuple[SwitchName, ...], difference: StepDifference
) -> Located:
    """The first operator that differs and why. Two runs more may part elsewhere than the first two
    did: then the place is looked at again, a few times."""
    first = last = difference.step
    found = Located(note=_GONE)
    for _ in range(_TRIES):
        pair = [runner.folder / runner.process(switches, (first, last)).name for _ in range(2)]
        again = _first_step(*map(prints, pair))
        if again is None or again.step > last:
            continue
        if again.step < first:
            first = last = again.step
            continue
        found = _judged(pair, switches, first, last)
        if first == 0 or not _from_before(found):
            break
        first = 0  # what this step is given was made before it: from the beginning, then
    return found


def _first_step(a: tuple[StepPrints, ...], b: tuple[StepPrints, ...]) -> StepDifference | None:
    return first_step([comparable(s) for s in a], [comparable(s) for s in b])


def _from_before(found: Located) -> bool:
    """Whether the difference came in from outside of the window, by a way that is not known."""
    return found.operator is None or found.operator.cause in ("data", "number", "order")


def _judged(pair: list[Path], switches: tuple[SwitchName, ...], first: int, last: int) -> Located:
    a, b = map(operators, pair)
    left, right = map(all_prints, pair)
    every = own_differences(a, b, _targets(left, right, last))
    used = dict.fromkeys(replace(u, count=1) for own in pair for u in sources(own))
    if not every:
        full = " The record of operators was full before the step ended." if a.truncated else ""
        rest = tuple(s for s in _ALL if s not in switches)
        return Located(candidates=rest, sources=tuple(used)[:_SOURCES], note=_UNSEEN + full)
    found = every[0]
    step = (found.a or found.b).step if (found.a or found.b) else last  # type: ignore[union-attr]
    differing = differing_generators(left, right, step)
    uses = plausible(tuple(used), differing)
    drawn = drawn_generators(left, right, step)
    named = explained(found, uses, drawn)
    also = [d for d in every[1:] if d.cause == "generator"]
    dials = [candidates(d, a, differing, switches) for d in (named, *also)]
    return Located(
        operator=named,
        code=_code(named),
        sources=suspects(found, uses)[:_SOURCES] if found.cause in OUTSIDE else (),
        generators=drawn,
        candidates=tuple(dict.fromkeys(c for found in dials for c in found)),
    )


def _targets(a: tuple[StepPrints, ...], b: tuple[StepPrints, ...], step: int) -> frozenset[Pair]:
    """What differs in this step, as fingerprints."""
    left, right = ([comparable(s) for s in run if s.step == step] for run in (a, b))
    return differing_pairs(left[0], right[0]) if left and right else frozenset()


def _code(found: OperatorDifference) -> str:
    """The source of the statement, "" if it cannot be read."""
    call = found.a or found.b
    if call is None or not call.line:
        return ""
    file, first, last = statement(call.line)
    lines = [linecache.getline(file, n) for n in range(first, min(last, first + _LINES) + 1)]
    return textwrap.dedent("".join(lines)).rstrip()
