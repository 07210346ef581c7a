"""Names the cause of a difference from the two calls in which it shows first.

The table of operators: torch's own documentation of ``use_deterministic_algorithms``.
"""

from __future__ import annotations

import ast
import re

from timesink.model.reproducibility import (
    Cause,
    OperatorCall,
    OperatorDifference,
    OperatorRecord,
)

_CLOCK_SECONDS = 6 * 3600.0  # a number this close to the time of the run is taken for a clock
_DETERMINISTIC = "torch.use_deterministic_algorithms(True) has a deterministic form of it"
_BY_SORTING = f"{_DETERMINISTIC}, which sorts before adding"

#: part of an operator's name → what is known of its kernels on GPUs and what to do; the first
#: that matches counts. "!" at the start: no deterministic form exists, torch raises.
KERNELS: tuple[tuple[str, str], ...] = (
    ("all_reduce", "its order depends on NCCL's algorithm: fix NCCL_ALGO and NCCL_PROTO"),
    ("reduce_scatter", "fix NCCL_ALGO and NCCL_PROTO"),
    ("scatter_reduce", f"{_DETERMINISTIC} for sum and mean, none for prod"),
    ("scatter", _BY_SORTING),
    ("index_add", _BY_SORTING),
    ("index_copy", _DETERMINISTIC),
    ("index_put", _BY_SORTING),
    ("put_", f"{_DETERMINISTIC} with accumulate on the CPU only"),
    ("gather", _DETERMINISTIC),
    ("index_select", _BY_SORTING),
    ("repeat_interleave", _DETERMINISTIC),
    ("embedding_dense_backward", _DETERMINISTIC),
    ("embedding_bag", "!with mode='max' it has none: use mode='sum' or torch.nn.Embedding"),
    ("cumsum", "!it has none for floating point: add on the CPU or as a matrix product"),
    ("bincount", "!with weights it has none: use torch.zeros(n).index_add_ in deterministic mode"),
    ("histc", "!it has none: use torch.bucketize and a sum of one-hot rows"),
    ("median", "!its indices have none: use torch.sort"),
    ("kthvalue", "!it has none: use torch.sort"),
    ("ctc_loss", "!its backward has none: use cuDNN's (int32 targets on the CPU) or the CPU"),
    ("nll_loss2d", "!it has none: use cross_entropy on (N·H·W, C)"),
    ("grid_sampler", "!its backward has none"),
    ("upsample_nearest", _DETERMINISTIC),
    ("upsample", "!linear and cubic interpolation have none: use mode='nearest'"),
    ("reflection_pad", "!it has none: use another padding"),
    ("replication_pad", _DETERMINISTIC),
    ("adaptive_avg_pool", "!its backward has none: use AvgPool2d with a fixed size or a mean"),
    ("adaptive_max_pool", "!its backward has none: use MaxPool2d with a fixed size"),
    ("avg_pool3d_backward", "!it has none: use a strided convolution or AvgPool2d"),
    ("fractional_max_pool", "!its backward has none: use MaxPool"),
    ("max_unpool", "!it has none"),
    ("max_pool3d", _DETERMINISTIC),
    ("flash_attention_backward", f"{_DETERMINISTIC}, but not with warn_only=True"),
    ("efficient_attention_backward", f"{_DETERMINISTIC}, but not with warn_only=True"),
    ("convolution", "cudnn.deterministic = True, cudnn.benchmark = False"),
    ("cudnn", "cudnn.deterministic = True, cudnn.benchmark = False"),
    ("rnn", "CUBLAS_WORKSPACE_CONFIG=:4096:8 before the program starts"),
    ("mm", "CUBLAS_WORKSPACE_CONFIG=:4096:8 before the program starts"),
    ("addmv", "CUBLAS_WORKSPACE_CONFIG=:4096:8 before the program starts"),
    ("mv", "CUBLAS_WORKSPACE_CONFIG=:4096:8 before the program starts"),
)  # fmt: skip


def alternative(operator: str) -> str:
    """What is known of an operator's deterministic form; "" if nothing is."""
    name = operator.split(".")[1] if "." in operator else operator
    return next((text for part, text in KERNELS if part in name), "")


def of_kernel(
    x: OperatorCall, y: OperatorCall, a: OperatorRecord, b: OperatorRecord
) -> OperatorDifference:
    """Equal inputs, different outputs: the operator itself is not deterministic."""
    if a.threads != b.threads and x.device == "cpu":
        text = (
            f"{x.name} adds in another order with {a.threads} than with {b.threads} threads; "
            "its inputs are equal."
        )
        advice = "Run with the same OMP_NUM_THREADS (torch.set_num_threads)."
        return OperatorDifference(x, y, (), "threads", text, "threads", advice)
    known = alternative(x.name)
    text = f"{x.name} gives different results for equal inputs: its kernel has no fixed order."
    if known.startswith("!"):
        return OperatorDifference(x, y, (), "kernel", text, "", _sentence(known[1:]))
    advice = known or "try torch.use_deterministic_algorithms(True)"
    dial = "" if "NCCL" in advice else "deterministic"
    return OperatorDifference(x, y, (), "kernel", text, dial, _sentence(advice))


def of_generator(x: OperatorCall, y: OperatorCall) -> OperatorDifference:
    """Equal inputs, but the random numbers start from another state."""
    whose = "a generator of the program's own" if x.generator.startswith("own") else (
        f"torch's global generator ({x.generator.split()[-1]})"
    )  # fmt: skip
    if x.generator_seed != y.generator_seed:
        text = f"{x.name} draws from {whose}, which has another seed in each run."
        dial = "" if x.generator.startswith("own") else "seed"
        advice = "Seed it before the first draw." if not dial else "Call seed_everything first."
    else:
        text = (
            f"{x.name} draws from {whose}: the seed is the same in both runs, the number of draws "
            "before it is not."
        )
        dial, advice = "", "Look for draws that depend on time, order or data before this line."
    return OperatorDifference(x, y, (), "generator", text, dial, advice)


def of_memory(
    x: OperatorCall, y: OperatorCall, names: tuple[str, ...], compiled: bool
) -> OperatorDifference:
    """What it reads was never written (or by NumPy or compiled code, past torch)."""
    line = x.unwritten[0][1]
    text = f"{x.name} reads memory that no operator has written, from {line or 'torch.empty'}."
    text += " A torch.compile region may have, unseen." if compiled else ""
    advice = (
        "Use torch.zeros there; deterministic mode fills it with NaN, which makes it the same in "
        "each run but still wrong."
    )
    return OperatorDifference(x, y, names, "uninitialised", text, "deterministic", advice)


def of_inputs(
    x: OperatorCall, y: OperatorCall, names: tuple[str, ...], a: OperatorRecord, b: OperatorRecord
) -> OperatorDifference:
    """Different inputs that no operator before it made: they come from outside of torch."""
    left, right = next((m, n) for (_, m), (_, n) in zip(x.inputs, y.inputs, strict=True) if m != n)
    cause = _number(left, right, a, b)
    shown = f" ({_short(left)} and {_short(right)})" if _value(left) is not None else ""
    what = f"{_receives(x, names[0])} in each run{shown}"
    if cause == "clock":
        return OperatorDifference(
            x, y, names, cause, f"{what}: it looks like the time of the run.", "",
            "Take the time out of what is computed.",
        )  # fmt: skip
    if cause == "process id":
        return OperatorDifference(
            x, y, names, cause, f"{what}: it is the process id.", "",
            "Take the process id out of what is computed.",
        )  # fmt: skip
    fixed = bool(a.hash_seed) and a.hash_seed == b.hash_seed
    hint = "" if fixed else ", or an order that depends on PYTHONHASHSEED"
    hint += ", or a torch.compile region, whose inside is not seen" if a.compiled else ""
    text = (
        f"{what}, and no torch operator made it: data, Python's or NumPy's random numbers, a file "
        f"order{hint}."
    )
    dial = "seed" if fixed else "PYTHONHASHSEED"
    return OperatorDifference(x, y, names, cause, text, dial, "Look at what this line is given.")


def _receives(x: OperatorCall, name: str) -> str:
    if x.name.startswith("aten.lift_fresh"):
        return "What enters torch here (a tensor made of Python or NumPy values) is another"
    if x.name.startswith("aten.set_.source"):
        return "What arrives here from another process (a DataLoader worker) is another"
    return f"{x.name} gets another value of “{name}”"


def of_order(
    x: OperatorCall | None, y: OperatorCall | None, a: OperatorRecord, b: OperatorRecord
) -> OperatorDifference:
    """Another operator at the same place, or none."""
    left, right = (f"{c.name} at {c.line}" if c else "nothing more" for c in (x, y))
    fixed = bool(a.hash_seed) and a.hash_seed == b.hash_seed
    text = f"The runs call different operators from here on ({left}; {right})."
    advice = "Look for a branch or an order that depends on a set, time, files or a random number."
    return OperatorDifference(x, y, (), "order", text, "" if fixed else "PYTHONHASHSEED", advice)


def _number(left: str, right: str, a: OperatorRecord, b: OperatorRecord) -> Cause:
    """What kind of number differs, where it can be read."""
    one, two = _value(left), _value(right)
    if one is None or two is None:
        return "data"
    if (one, two) == (a.pid, b.pid):
        return "process id"
    for unit in (1, 1e3, 1e6, 1e9):
        near = abs(one / unit - a.clock) < _CLOCK_SECONDS
        if near and abs(two / unit - b.clock) < _CLOCK_SECONDS:
            return "clock"
    return "number"


def _value(text: str) -> float | None:
    """The one number that a fingerprint shows, if it shows one."""
    shown = text.partition(" = ")[2] or re.sub(r" \(.*\)$", "", text)
    if re.fullmatch(r"[0-9a-f]{32}", shown):
        return None
    try:
        found = ast.literal_eval(shown)
    except (ValueError, SyntaxError):
        return None
    while isinstance(found, list) and len(found) == 1:
        found = found[0]
    number = isinstance(found, (int, float)) and not isinstance(found, bool)
    return found if number else None


def _short(text: str) -> str:
    return f"{_value(text)}"


def _sentence(text: str) -> str:
    name = any(c in text.split()[0] for c in "._=")  # of a function or a variable
    return f"{text[0] if name else text[0].upper()}{text[1:]}."
