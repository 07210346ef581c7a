"""Rule 5: the host waits for the device in the middle of the step, then starts from nothing."""

from __future__ import annotations

import re

from timesink.diagnoses import facts
from timesink.diagnoses.examples import call, case, healthy_cpu, healthy_gpu, op
from timesink.diagnoses.rule import Example, Rule, finding
from timesink.model.findings import Case, Finding
from timesink.model.owners import Owner, Phase

_SLUG, _NUMBER, _TITLE = "sync-in-loop", 5, "The host waits for the device inside the step"
_ADVICE = (
    "Do not read device values in the loop: move .item(), .cpu(), print and boolean-mask indexing "
    "out of it, or read every hundredth step."
)
_READS = re.compile(r"aten::(_local_scalar_dense|item|is_nonzero|nonzero|equal|_to_copy|copy_)$")


def check(case: Case) -> Finding | None:
    """Synchronising calls under value-reading operators, by the device idle time they leave.

    The wait itself is not a loss while the device works: only what it idles afterwards is. And no
    more of that than the wait took: so much earlier the host would have gone on without it.
    """
    a = case.analysis
    if a is None or not facts.device_known(a):
        return None
    rows = [
        r for r in a.runtime
        if r.kind in ("sync", "copy") and r.idle_ns and (_READS.match(r.op) or r.kind == "sync")
        and r.phase is not Phase.DATA
    ]  # fmt: skip
    rows.sort(key=lambda r: -min(r.idle_ns, r.total_ns))
    idle = facts.per_step(a, sum(min(r.idle_ns, r.total_ns) for r in rows))
    return finding(
        _SLUG, _NUMBER, _TITLE,
        cost_ns=idle, step_ns=facts.step_ns(case),
        evidence=tuple(facts.runtime_evidence(r, a.steps_counted) for r in rows[:4]),
        advice=_ADVICE,
        caveat="A wait that moves to the next blocking call is no gain: judge the whole step.",
    )  # fmt: skip


def _item(idle_ms: float) -> list[object]:
    return [call("cudaStreamSynchronize", "sync", 4, 20, op="aten::_local_scalar_dense",
                 idle_ms=idle_ms, line="train.py(31): train")]  # fmt: skip


RULE = Rule(
    number=_NUMBER,
    slug=_SLUG,
    title=_TITLE,
    symptom="The device runs dry after each .item(), and the host has to launch everything anew.",
    evidence="`cudaStreamSynchronize`/`hipStreamSynchronize` or a few-byte copy under "
    "`aten::_local_scalar_dense` or `aten::nonzero`, with the device idle after it.",
    advice=_ADVICE,
    needs="Device rows. `--with-stack` gives the Python lines.",
    check=check,
    fires=(
        Example("loss.item() four times a step", case({Owner.SYNC_WAIT: 0.05}, device=True,
                runtime=_item(15))),
        Example("boolean-mask indexing", case(device=True, runtime=[call(
                "hipStreamSynchronize", "sync", 1, 12, op="aten::nonzero", idle_ms=9)])),
    ),
    silent=(
        Example(".item() that costs nothing", case(device=True, runtime=_item(0.2))),
        Example("a call that found nothing to wait for", case(device=True, runtime=[call(
                "hipEventSynchronize", "sync", 1, 0.002, idle_ms=40)])),
        Example("wait while the device works", case(device=True, runtime=_item(0.0))),
        Example(".item() on a CPU", case(ops=[op("aten::item", 100, 0.5)])),
        Example("healthy CPU run", healthy_cpu()),
        Example("healthy GPU run", healthy_gpu()),
    ),
)  # fmt: skip
