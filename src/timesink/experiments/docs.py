"""Generates docs/interventions.md from the interventions themselves:
``python -m timesink.experiments.docs``."""

from __future__ import annotations

from timesink.errors import BadUsage
from timesink.experiments.equivalence import TOLERANCE
from timesink.experiments.interventions import KINDS
from timesink.experiments.interventions.base import Kind
from timesink.model.experiments import Numerics

_HEAD = """# Interventions

Generated from the code by `make docs`; do not edit. What `timesink try --with` can change in an
unmodified script. Several `--with` are tried as one candidate, with `--each` one by one; `--base`
puts a change into both arms. How they are measured and judged: [try.md](try.md).

| write | what it does | training may differ by |
|---|---|---|
"""


def page() -> str:
    """The whole page as Markdown."""
    table = "".join(f"| {_written(k)} | {k.summary} | {_allowed(k.numerics)} |\n" for k in KINDS)
    return _HEAD + table + "".join(_section(k) for k in KINDS)


def _written(kind: Kind) -> str:
    values = kind.takes.replace("|", " or ")
    if not values:
        return f"`{kind.name}`"
    given = f"{':' if kind.name == 'env' else '='}{values}"
    try:
        kind.check("")
    except BadUsage:
        return f"`{kind.name}{given}`"
    return f"`{kind.name}[{given}]`"


def _allowed(numerics: Numerics) -> str:
    if numerics == "training":
        return "another training: losses are not compared"
    allowed = TOLERANCE[numerics]
    return f"{100 * allowed:g} % of the loss ({numerics})" if allowed else "nothing"


def _section(kind: Kind) -> str:
    how = {
        "typical": "the median over blocks of steady steps",
        "mean": "the mean over everything after the warm-up, epoch starts included",
    }[kind.measure]
    always = kind.nothing.startswith("there was nothing")
    missing = "" if always else f"- Does not apply when: {kind.nothing}.\n"
    return (
        f"\n## {kind.name}\n\n{kind.summary[0].upper()}{kind.summary[1:]}.\n\n"
        f"- May change: {kind.may_change}\n"
        f"- Compared by: {how}.\n"
        f"{missing}"
        f"- To keep it: `{kind.code.format(value=kind.takes or '')}`\n"
    )


if __name__ == "__main__":
    print(page(), end="")
