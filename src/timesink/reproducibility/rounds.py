"""What to try next in a check of reproducibility: one switch more, as long as it helps. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from timesink.model.reproduction import Round, SwitchName

MOST = 6  #: rounds in all


def next_switches(rounds: Sequence[Round]) -> tuple[SwitchName, ...] | None:
    """The switches of the next round; None where the answer is known or nothing is left to try.

    A switch that moves the first difference elsewhere has fixed one cause and stays; one that
    changes nothing, or with which the script fails, is dropped again.
    """
    best, dropped = rounds[0], set[SwitchName]()
    for found in rounds[1:]:
        if found.same:
            return None
        if not found.error and _moved(best, found):
            best, dropped = found, set()
        else:
            dropped |= set(found.switches) - set(best.switches)
    if best.same or best.located is None or len(rounds) >= MOST:
        return None
    untried = (c for c in best.located.candidates if c not in (*best.switches, *dropped))
    switch = next(untried, None)
    return None if switch is None else (*best.switches, switch)


def helpful(rounds: Sequence[Round]) -> tuple[Round, ...]:
    """The first round and those whose switch fixed a cause, in order."""
    kept = [rounds[0]] if rounds else []
    for found in rounds[1:]:
        if found.same or (not found.error and _moved(kept[-1], found)):
            kept.append(found)
    return tuple(kept)


def _moved(before: Round, after: Round) -> bool:
    return _place(before) != _place(after)


def _place(found: Round) -> tuple[object, ...]:
    """Where the runs part, as far as it is the same in each repetition."""
    operator = found.located.operator if found.located is not None else None
    call = (operator.a or operator.b) if operator is not None else None
    if call is not None:
        return call.step, call.name, call.line, call.index if not call.line else 0
    difference = found.difference
    return (difference.step, difference.section) if difference is not None else ()
