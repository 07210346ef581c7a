"""Judges what memory is made of: all rules on all devices, and the one sentence to read."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module

from timesink.diagnoses.memory_rule import size_text, where
from timesink.model.memory import MemoryAnswer, MemoryFinding

#: In the order of the catalogue, m1 to m12; a new rule is a new file and a name here.
RULES = (
    "graph_kept", "optimizer_state", "activations_peak", "eval_with_grad", "fragmentation",
    "outside_allocator", "kept_each_step", "spike", "gradients_in_forward", "ddp_buckets",
    "private_pools", "truncated",
)  # fmt: skip
_LEAKS = ("graph-kept", "kept-each-step")


def memory_findings(answers: Sequence[MemoryAnswer]) -> tuple[MemoryFinding, ...]:
    """Of the device that matters most (the first with an accelerator's history): leaks first, then
    by bytes."""
    if not answers:
        return ()
    main = max(answers, key=lambda a: (a.oom is not None, a.device != "cpu", a.peak))
    checks = [import_module(f"timesink.diagnoses.memory_rules.{n}").check for n in RULES]
    found = [f for check in checks if (f := check(main)) is not None]
    graph = next((f for f in found if f.rule == "graph-kept"), None)
    if graph is not None:  # a graph also keeps what was put into it
        found = [f for f in found if f.rule != "kept-each-step" or f.size > graph.size]
    return tuple(sorted(found, key=lambda f: (f.rule not in _LEAKS, -f.size)))


def headline(answers: Sequence[MemoryAnswer], findings: Sequence[MemoryFinding]) -> str:
    """The one sentence."""
    if not answers:
        return "Nothing was recorded."
    main = max(answers, key=lambda a: (a.oom is not None, a.device != "cpu", a.peak))
    if main.oom is not None:
        o = main.oom
        return (
            f"Out of memory on {main.device}: {size_text(o.asked)} asked for at {where(o.site)}, "
            f"{size_text(o.fits)} would have fitted."
        )
    made = ", ".join(
        f"{c.value} {size / main.peak:.0%}" for c, size, _ in main.categories[:3] if main.peak
    )
    phase = f" in {main.peak_phase}" if main.peak_phase else ""
    peak = f"The peak on {main.device} is {size_text(main.peak)}{phase}: {made}."
    leak = next((f for f in findings if f.rule in _LEAKS), None)
    return f"{leak.title}: {leak.evidence[0]}. {peak}" if leak is not None else peak
