"""What an intervention is, and how it says what it did.

One file per intervention defines one :class:`Kind`. ``install`` runs inside the measured process,
right after the script's first ``import torch`` and before anything else of the script; it changes
torch's public constructors or switches and reports every change to its :class:`Recorder`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from timesink.errors import BadUsage
from timesink.model.experiments import Effect, Measure, Numerics


class Recorder:
    """Counts what one intervention changed, and why it left things alone."""

    def __init__(self, name: str, nothing: str) -> None:
        self.name = name
        self._nothing = nothing
        self._changed: Counter[str] = Counter()
        self._left: Counter[str] = Counter()
        self._scales: set[float] = set()
        self._unknowable = False
        self._still: Callable[[], bool] = lambda: True

    def changed(self, what: str, scale: float = 1.0) -> None:
        """Something was changed: ``what`` in the singular ("DataLoader")."""
        self._scales.add(scale)
        self._changed[what] += 1

    def left(self, why: str) -> None:
        """Something was seen and left alone."""
        self._left[why] += 1

    def unknowable(self, text: str) -> None:
        """It was done, but whether anything reads it cannot be seen."""
        self._unknowable = True
        self._changed[text] += 1

    def switched(self, still: Callable[[], bool]) -> None:
        """A switch was turned; ``still`` says at the end whether the script left it so."""
        self._still = still
        self.changed("switch")

    def undone(self, why: str) -> None:
        """The script took it back."""
        self._changed.clear()
        self._unknowable = False
        self._left[why] += 1

    def effect(self) -> Effect:
        """What is known so far."""
        if self._changed and not self._still():
            self.undone("the script turned it back")
        left = [why if n == 1 else f"{why} ({n} times)" for why, n in self._left.items()]
        if self._unknowable:
            return Effect(self.name, None, "; ".join([*self._changed, *left]))
        if len(self._scales) > 1:
            text = "its DataLoaders' batches would grow by different factors; use --patch"
            return Effect(self.name, 0, text)
        count = sum(self._changed.values())
        done = [f"{plural(n, what)} changed" for what, n in self._changed.items()]
        text = "; ".join([*done, *left]) or self._nothing
        return Effect(self.name, count, text, next(iter(self._scales), 1.0))


def plural(count: int, what: str) -> str:
    """``2 DataLoaders``."""
    if count == 1:
        return f"1 {what}"
    head, _, tail = what.partition(" ")
    return f"{count} {head}s {tail}".rstrip()


def no_value(text: str) -> str:
    """For kinds that take none."""
    if text:
        raise BadUsage(f"It takes no value, not {text!r}.", "Leave out the = and what follows.")
    return ""


def whole_number(least: int) -> Callable[[str], str]:
    """For kinds that take a number of at least ``least``."""

    def check(text: str) -> str:
        if not text.isascii() or not text.isdigit() or not least <= int(text) <= 1_000_000:
            raise BadUsage(f"It takes a whole number from {least} on, not {text!r}.")
        return str(int(text))

    return check


def one_of(*choices: str) -> Callable[[str], str]:
    """For kinds that take one of a few words; the first is the default where it is empty."""

    def check(text: str) -> str:
        if text not in choices:
            known = ", ".join(c for c in choices if c)
            raise BadUsage(f"It takes one of {known}, not {text!r}.")
        return text

    return check


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of change.

    ``takes``: how its value is written in help ("N"), "" for none. ``nothing``: the sentence for a
    script in which there was nothing to change. ``code``: what to write to make it permanent, with
    ``{value}``. ``install(value, recorder)`` applies it. ``variables(value)``: environment
    variables that the process is started with. ``order``: lower ones are installed first, so that
    stacked wrappers nest in a sensible way whatever the order on the command line.
    """

    name: str
    takes: str
    summary: str
    nothing: str
    may_change: str
    numerics: Numerics
    code: str
    install: Callable[[str, Recorder], None]
    check: Callable[[str], str] = no_value
    variables: Callable[[str], dict[str, str]] | None = None
    measure: Measure = "typical"
    order: int = 50


@dataclass(frozen=True, slots=True)
class Intervention:
    """A kind with its value, as typed: ``num-workers=2``."""

    kind: Kind
    value: str = ""

    @property
    def text(self) -> str:
        """As typed."""
        if self.kind.name == "env":
            return f"env:{self.value}"
        return f"{self.kind.name}={self.value}" if self.value else self.kind.name

    @property
    def code(self) -> str:
        """The lines that make it permanent."""
        code = self.kind.code
        if not self.value and "{value}" in code:
            return code.partition("  #")[0]
        return code.replace("{value}", self.value)

    def recorder(self) -> Recorder:
        """A fresh one."""
        return Recorder(self.text, self.kind.nothing)
