"""Generates docs/rules.md from the rules themselves: ``python -m timesink.diagnoses.docs``."""

from __future__ import annotations

from timesink.diagnoses.catalogue import rules
from timesink.diagnoses.rule import MINIMUM, Rule

_HEAD = f"""# Rules

Generated from the rules by `make docs`; do not edit. A rule fires when its cause costs at least
{MINIMUM:.0%} of a step on the critical path; presence alone is never one. The cost is an
upper bound of the gain (what would be saved if the cause vanished); costs of findings overlap.
"""


def page() -> str:
    """The whole page as Markdown."""
    listed = "\n".join(f"| {r.number} | [{r.title}](#{r.slug}) | `{_try(r)}` |" for r in rules())
    table = f"\n| # | cause | try |\n|---|---|---|\n{listed}\n"
    return _HEAD + table + "".join(_section(r) for r in rules())


def _try(rule: Rule) -> str:
    found = rule.check(rule.fires[0].case)
    return found.intervention if found is not None and found.intervention else "change the code"


def _section(rule: Rule) -> str:
    found = rule.check(rule.fires[0].case)
    assert found is not None, f"the first example of {rule.slug} does not fire"
    lines = "\n".join(f"- {e.text}" for e in found.evidence if e.text)
    caveat = f"\n\n**Caveat.** {found.caveat}" if found.caveat else ""
    silent = ", ".join(e.label for e in rule.silent)
    return (
        f"\n## {rule.slug}\n\n**{rule.number}. {rule.title}.** {rule.symptom}\n\n"
        f"**Evidence.** {rule.evidence}\n\n**Try.** {rule.advice}{caveat}\n\n"
        f"**Recorded by.** {rule.needs}\n\n"
        f"Example ({rule.fires[0].label}, {found.share:.0%} of the step):\n\n{lines}\n\n"
        f"Silent for: {silent}.\n"
    )


if __name__ == "__main__":
    print(page(), end="")
