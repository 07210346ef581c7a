"""The one-paragraph answer: what bounds a step, how its time splits, what to try first."""

from __future__ import annotations

from timesink.diagnoses import facts
from timesink.diagnoses.facts import ms, percent
from timesink.model.findings import Bound, Case, Finding, Verdict
from timesink.model.owners import DEVICE_OWNERS, HOST_OWNERS, Owner
from timesink.model.results import Analysis
from timesink.model.steps import Breakdown

#: Below this share of a step nothing is said to bound it.
_BOUND = 0.3
#: Waiting for data is named earlier: unlike computing, it is never what the step is for.
_INPUT = 0.15
_BUSY = 0.9

_PYTHON = (Owner.OTHER_PYTHON, Owner.GARBAGE_COLLECTION)
#: Rules about waiting for data.
_INPUT_RULES = (1, 2, 3, 4)

_GROUPS: tuple[tuple[Bound, tuple[Owner, ...], str], ...] = (
    ("input", (Owner.DATA_LOADING,), "waiting for data"),
    ("device compute", (Owner.DEVICE_COMPUTE,), "computing on the device"),
    ("communication", (Owner.EXPOSED_COMMUNICATION,), "in communication that nothing hides"),
    ("copies", (Owner.EXPOSED_COPIES,), "in copies that nothing hides"),
    ("synchronisation", (Owner.SYNC_WAIT,), "waiting in synchronising calls with an idle device"),
    ("io", (Owner.CHECKPOINT_IO,), "saving and loading checkpoints"),
    ("python", _PYTHON, "in Python between operators"),
)
_HOST_WORK = (Owner.RUNTIME, Owner.FORWARD, Owner.BACKWARD, Owner.OPTIMIZER)
_HEADLINES: dict[Bound, str] = {
    "input": "Input-bound",
    "device compute": "Device-bound",
    "communication": "Communication-bound",
    "copies": "Bound by copies",
    "launch": "Host-bound",
    "synchronisation": "Bound by synchronisation",
    "cpu compute": "Compute-bound on the CPU",
    "optimizer": "Optimizer-bound",
    "python": "Bound by Python",
    "io": "Bound by checkpoints",
    "mixed": "No single bottleneck",
    "unknown": "Unknown",
}


def verdict(case: Case, findings: tuple[Finding, ...]) -> Verdict:
    """The verdict on a case, given what the rules found."""
    if case.analysis is None:
        return _from_light(case, findings)
    a = case.analysis
    if a.breakdown.has_device and not a.breakdown.device_known:
        text = (
            "Launches were recorded but no device rows: device time is unknown. "
            f"{_split(a.breakdown, HOST_OWNERS)} {_basis(case, a)}"
        )
        return Verdict("unknown", "Unknown: device time was not recorded.", text, not findings)
    bound, share, doing = _largest(case, a, findings)
    headline = _headline(bound, share, doing)
    parts = [headline, _split(a.breakdown, tuple(Owner)), *_device(a), _basis(case, a)]
    parts += [_overhead(case, a), _advice(findings)]
    return Verdict(bound, headline, " ".join(p for p in parts if p), not findings)


def _largest(case: Case, a: Analysis, findings: tuple[Finding, ...]) -> tuple[Bound, float, str]:
    """What bounds a step: (bound, share of the step, what it does then)."""
    b = a.breakdown
    data = facts.data_share(case)
    shares: list[tuple[float, Bound, str]] = [
        (data if name == "input" else sum(b.share(o) for o in owners), name, doing)
        for name, owners, doing in _GROUPS
        if not (name == "python" and b.has_device)
    ]
    if b.has_device:
        # An idle device does not care whether the host calls operators or is between them.
        host = sum(b.share(o) for o in (*_HOST_WORK, *_PYTHON))
        shares.append((host, "launch", "with an idle device while the host prepares its work"))
    else:
        scale = (1 - data) / max(1e-9, 1 - b.share(Owner.DATA_LOADING))
        compute = b.share(Owner.FORWARD) + b.share(Owner.BACKWARD)
        shares.append((compute * scale, "cpu compute", "computing forward and backward"))
        shares.append((b.share(Owner.OPTIMIZER) * scale, "optimizer", "in the optimizer"))
    # Below a real bound, waiting is only named where a rule has advice against it.
    least = _INPUT if any(f.number in _INPUT_RULES for f in findings) else _BOUND
    if data >= least and data >= max(s for s, n, _ in shares if n not in _WORK):
        return "input", data, "waiting for data"
    share, name, doing = max(s for s in shares if s[1] != "input")
    return (name, share, doing) if share >= _BOUND else ("mixed", share, doing)


#: Work that a step is for: waiting is named before it even where it is shorter.
_WORK: tuple[Bound, ...] = ("device compute", "cpu compute")


def _headline(bound: Bound, share: float, doing: str) -> str:
    if bound == "mixed":
        return f"No single bottleneck: at most {percent(share)} of a step goes by {doing}."
    return f"{_HEADLINES[bound]}: {percent(share)} of a step is spent {doing}."


def _split(b: Breakdown, owners: tuple[Owner, ...]) -> str:
    shown = sorted(((b.share(o), o) for o in owners), key=lambda p: -p[0])
    named = [f"{o.value} {percent(s)}" for s, o in shown[:5] if s >= 0.01]
    return f"A step of {ms(b.mean_step_ns)} splits into {', '.join(named)}." if named else ""


def _device(a: Analysis) -> list[str]:
    """How busy the device is within the steps; more than one device: over the trace."""
    b = a.breakdown
    if not b.has_device:
        return []
    busy = sum(b.share(o) for o in DEVICE_OWNERS)
    text = f"The device is busy {percent(busy)} of the time."
    if b.tail_ns > b.mean_step_ns:
        text += (
            f" When the last step ended it still had {ms(b.tail_ns)} of work queued: the host runs "
            "ahead, and a step takes longer than its mark says."
        )
    if busy >= _BUSY and b.share(Owner.DEVICE_COMPUTE) >= 1 - _INPUT:
        text += (
            " It is well fed: what is left is the kernels themselves (precision, fusion, batch)."
        )
    return [text]


def _basis(case: Case, a: Analysis) -> str:
    """How many steps this rests on, and which were left out."""
    b = a.breakdown
    counted, left = len(b.verdict_steps), len(b.steps) - len(b.verdict_steps)
    if b.source == "window":
        return "The trace has no step marks: the whole window is taken as one step."
    text = f"Based on {counted} recorded step{'s' if counted != 1 else ''}"
    if left:
        text += f" ({left} left out: {_left_out(b)})"
    if counted < facts.FEW_STEPS:
        text += ", which is few: record more to be sure"
    return text + "."


def _left_out(b: Breakdown) -> str:
    out = [s.step for s in b.steps if not s.step.in_verdict]
    compiled = sum(s.compiled for s in out)
    reasons = ["the first one"] if any(s.first for s in out) else []
    if compiled:
        reasons.append(f"{compiled} in which a compiler ran")
    if any(not (s.first or s.compiled) for s in out):
        reasons.append("one without any work")
    return ", ".join(reasons)


def _overhead(case: Case, a: Analysis) -> str:
    """How much slower steps are inside the window than outside it."""
    if case.light is None or not facts.has_light(case) or a.breakdown.source == "window":
        return ""
    usual = facts.light_step_ns(case.light)
    factor = a.breakdown.mean_step_ns / usual if usual else 0.0
    steps = len(case.light.steady())
    return (
        f"Outside the window a step takes {ms(usual)} (median of {steps}); inside it, with the "
        f"profiler, {factor:.2f} times that."
    )


def _advice(findings: tuple[Finding, ...]) -> str:
    if not findings:
        return "Nothing stands out: no known cause costs 5 % of a step or more."
    first = findings[0]
    faster = 1 / max(1e-9, 1 - first.share)
    bound = f"at most {faster:.1f} times faster" if faster < 20 else "nearly all of the step"
    more = " The findings overlap: their gains do not add up." if len(findings) > 1 else ""
    return (
        f"First to look at: {_lower(first.title)} (at most {percent(first.share)}, {bound}).{more}"
    )


def _lower(text: str) -> str:
    return text if text[:2].isupper() else text[:1].lower() + text[1:]


def _from_light(case: Case, findings: tuple[Finding, ...]) -> Verdict:
    """Without a trace: the light recorder's parts of the steady steps."""
    light = case.light
    if light is None or not len(light):
        text = "Nothing was recorded: no trace and no steps."
        return Verdict("unknown", "Unknown: nothing was recorded.", text, not findings)
    names: tuple[tuple[str, tuple[int, ...], Bound], ...] = (
        ("waiting for data", light.data_ns, "input"),
        ("in forward", light.forward_ns, "cpu compute"),
        ("in backward", light.backward_ns, "cpu compute"),
        ("in the optimizer", light.optimizer_ns, "optimizer"),
    )
    shares = [(facts.light_share(light, column), name, bound) for name, column, bound in names]
    rest = max(0.0, 1 - sum(s for s, _, _ in shares))
    shares.append((rest, "in other Python", "python"))
    share, doing, bound = max(shares)
    if shares[0][0] >= _INPUT and shares[0][0] >= max(shares[3][0], rest):
        share, doing, bound = shares[0]
    elif bound == "cpu compute":
        share, doing = shares[1][0] + shares[2][0], "in forward and backward"
    headline = (
        _headline(bound, share, doing)
        if share >= _BOUND or bound == "input"
        else (f"No single bottleneck: at most {percent(share)} of a step goes by {doing}.")
    )
    split = ", ".join(f"{name} {percent(s)}" for s, name, _ in sorted(shares, reverse=True))
    text = (
        f"{headline} By the light recorder, on the host's clock: {split}, over "
        f"{len(light.steady())} of {len(light)} steps. There is no trace: what the device did is "
        f"unknown. {_advice(findings)}"
    )
    return Verdict(bound if share >= _BOUND or bound == "input" else "mixed", headline, text,
                   not findings)  # fmt: skip
