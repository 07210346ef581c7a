"""What to run next, and what the processes so far say. Pure: an experiment in, an answer out."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, replace
from statistics import median

from timesink.experiments import stats
from timesink.experiments.equivalence import equivalence
from timesink.model.experiments import (
    Arm,
    Design,
    Experiment,
    Interval,
    Observation,
    Outcome,
    Purpose,
    Speed,
)

_LEAST, _MOST = 8, 400  #: timed steps of one process
_ARMS: tuple[Arm, ...] = ("A", "B")
_EXTRA = 2  #: for the warm-up
#: Beyond it, an interval that holds 1 says nothing: too noisy.
_TELLS_NOTHING = 0.05
#: Ends of an interval further apart than this ratio are not worth printing.
_NOTHING = 4.0
#: Cores that other programs may use before they are blamed for the noise.
_BUSY = 0.2


@dataclass(frozen=True, slots=True)
class Job:
    """The next process."""

    arm: Arm
    purpose: Purpose


def next_job(e: Experiment) -> Job | None:
    """Checks, then pairs until the answer is precise enough or the budget is spent, then one
    profiled run of each arm. None: there is nothing left to do."""
    for arm in _ARMS:
        checks = e.of(arm, "check")
        if not checks:
            return Job(arm, "check")
        if checks[-1].error or unapplied(e):
            return None
    if any(o.error and o.purpose != "profile" for o in e.observations):
        return None
    timed = len(e.of("A", "timed")) + len(e.of("B", "timed"))
    if timed % 2 or _another_pair(e):
        return Job(order(e.design.seed, timed // 2)[timed % 2], "timed")
    if e.design.profile:
        for arm in _ARMS:
            if not e.of(arm, "profile"):
                return Job(arm, "profile")
    return None


def order(seed: int, pair: int) -> tuple[Arm, Arm]:
    """ABBA or BAAB, at random for every two pairs: a drift of the machine cancels."""
    first: tuple[Arm, Arm] = ("A", "B")
    if random.Random(seed * 1009 + pair // 2).random() < 0.5:
        first = ("B", "A")
    return first if pair % 2 == 0 else (first[1], first[0])


def _another_pair(e: Experiment) -> bool:
    pairs, design = len(timed_pairs(e)), e.design
    if pairs >= design.max_pairs:
        return False
    if pairs >= design.min_pairs and precise(_ratio(e), design.precision):
        return False
    past = [o.seconds for o in e.observations if o.purpose != "profile"]
    reserve = 2 * max(past) if design.profile else 0.0
    return e.spent_s + 2 * median(past) + reserve <= design.budget_s


def precise(found: Interval | None, precision: float) -> bool:
    """Whether the interval is narrow enough, by itself or beside the effect."""
    if found is None:
        return False
    return found.half <= precision or found.half <= abs(found.estimate - 1) / 4


def timed_steps(check: Observation, design: Design) -> int:
    """How many train steps each timed process takes: about ``design.seconds`` of them."""
    if design.steps:
        return design.steps
    step = check.typical_ns or 1e9
    return min(_MOST, max(_LEAST, math.ceil(design.seconds * 1e9 / step))) + check.warmup + _EXTRA


def unapplied(e: Experiment) -> str:
    """A sentence if a change took no effect in the candidate's check run."""
    for o in e.of("B", "check"):
        for effect in o.effects:
            if effect.count == 0 and effect.name not in e.design.base and not o.error:
                return f"{effect.name} did not take effect: {effect.text}."
    return ""


def timed_pairs(e: Experiment) -> list[tuple[Observation, Observation]]:
    """Timed processes (A, B), in the order they ran."""
    return list(zip(e.of("A", "timed"), e.of("B", "timed"), strict=False))


def value(o: Observation, measure: str) -> float:
    """The step time of one process that is compared."""
    return o.mean_ns if measure == "mean" else o.typical_ns


def blocks(o: Observation, measure: str) -> tuple[float, ...]:
    """What is resampled within a process; a mean over everything is one value."""
    scale = math.prod(effect.scale for effect in o.effects)
    values = (o.mean_ns,) if measure == "mean" else o.block_ns
    return tuple(v / scale for v in values if v > 0)


def _ratio(e: Experiment) -> Interval | None:
    measure = e.design.change.measure
    pairs = [(blocks(a, measure), blocks(b, measure)) for a, b in timed_pairs(e)]
    return stats.ratio([p for p in pairs if all(p)], e.design.seed)


def judged(e: Experiment) -> Experiment:
    """The experiment with its verdicts, from whatever has run so far."""
    checks = (*e.of("A", "check"), *e.of("B", "check"))
    same = None
    if len(checks) == 2 and not any(o.error for o in checks) and not unapplied(e):
        same = equivalence(checks[0], checks[1], e.of("A", "timed"), e.design.change)
    return replace(e, speed=_speed(e), equivalence=same)


def _speed(e: Experiment) -> Speed:
    measured = (*e.of("B", "check"), *e.of("B", "timed"))
    broken = next((o for o in measured if o.error), None)
    if broken is not None:
        return Speed("failed", f"The changed script failed: {broken.error}")
    if unapplied(e):
        return Speed("not applied", unapplied(e))
    pairs, measure = timed_pairs(e), e.design.change.measure
    if not pairs:
        return Speed("too noisy", _too_few(e))
    found = _ratio(e)
    own = stats.itself([b for o in e.of("A", "timed") if (b := blocks(o, measure))], e.design.seed)
    before = median([value(a, measure) for a, _ in pairs])
    after = median([value(b, measure) for _, b in pairs])
    others = median(o.others or 0.0 for pair in pairs for o in pair)
    outcome, text = verdict(found, e.design, others) if found else ("too noisy", _too_few(e))
    if found and measure == "mean" and all(o.epochs <= 1 for pair in pairs for o in pair):
        text += ". No second epoch began in the timed steps, so its start is not in this: --steps"
    return Speed(outcome, text, found, own, len(pairs), before, after)


def _too_few(e: Experiment) -> str:
    """Why there is no number yet, and what one would take."""
    longest = max((o.seconds for o in e.observations), default=0.0)
    need = math.ceil(10 * longest / 60)
    return (
        f"not measured: a run takes {longest:.0f} s, so the budget of {e.design.budget_s:.0f} s is "
        f"spent before two of each can be compared. Use --budget {need}m."
    )


def verdict(found: Interval, design: Design, others: float = 0.0) -> tuple[Outcome, str]:
    """One of: faster, slower, no difference found, too noisy; with the numbers. ``others``: cores
    that other programs kept busy."""
    per = " per sample" if design.change.numerics == "training" else ""
    if found.low > 1:
        return "faster", f"{times(found.estimate)} faster{per} {span(found.low, found.high)}"
    if found.high < 1:
        low, high = 1 / found.high, 1 / found.low
        return "slower", f"{times(1 / found.estimate)} slower{per} {span(low, high)}"
    widest = max(1 / found.low - 1, found.high - 1)
    if widest <= _TELLS_NOTHING:
        percent = math.ceil(1000 * widest) / 10
        return "no difference", f"no difference found{per} (smaller than {percent:g} %)"
    told = f"anything between {times(found.low)} and {times(found.high)}"
    if found.high > _NOTHING * found.low:
        told = "the runs differ too much from one another to say anything"
    return "too noisy", f"too noisy: {told}. {_remedy(others)}"


def _remedy(others: float) -> str:
    more = "give it more time (--budget) and longer processes (--seconds)"
    if others < _BUSY:
        return f"Close other programs, or {more}."
    return f"Other programs kept {others:.1f} cores busy meanwhile: stop them, or {more}."


def times(value: float) -> str:
    """``1.31×``; more digits where it is close to 1."""
    return f"{value:.3f}×" if abs(value - 1) < 0.05 else f"{value:.2f}×"


def span(low: float, high: float) -> str:
    """``[1.27, 1.36]``."""
    digits = 3 if abs(low - 1) < 0.05 else 2
    return f"[{low:.{digits}f}, {high:.{digits}f}]"
