"""Which steps of a process count, and what one of them takes: stated rules, pure functions.

*Warm-up* are the first three train steps, everything up to the last step of the first half in which
a compiler ran, and the steps before the first from which five in a row have a median within 10 % of
the median of the second half. *Steady* steps are the train steps after it (all steps where nothing
trains), without those in which a compiler ran.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from timesink.model.run import LightSteps

_FIRST = 3
_RUN = 5
_NEAR = 0.10
#: Blocks of this many steps: steps of one process are not independent, and loader workers deliver
#: in bursts as long as their number, so that the median of single steps can miss the waiting.
BLOCK = 8


@dataclass(frozen=True, slots=True)
class Steady:
    """Steady steps of one process: indices into the light steps, and their numbers in ns."""

    indices: tuple[int, ...]
    warmup: int
    block_ns: tuple[float, ...]
    typical_ns: float
    median_ns: float
    mean_ns: float
    compile_ns: float


def steady(light: LightSteps, block: int = BLOCK) -> Steady:
    """Apply the rules; all numbers are 0 where there are no steady steps."""
    kinds = [i for i, k in enumerate(light.kind) if k == "train"] or list(range(len(light)))
    walls = [light.wall_ns[i] for i in kinds]
    compiled = [light.compiled[i] for i in kinds]
    warm = warm_up(walls, compiled)
    # A compiler that runs later (a last batch of another size, each epoch) spoils single steps.
    late = [i for i in range(warm, len(kinds)) if not compiled[i]]
    chosen = tuple(kinds[i] for i in late)
    if not chosen:
        return Steady((), warm, (), 0.0, 0.0, 0.0, 0.0)
    steady_walls = [walls[i] for i in late]
    blocks = block_means(steady_walls, block)
    typical = median(blocks)
    first, last = chosen[0], chosen[-1]
    span = light.start_ns[last] + light.wall_ns[last] - light.start_ns[first]
    extra = sum(w - typical for w, c in zip(walls, compiled, strict=True) if c)
    return Steady(
        chosen, warm, blocks, typical, float(median(steady_walls)), span / len(chosen),
        max(0.0, extra),
    )  # fmt: skip


def warm_up(walls: Sequence[int], compiled: Sequence[bool]) -> int:
    """How many of the first steps do not count (all of them where none would remain)."""
    half = len(walls) // 2
    last = max((i for i, c in enumerate(compiled[:half]) if c), default=-1)
    start = max(_FIRST, last + 1)
    rest = [w for w, c in zip(walls[half:], compiled[half:], strict=True) if not c]
    if not rest:
        return len(walls)
    level = median(rest)
    for k in range(start, len(walls) - _RUN):
        if abs(median(walls[k : k + _RUN]) - level) <= _NEAR * level:
            return k
    return min(start, len(walls))


def block_means(values: Sequence[float], block: int) -> tuple[float, ...]:
    """Means over whole blocks of consecutive values; what does not fill one at the end joins the
    last. Fewer values than a block make one."""
    count = max(1, len(values) // block)
    edges = [k * block for k in range(count)] + [len(values)]
    return tuple(sum(values[a:b]) / (b - a) for a, b in pairwise(edges) if b > a)
