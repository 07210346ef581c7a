"""From the first step that differs to its first operator: two runs more, with operators hashed."""

from __future__ import annotations

import linecache
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from timesink.experiments.reproduction.process import all_prints, operators, prints, sources
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
    first_operator,
    first_step,
)
from timesink.reproducibility.sources import suspects

_TRIES = 3
_SOURCES = 5  #: named at most
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
    from timesink.experiments.reproduction.runner import comparable

    return first_step([comparable(s) for s in a], [comparable(s) for s in b])


def _from_before(found: Located) -> bool:
    """Whether the difference came in from outside of the window, by a way that is not known."""
    return found.operator is None or found.operator.cause in ("data", "number", "order")


def _judged(pair: list[Path], switches: tuple[SwitchName, ...], first: int, last: int) -> Located:
    a, b = map(operators, pair)
    left, right = map(all_prints, pair)
    found = first_operator(a, b)
    used = dict.fromkeys(replace(u, count=1) for own in pair for u in sources(own))
    if found is None:
        full = " The record of operators was full before the step ended." if a.truncated else ""
        rest = tuple(s for s in _ALL if s not in switches)
        return Located(candidates=rest, sources=tuple(used)[:_SOURCES], note=_UNSEEN + full)
    step = (found.a or found.b).step if (found.a or found.b) else last  # type: ignore[union-attr]
    differing = differing_generators(left, right, step)
    uses = plausible(tuple(used), differing)
    drawn = drawn_generators(left, right, step)
    named = explained(found, uses, drawn)
    return Located(
        operator=named,
        code=_code(named),
        sources=suspects(found, uses)[:_SOURCES] if found.cause in OUTSIDE else (),
        generators=drawn,
        candidates=candidates(named, a, differing, switches),
    )


def _code(found: OperatorDifference) -> str:
    """The source line, "" if it cannot be read."""
    call = found.a or found.b
    file, _, rest = (call.line if call is not None else "").rpartition(":")
    number = rest.split(" ")[0]
    return linecache.getline(file, int(number)).strip() if number.isdigit() else ""
