"""Device rows joined to the host calls that launched them, by correlation and External id.

A correlation may be shared by hundreds of device rows (one graph launch), a device row may start
before its launch (two clocks), and it may have no launch in the trace at all: all of them stay.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]


def first_of(keys: Ints, rows: Ints, wanted: Ints) -> Ints:
    """For each ``wanted`` key the first of ``rows`` that has it in ``keys``, or -1.

    ``keys`` and ``rows`` have one length; negative keys mean "none" and match nothing.
    """
    valid = keys >= 0
    keys, rows = keys[valid], rows[valid]
    if not len(keys):
        return np.full(len(wanted), -1, np.int64)
    order = np.argsort(keys, kind="stable")
    sorted_keys = keys[order]
    place = np.minimum(np.searchsorted(sorted_keys, wanted), len(keys) - 1)
    found: Ints = np.where((wanted >= 0) & (sorted_keys[place] == wanted), rows[order[place]], -1)
    return found


def lost_launches(corr: Ints, device_corr: Ints) -> npt.NDArray[np.bool_]:
    """Which launches (by their correlation) led to no device row in the trace."""
    known = np.sort(device_corr)
    place = np.minimum(np.searchsorted(known, corr), max(len(known) - 1, 0))
    found = known[place] == corr if len(known) else np.zeros(len(corr), np.bool_)
    lost: npt.NDArray[np.bool_] = ~found | (corr < 0)
    return lost
