"""Rule 8: batches go to the device from pageable memory, which cannot overlap."""

from __future__ import annotations

from timesink.diagnoses import facts
from timesink.diagnoses.examples import case, copy, healthy_cpu, healthy_gpu
from timesink.diagnoses.rule import Example, Rule, finding
from timesink.model.findings import Case, Evidence, Finding

_SLUG, _NUMBER, _TITLE = (
    "unpinned-copies",
    8,
    "Batches are copied to the device from pageable memory",
)
_ADVICE = (
    "Pin the loader's memory and copy without blocking: DataLoader(pin_memory=True) and "
    "batch.to(device, non_blocking=True)."
)


def check(case: Case) -> Finding | None:
    """Exposed time of HtoD copies of pageable memory."""
    a = case.analysis
    if a is None or not facts.device_known(a):
        return None
    rows = [c for c in a.copies if c.kind == "HtoD" and c.source == "Pageable"]
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
        intervention="pin-memory",
        caveat="Pinned memory cannot be swapped; without non_blocking=True in the script the "
        "copy still blocks.",
    )  # fmt: skip


RULE = Rule(
    number=_NUMBER,
    slug=_SLUG,
    title=_TITLE,
    symptom="The device waits for each batch to arrive.",
    evidence="`Memcpy HtoD (Pageable -> Device)` while no kernel runs.",
    advice=_ADVICE,
    needs="Device rows.",
    check=check,
    fires=(
        Example("copies that nothing hides", case(device=True,
                copies=[copy("HtoD", "Pageable", "Device", 12, exposed_ms=11)])),
        Example("half hidden", case(device=True,
                copies=[copy("HtoD", "Pageable", "Device", 20, exposed_ms=8)])),
    ),
    silent=(
        Example("hidden behind kernels", case(device=True,
                copies=[copy("HtoD", "Pageable", "Device", 12, exposed_ms=0.1)])),
        Example("pinned memory", case(device=True,
                copies=[copy("HtoD", "Pinned", "Device", 12, exposed_ms=11)])),
        Example("healthy CPU run", healthy_cpu()),
        Example("healthy GPU run", healthy_gpu()),
    ),
)  # fmt: skip
