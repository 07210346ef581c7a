"""Refuses what is not a torch.profiler trace, in one sentence that says what it is instead."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from timesink.errors import EmptyTrace, NotATrace, TimesinkError

_REMEDY = (
    "timesink reads the Chrome JSON of torch.profiler: record one with `timesink run train.py`, "
    "or export one with `prof.export_chrome_trace(path)`."
)
#: (first bytes, what it is)
_MAGIC: tuple[tuple[bytes, str], ...] = (
    (b"SQLite format 3", "an SQLite database (Nsight Systems, perhaps)"),
    (b"NVIDIA", "an Nsight report"),
    (b"PK\x03\x04", "a zip archive (a torch.save checkpoint, perhaps)"),
    (b"\x89PNG", "a PNG picture"),
    (b"\xff\xd8\xff", "a JPEG picture"),
    (b"GIF8", "a GIF picture"),
    (b"%PDF", "a PDF document"),
    (b"PAR1", "a Parquet file"),
    (b"\x93NUMPY", "a NumPy array"),
    (b"\x7fELF", "a program"),
    (b"BZh", "bzip2 data: decompress it first"),
    (b"\xfd7zXZ", "xz data: decompress it first"),
    (b"\x28\xb5\x2f\xfd", "zstd data: decompress it first"),
    (b"\x89HDF", "an HDF5 file"),
    (b"PERFILE2", "a recording of Linux perf"),
)
#: (how a file begins that is not JSON, what it is)
_BEGINNINGS: tuple[tuple[re.Pattern[bytes], str], ...] = (
    (re.compile(rb"\s*<(!doctype html|html)", re.I), "an HTML page"),
    (
        re.compile(rb"version https://git-lfs"),
        "a Git LFS pointer: fetch the real file with `git lfs pull`",
    ),
    (re.compile(rb"\xff\xfe|\xfe\xff"), "text in UTF-16: convert it to UTF-8 first"),
    # marshal: a dict whose first key is a tuple (file, line, function)
    (re.compile(rb"[\x7b\xfb][\x28\x29\xa8\xa9]"), "a cProfile dump (read it with pstats)"),
    # protobuf: ir_version as a small number, then the producer's name
    (re.compile(rb"\x08[\x01-\x1e]\x12[\x01-\x40][\x20-\x7e]+"), "an ONNX model"),
    (re.compile(rb".{8,40}brain\.Event:", re.S), "a TensorBoard event file"),
    (re.compile(rb"\x80[\x02-\x05]"), "a Python pickle (`timesink memory` reads snapshots)"),
)
#: (top-level key, or its value, of a JSON document without trace events; what it is)
_DOCUMENTS: tuple[tuple[re.Pattern[bytes], str], ...] = (
    (
        re.compile(rb'^\s*\{\s*"rocprofiler-sdk-tool"'),
        "a rocprofv3 dump of AMD, not a torch.profiler trace",
    ),
    (
        re.compile(rb'"\$schema"\s*:\s*"[^"]*speedscope\.app'),
        "a speedscope profile",
    ),
)
_KINETO_HEAD = re.compile(rb'"(?:schemaVersion|deviceProperties|baseTimeNanoseconds)"\s*:')
_EXECUTION_TRACE = re.compile(rb'^\s*\{\s*"schema"\s*:\s*"[^"]*"')


@dataclass(frozen=True, slots=True)
class EventStats:
    """What the events of a file look like. ``timed`` counts complete rows."""

    events: int
    timed: int
    categories: Mapping[str, int]
    phases: Mapping[str, int]
    names_sample: tuple[str, ...]
    head_keys: tuple[str, ...]
    pids: tuple[str, ...] = ()
    has_args: bool = True


def check_head(head: bytes, path: Path, found: bool) -> None:
    """Refuse by the first bytes (up to about 1 MB). ``found``: a list of events begins in them.

    Only how the file is built counts: a word inside the name of an event says nothing.
    """
    if not head.strip():
        raise EmptyTrace(f"{path.name} is empty.", "Record the trace again.")
    text = head.lstrip()
    if found:
        _check_first(text, path)
        return
    if text[:1] not in (b"{", b"[") or text[1:2] in (b"(", b")", b"\xa8", b"\xa9"):
        raise _refusal(path, _binary_or_text(head))
    if _EXECUTION_TRACE.match(head) and b'"nodes"' in head[:65536]:
        raise _refusal(path, "a PyTorch execution trace (a graph of operators without a timeline)")
    for pattern, what in _DOCUMENTS:
        if pattern.search(head[:4096]):
            raise _refusal(path, what)
    if text[:1] == b"{" and _KINETO_HEAD.search(head[:4096]):
        raise EmptyTrace(
            f"{path.name} has no list of events: it ends before them.", "Record the trace again."
        )
    if text[:1] == b"[" or b'"traceEvents"' not in head:
        raise _refusal(path, _other_json(head))
    raise EmptyTrace(f"{path.name} has no list of events.", "Record the trace again.")


def _check_first(text: bytes, path: Path) -> None:
    """``text`` is the document, or what follows the bracket of one that is a bare list."""
    if re.match(rb"\[\s*-?\d", text):
        raise _refusal(path, "a memory timeline of torch.profiler (lists of numbers, no events)")
    if text[:1] not in (b"{", b"]") and b'"ph"' not in text:
        raise _refusal(path, "a JSON list of something else than events")


def _binary_or_text(head: bytes) -> str:
    for magic, what in _MAGIC:
        if head.startswith(magic):
            return what
    for pattern, what in _BEGINNINGS:
        if pattern.match(head):
            return what
    if head[:1] == b"\x0a" and re.search(rb"/host:|/device:|XPlane", head[:4096]):
        return "an XPlane profile of XLA (JAX or TensorFlow)"
    if head[:1] == b"\x0a" and b"\0" in head[:4096]:
        return "a binary protobuf (a Perfetto trace or an XLA profile)"
    printable = sum(32 <= b < 127 or b in b"\t\r\n" for b in head[:4096])
    if printable > 0.95 * len(head[:4096]):
        return "a text file, not a JSON trace"
    return "a binary file of another kind"


def _other_json(head: bytes) -> str:
    keys = re.findall(rb'"([A-Za-z_ ]{1,30})"\s*:', head[:2000])[:4]
    named = ", ".join(k.decode() for k in dict.fromkeys(keys))
    return (
        f"JSON without trace events (it begins with {named})" if named else "JSON of another kind"
    )


def check_events(stats: EventStats, path: Path) -> None:
    """Refuse by the events: no events at all, or a Chrome trace of another tool."""
    if stats.timed == 0 and not _has_torch(stats):
        if set(stats.phases) <= {"M"} and stats.phases:
            raise EmptyTrace(
                f"{path.name} holds metadata only, not a single timed event: an empty trace.",
                "Call prof.step() often enough for the schedule to reach its active steps.",
            )
        if not stats.events:
            raise EmptyTrace(
                f"{path.name} has an empty list of events, or ends before the first.",
                "Record it again.",
            )
    if _has_torch(stats):
        return
    if "viztracer_metadata" in stats.head_keys:
        raise _refusal(path, "a trace of VizTracer")
    raise _refusal(path, _other_tool(stats))


_TORCH_CATEGORIES = frozenset(
    [
        "cpu_op",
        "Operator",
        "python_function",
        "cuda_runtime",
        "cuda_driver",
        "user_annotation",
        "gpu_user_annotation",
        "kernel",
        "Kernel",
        "gpu_memcpy",
        "gpu_memset",
        "Memcpy",
        "Memset",
        "Runtime",
        "mtia_ccp_events",
        "mtia_runtime",
        "mlu_runtime",
        "mlu_memcpy",
        "xpu_runtime",
        "async_npu",
        "enqueue",
        "cuda_sync",
        "cpu_instant_event",
        "overhead",
        "ac2g",
        "fwdbwd",
        "cuda_profiler_range",
    ]
)


def _has_torch(stats: EventStats) -> bool:
    """Categories that only Kineto writes, or torch without Kineto, or operators by name."""
    if _TORCH_CATEGORIES & set(stats.categories):
        return True
    if {"CPU functions", "CUDA functions"} & set(stats.pids):
        return True
    return any(n.startswith(("aten::", "ProfilerStep#", "c10d::")) for n in stats.names_sample)


def _other_tool(stats: EventStats) -> str:
    phases = set(stats.phases) - {"M"}
    if phases <= {"B", "E"}:
        seen = "only begin and end rows"
    elif phases <= {"X"}:
        seen = "complete rows"
    else:
        seen = "rows of kind " + ", ".join(sorted(p for p in phases if p != "None")[:5])
    sample = ", ".join(n for n in stats.names_sample[:3] if n)
    named = f" such as {sample[:80]}" if sample else ""
    return (
        f"a Chrome trace of another tool ({seen}{named}): it has neither operators of torch nor "
        "rows of Kineto"
    )


def _refusal(path: Path, what: str) -> TimesinkError:
    return NotATrace(f"{path.name} is {what}.", _REMEDY)
