"""Names where a difference came from that no torch operator made: what was seen in the program.

Pure functions: the first differing operator, the places of the program that take something from
outside, and the global generators whose states differ, in; a named cause and the switches that are
worth trying, out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from timesink.model.reproducibility import (
    Cause,
    OperatorDifference,
    OperatorRecord,
    SourceUse,
)
from timesink.model.reproduction import SwitchName
from timesink.reproducibility.sources import GLOBAL_RANDOM, closeness, suspects

#: Causes that say no more than that it came from outside of torch.
OUTSIDE: tuple[Cause, ...] = ("data", "number", "order", "clock", "process id")

#: torch's own generators are not among them: a draw from those is an operator.
_GENERATORS = {
    "python": "Python's global random",
    "numpy": "NumPy's global generator",
}
_CAUSES: dict[str, Cause] = {
    "generator": "generator", "entropy": "entropy", "process id": "process id", "hash": "hash",
    "file order": "file order", "address": "address", "clock": "clock",
}  # fmt: skip
_ADVICE = {
    "generator": "Give it a seed.",
    "entropy": "Take a seeded generator there.",
    "process id": "Take the process id out of what is computed.",
    "file order": "The order of files is the file system's: sort them.",
    "hash": "Start Python with PYTHONHASHSEED=0, or sort, or take hashlib's hashes.",
    "address": "An address differs in each process: number the objects instead.",
    "clock": "Take the time out of what is computed.",
}


def plausible(uses: Sequence[SourceUse], differing: Sequence[str]) -> tuple[SourceUse, ...]:
    """The uses that can differ at all: draws from Python's global generator only where its state
    does; workers of a loader seed theirs from torch's."""
    return tuple(
        u for u in uses if u.name != GLOBAL_RANDOM or ("python" in differing and not u.in_worker)
    )


def explained(
    found: OperatorDifference, uses: Sequence[SourceUse], drawn: Sequence[str]
) -> OperatorDifference:
    """The difference with its cause named, where the evidence is good enough.

    ``uses``: see :func:`plausible`; ``drawn``: global generators that are drawn from in the step
    and differ.
    """
    if found.cause not in OUTSIDE:
        return found
    near = [u for u in suspects(found, tuple(uses)) if closeness(found, u) == 0]
    if near:
        return _named(found, near[0])
    names = [n for n in drawn if n in _GENERATORS]
    if names:
        return _drawn(found, names[0], uses)
    return found


def _named(found: OperatorDifference, use: SourceUse) -> OperatorDifference:
    where = f", called in a worker process from {use.line}" if use.in_worker else ""
    text = f"{given(found)}: it comes from {use.name}{where}."
    if use.name == GLOBAL_RANDOM:
        return _drawn(found, "python", (use,))
    dial = "PYTHONHASHSEED" if use.kind == "hash" else ""
    return replace(
        found, cause=_CAUSES[use.kind], text=text, dial=dial, advice=_ADVICE[use.kind]
    )  # fmt: skip


def _drawn(found: OperatorDifference, name: str, uses: Sequence[SourceUse]) -> OperatorDifference:
    lines = [u.line for u in suspects(found, tuple(uses)) if u.name == GLOBAL_RANDOM]
    where = f" at {lines[0]}" if name == "python" and lines else ""
    text = f"{given(found)}: it is drawn from {_GENERATORS[name]}{where}, which has no fixed seed."
    advice = "Seed it before the first draw: timesink.seed_everything(0)."
    return replace(found, cause="generator", text=text, dial="seed", advice=advice)


def given(found: OperatorDifference) -> str:
    """ "aten.add.Tensor is given another other in each run (0.1 and 0.7)"."""
    head, _, _ = found.text.partition(", and no torch operator")
    return head.partition(": ")[0] if found.cause != "order" else head.rstrip(".")


def candidates(
    found: OperatorDifference,
    record: OperatorRecord,
    differing: Sequence[str],
    on: Sequence[SwitchName],
) -> tuple[SwitchName, ...]:
    """Switches that may make the runs agree, the likeliest first. Where the cause is named, the
    one for it; else all that are not turned yet and could matter."""
    if found.dial:
        first: list[SwitchName] = [_SWITCHES[found.dial]]
    else:
        first = []
    if found.cause in ("data", "number", "order"):
        first += [] if record.hash_seed else ["PYTHONHASHSEED"]
        first += ["seed"] if differing else []
    return tuple(s for s in dict.fromkeys(first) if s not in on)


_SWITCHES: dict[str, SwitchName] = {
    "seed": "seed",
    "PYTHONHASHSEED": "PYTHONHASHSEED",
    "deterministic": "deterministic",
    "threads": "threads",
}


def confirmed(found: OperatorDifference, switch: SwitchName) -> OperatorDifference:
    """A cause that was open until a switch made the runs agree."""
    if found.cause not in ("data", "number", "order"):
        return found
    if switch == "PYTHONHASHSEED":
        return replace(
            found,
            cause="hash",
            text=f"{given(found)}: the order of a set, or a hash of text, which Python changes in "
            "each process.",
            dial=switch,
            advice=_ADVICE["hash"],
        )
    if switch == "seed":
        text = f"{given(found)}: it depends on a global generator that has no fixed seed."
        advice = "Seed it before the first draw: timesink.seed_everything(0)."
        return replace(found, cause="generator", text=text, dial=switch, advice=advice)
    return found
