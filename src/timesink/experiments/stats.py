"""From the step times of paired processes to a ratio with a confidence interval. Pure.

The unit that repeats independently is the process, not the step: memory layout, clocks and
neighbours differ from one to the next. So processes run in pairs (A B, B A, …), each gives one
number, and the ratio is the geometric mean over pairs.

Its standard error is a hierarchical bootstrap: pairs are drawn with replacement and, within each
process, blocks of consecutive steps. With few pairs a bootstrap percentile interval is too narrow
(with four it can only be right 7 times in 8), so the interval is the *bootstrap t interval*:
estimate ± t(pairs − 1) × bootstrap standard error × sqrt(n / (n − 1)), on the logarithm. Source:
T. Hesterberg, "What Teachers Should Know About the Bootstrap", The American Statistician 69 (2015).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from timesink.model.experiments import Interval

Blocks = Sequence[float]
_ROUNDS = 2000
_CONFIDENCE = 0.95
#: Student's t for 97.5 %, 1 to 9 degrees of freedom; above, the expansion below is exact to 0.001.
_T = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262)


def student_t(freedom: int) -> float:
    """The 97.5 % quantile of Student's t (Cornish–Fisher expansion from 10 degrees of freedom)."""
    if freedom < 1:
        return math.inf
    if freedom <= len(_T):
        return _T[freedom - 1]
    z = NormalDist().inv_cdf((1 + _CONFIDENCE) / 2)
    first = (z**3 + z) / (4 * freedom)
    second = (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * freedom**3)
    return z + first + second + third


def ratio(pairs: Sequence[tuple[Blocks, Blocks]], seed: int = 0) -> Interval | None:
    """Before divided by after, from (blocks of A, blocks of B) of each pair: 1.3 says that B is
    1.3 times faster. None with fewer than two pairs."""
    if len(pairs) < 2:
        return None
    logs = np.array([_log(a) - _log(b) for a, b in pairs])
    rng = np.random.default_rng(seed)
    drawn = rng.integers(0, len(pairs), size=(_ROUNDS, len(pairs)))
    within = np.stack([_resampled(a, rng) - _resampled(b, rng) for a, b in pairs])
    rounds = np.arange(_ROUNDS)[:, None]
    error = float(within[drawn, rounds].mean(axis=1).std())
    count = len(pairs)
    half = student_t(count - 1) * error * math.sqrt(count / (count - 1))
    middle = float(logs.mean())
    return Interval(math.exp(middle), math.exp(middle - half), math.exp(middle + half))


def _log(blocks: Blocks) -> float:
    return math.log(float(np.median(np.asarray(blocks))))


def _resampled(blocks: Blocks, rng: np.random.Generator) -> NDArray[np.float64]:
    """Logarithms of the median of resampled blocks, one per round."""
    values = np.asarray(blocks, dtype=np.float64)
    chosen = rng.integers(0, len(values), size=(_ROUNDS, len(values)))
    return np.asarray(np.log(np.median(values[chosen], axis=1)))


def itself(before: Sequence[Blocks], seed: int = 0) -> Interval | None:
    """The script against itself: its processes in pairs of neighbours. The noise floor."""
    pairs = list(zip(before[0::2], before[1::2], strict=False))
    return ratio(pairs, seed)
