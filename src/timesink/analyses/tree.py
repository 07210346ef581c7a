"""Walks over the forest of host rows, given as one array of parents (-1: a root)."""

from __future__ import annotations

import numpy as np

from timesink.analyses.scope import Bools, Ints


def outermost(group: Ints, parent: Ints) -> Bools:
    """Rows of a group (>= 0) without an ancestor of the same group.

    Totals over these count a recursive call once.
    """
    inside = np.zeros(len(group), bool)
    rows = np.flatnonzero(group >= 0)
    above = parent[rows]
    while len(rows):
        real = above >= 0
        rows, above = rows[real], above[real]
        same = group[above] == group[rows]
        inside[rows[same]] = True
        rows, above = rows[~same], parent[above[~same]]
    return (group >= 0) & ~inside


def subtree_sums(rows: Ints, values: Ints, parent: Ints) -> Ints:
    """Per row of the forest: the sum of ``values`` at it and everywhere below it.

    ``values[i]`` belongs to row ``rows[i]`` (-1: to none, not counted).
    """
    sums = np.zeros(len(parent), np.int64)
    own = np.zeros(len(parent), np.int64)
    known = rows >= 0
    np.add.at(own, rows[known], values[known])
    rows = np.flatnonzero(own)
    values = own[rows]
    while len(rows):
        np.add.at(sums, rows, values)
        rows = parent[rows]
        values, rows = values[rows >= 0], rows[rows >= 0]
    return sums


def nearest(wanted: Bools, parent: Ints) -> Ints:
    """Per row: itself if wanted, else its nearest wanted ancestor, else -1."""
    none = len(parent)
    up = np.where(wanted, np.arange(none), np.where(parent >= 0, parent, none))
    up = np.append(up, none)
    while True:  # each round doubles how far a row looks
        further = up[up]
        if np.array_equal(further, up):
            return np.where(up[:none] == none, -1, up[:none])
        up = further
