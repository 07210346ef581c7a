"""Which part of a training step a host row belongs to, and its innermost operator.

Both are handed down the nesting tree, one level at a time. The outermost recognised range wins
(an operator inside ``Optimizer.step#`` is optimizer, one inside a backward function is backward),
see :class:`timesink.model.owners.Phase`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from timesink.analyses.classify import Names
from timesink.model.owners import MARK_CHECKPOINT, MARK_GC, MARK_PREFIX, Phase
from timesink.store.schema import Kind

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Codes = npt.NDArray[np.uint8]

PHASES = list(Phase)
#: Ranges that torch itself or ``timesink run`` puts around parts of a step. Old traces give them
#: the category of operators, but they are none.
STEP_NAMES = r"^ProfilerStep#|^ProfilerStep\*$"
DATA_NAMES = r"^enumerate\(DataLoader\)#|^enumerate\(DataPipe\)#|^DataLoader\.__next__"
OPTIMIZER_NAMES = r"^Optimizer\.(step|zero_grad)#"
#: Before torch 1.10 the engine did not name its own calls: there the nodes themselves are known.
BACKWARD_NAMES = r"^autograd::engine::evaluate_function|^torch::autograd::|^[A-Z]\w*Backward\d*$"
CHECKPOINT_NAMES = rf"^{MARK_CHECKPOINT}"
GC_NAMES = rf"^{MARK_GC}"
RANGE_NAMES = "|".join((STEP_NAMES, DATA_NAMES, OPTIMIZER_NAMES, rf"^{MARK_PREFIX}"))


def kinds(kind: Codes, names: Names) -> Codes:
    """Kinds with torch's own ranges made USER_ANNOTATION and our collection marks made GC."""
    fixed: Codes = kind.copy()
    ranges = names.match(RANGE_NAMES) & (kind == Kind.CPU_OP)
    fixed[ranges] = Kind.USER_ANNOTATION
    fixed[names.match(GC_NAMES) & (fixed == Kind.USER_ANNOTATION)] = Kind.GC
    return fixed


def own_phase(kind: Codes, names: Names) -> Codes:
    """1 + the phase that a row's own name opens, 0 for none."""
    found = np.zeros(len(kind), np.uint8)
    named = kind != Kind.PYTHON
    for phase, pattern in (
        (Phase.DATA, DATA_NAMES),
        (Phase.OPTIMIZER, OPTIMIZER_NAMES),
        (Phase.BACKWARD, BACKWARD_NAMES),
        (Phase.IO, CHECKPOINT_NAMES),
    ):
        found[names.match(pattern) & named] = 1 + PHASES.index(phase)
    return found


def hand_down(parent: Ints, depth: Ints, op: Ints, phase: Codes) -> None:
    """Fill in place: ``op`` from the nearest ancestor that has one, ``phase`` from the outermost.

    ``op`` holds a row's own number where it is an operator, else -1; ``phase`` is ``own_phase``.
    """
    narrow = depth.astype(np.uint16) if depth.max(initial=0) < 2**16 else depth
    order = np.argsort(narrow, kind="stable")
    edges = np.searchsorted(depth[order], np.arange(1, int(depth.max(initial=0)) + 2))
    for low, high in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        rows = order[low:high]
        above = parent[rows]
        op[rows] = np.where(op[rows] < 0, op[above], op[rows])
        phase[rows] = np.where(phase[above] > 0, phase[above], phase[rows])


def final_phase(phase: Codes, op: Ints, autograd: Bools) -> Codes:
    """Indices into ``PHASES``: what no range claims is backward on autograd threads, else forward
    inside an operator, else other."""
    forward, backward, other = (
        PHASES.index(p) for p in (Phase.FORWARD, Phase.BACKWARD, Phase.OTHER)
    )
    rest = np.where(autograd, backward, np.where(op >= 0, forward, other))
    found: Codes = np.where(phase > 0, phase.astype(np.int64) - 1, rest).astype(np.uint8)
    return found


def autograd_tracks(
    track: Ints, parent: Ints, is_op: Bools, is_backward: Bools, is_range: Bools
) -> set[int]:
    """Threads of the autograd engine: most of their outermost operators are backward functions
    and they carry none of the loop's own ranges. The thread with the most other operators is
    never one (backward of a CPU-only job runs on the loop's own thread)."""
    if not len(track):
        return set()
    size = int(track.max()) + 1
    roots = is_op & ~np.append(is_op, False)[parent]
    backward = np.bincount(track[roots & is_backward], minlength=size)
    others = np.bincount(track[roots & ~is_backward], minlength=size)
    ranges = np.bincount(track[is_range], minlength=size)
    found = (backward > others) & (ranges == 0)
    if others.any():
        found[int(np.argmax(others))] = False
    return set(np.flatnonzero(found & (others.sum() > 0)).tolist())
