"""Where two runs part within a step: the first operator that differs on its own, with its cause.

Pure functions of two records. An operator differs on its own if its outputs differ and its inputs
do not, or if they do and no earlier operator made the difference: then it came from outside of
torch's operators (data, numbers, random draws of Python or NumPy). An operator whose outputs agree
although its inputs do not (a buffer that is overwritten) is none.

Several may differ on their own, and some without effect (a time that is only printed). So the first
one is taken whose result, by way of the memory it was written to, gets into a module, a backward
pass or one of the numbers that are known to differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import zip_longest

from timesink.model.reproducibility import (
    OperatorCall,
    OperatorDifference,
    OperatorRecord,
    StepPrints,
)
from timesink.reproducibility import causes

Pair = tuple[str, str]  # the fingerprints of one thing in either run


def first_operator(
    a: OperatorRecord, b: OperatorRecord, targets: AbstractSet[Pair] = frozenset()
) -> OperatorDifference | None:
    """The operator in which the runs part, or None if all calls agree.

    ``targets``: see :func:`differing_pairs`. A record that was cut short is compared as far as both
    go.
    """
    return next(iter(own_differences(a, b, targets)), None)


def own_differences(
    a: OperatorRecord, b: OperatorRecord, targets: AbstractSet[Pair] = frozenset(), most: int = 5
) -> tuple[OperatorDifference, ...]:
    """The operators that differ on their own: those with an effect first, then as called."""
    calls, parted = _aligned(a, b)
    flow = _flow(calls)
    reaching = _reaching(calls, flow, targets)
    own = [i for i, f in enumerate(flow) if f.own]
    own.sort(key=lambda i: not reaching[i])
    found = tuple(_explain(*calls[i], flow[i].names, a, b) for i in own[:most])
    if parted is not None and not any(reaching[i] for i in own):
        found += (causes.of_order(*parted, a, b),)
    return found


def differing_pairs(a: StepPrints, b: StepPrints) -> frozenset[Pair]:
    """The fingerprints of all that differs in a step."""
    left = {(s, p): text for s, p, text in a.entries}
    right = {(s, p): text for s, p, text in b.entries}
    return frozenset((left[k], right[k]) for k in left if k in right and left[k] != right[k])


Calls = list[tuple[OperatorCall, OperatorCall]]


def _aligned(
    a: OperatorRecord, b: OperatorRecord
) -> tuple[Calls, tuple[OperatorCall | None, OperatorCall | None] | None]:
    """The calls of both as long as they are the same operators, and the first that are not."""
    calls: Calls = []
    for x, y in zip_longest(a.calls, b.calls):
        if x is None or y is None:
            return calls, None if a.truncated or b.truncated else (x, y)
        if x.name != y.name or len(x.inputs) != len(y.inputs):
            return calls, (x, y)
        calls.append((x, y))
    return calls, None


@dataclass(frozen=True, slots=True)
class _Flow:
    """Of one call: whether it differs, on its own; the inputs whose difference no operator made;
    the calls that made that of the others."""

    differs: bool = False
    own: bool = False
    names: tuple[str, ...] = ()
    sources: tuple[int, ...] = ()


def _flow(calls: Calls) -> list[_Flow]:
    flow: list[_Flow] = []
    made: dict[Pair, int] = {}  # a number that became Python's and came back
    for i, (x, y) in enumerate(calls):
        if x.outputs == y.outputs:
            flow.append(_Flow())
            continue
        names, sources = [], []
        for n, ((name, left), (_, right)) in enumerate(zip(x.inputs, y.inputs, strict=True)):
            if left == right:
                continue
            writer = x.made_by[n] if n < len(x.made_by) else -1
            known = 0 <= writer < i and flow[writer].differs
            source = writer if known else made.get((left, right), -1)
            if source < 0:
                names.append(name)
                made[left, right] = i  # where it comes up again, it is the same number
            else:
                sources.append(source)
        drawn = bool(x.generator) and x.generator_state != y.generator_state
        own = bool(names) or not sources or drawn
        flow.append(_Flow(True, own, tuple(names), tuple(sources)))
        made.update(dict.fromkeys(_pairs(x.outputs, y.outputs), i))
    return flow


def _pairs(left: Sequence[tuple[str, str]], right: Sequence[tuple[str, str]]) -> set[Pair]:
    both = zip(left, right, strict=False)
    return {(m, n) for (_, m), (_, n) in both if m != n}


def _reaching(calls: Calls, flow: list[_Flow], targets: AbstractSet[Pair]) -> list[bool]:
    """Whether the difference of each call gets into the training."""
    reaching = [False] * len(calls)
    for i in range(len(calls) - 1, -1, -1):
        x, y = calls[i]
        if not flow[i].differs:
            continue
        if not reaching[i]:
            outputs = {(_plain(m), _plain(n)) for m, n in _pairs(x.outputs, y.outputs)}
            reaching[i] = bool(x.module) or x.backward or not targets.isdisjoint(outputs)
        if reaching[i]:
            for source in flow[i].sources:
                reaching[source] = True
    return reaching


def _plain(text: str) -> str:
    """A fingerprint without the numbers that are shown beside it."""
    return text.partition(" = ")[0]


def _explain(
    x: OperatorCall, y: OperatorCall, names: tuple[str, ...], a: OperatorRecord, b: OperatorRecord
) -> OperatorDifference:
    drawn = bool(x.generator) and x.generator_state != y.generator_state
    if drawn and not names:
        return causes.of_generator(x, y)
    if x.unwritten and (not names or set(names) & {n for n, _ in x.unwritten}):
        return causes.of_memory(x, y, names, a.compiled)
    if names:
        return causes.of_inputs(x, y, names, a, b)
    return causes.of_kernel(x, y, a, b)
