"""Rule 9: results come back into pageable memory, which blocks even with non_blocking."""

from __future__ import annotations

from timesink.diagnoses import facts
from timesink.diagnoses.examples import case, copy, healthy_cpu, healthy_gpu
from timesink.diagnoses.rule import Example, Rule, finding
from timesink.model.findings import Case, Evidence, Finding

_SLUG, _NUMBER, _TITLE = "blocking-readback", 9, "Results are copied back into pageable memory"
_ADVICE = (
    "Copy back into pinned memory (torch.empty(..., pin_memory=True).copy_(x, non_blocking=True)), "
    "or less often."
)


def check(case: Case) -> Finding | None:
    """Exposed time of DtoH copies of pageable memory."""
    a = case.analysis
    if a is None or not facts.device_known(a):
        return None
    rows = [c for c in a.copies if c.kind == "DtoH" and c.target == "Pageable"]
    exposed = facts.per_step(a, sum(c.exposed_ns for c in rows))
    evidence = tuple(
        Evidence(
            f"Memcpy {c.kind} ({c.source} -> {c.target}): {c.calls} copies, "
            f"{facts.ms(c.total_ns)}, of which {facts.ms(c.exposed_ns)} while no kernel ran",
            f"Memcpy {c.kind}", c.calls, c.total_ns,
        )
        for c in rows
    )  # fmt: skip
    return finding(
        _SLUG, _NUMBER, _TITLE,
        cost_ns=exposed, step_ns=facts.step_ns(case), evidence=evidence, advice=_ADVICE,
        intervention="", caveat="A non-blocking copy must be awaited before its values are read.",
    )  # fmt: skip


RULE = Rule(
    number=_NUMBER,
    slug=_SLUG,
    title=_TITLE,
    symptom="The step waits for a copy from the device.",
    evidence="`Memcpy DtoH (Device -> Pageable)` while no kernel runs.",
    advice=_ADVICE,
    needs="Device rows.",
    check=check,
    fires=(
        Example("copies that nothing hides", case(device=True,
                copies=[copy("DtoH", "Device", "Pageable", 12, exposed_ms=11)])),
        Example("half hidden", case(device=True,
                copies=[copy("DtoH", "Device", "Pageable", 20, exposed_ms=8)])),
    ),
    silent=(
        Example("hidden behind kernels", case(device=True,
                copies=[copy("DtoH", "Device", "Pageable", 12, exposed_ms=0.1)])),
        Example("pinned memory", case(device=True,
                copies=[copy("DtoH", "Device", "Pinned", 12, exposed_ms=11)])),
        Example("healthy CPU run", healthy_cpu()),
        Example("healthy GPU run", healthy_gpu()),
    ),
)  # fmt: skip
