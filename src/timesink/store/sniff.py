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
#: (a word in the first bytes of a JSON or text file, what it is)
_WORDS: tuple[tuple[bytes, str], ...] = (
    (b'"rocprofiler-sdk-tool"', "a rocprofv3 dump of AMD, not a torch.profiler trace"),
    (b"speedscope.app/file-format-schema", "a speedscope profile"),
    (b'"viztracer_metadata"', "a trace of VizTracer"),
    (b'"group":"EventTrace"', "an event trace of another program (groups of stimuli)"),
    (b"<!doctype html", "an HTML page"),
    (b"<html", "an HTML page"),
    (b"version https://git-lfs", "a Git LFS pointer: fetch the real file with `git lfs pull`"),
)
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
    """Refuse by the first bytes (up to about 1 MB). ``found``: a list of events begins in them."""
    if not head.strip():
        raise EmptyTrace(f"{path.name} is empty.", "Record the trace again.")
    text = head.lstrip()
    if text[:1] not in (b"{", b"[") and not found:
        raise _refusal(path, _binary_or_text(head))
    lowered = head[:4096].lower()
    for word, what in _WORDS:
        if word.lower() in lowered:
            raise _refusal(path, what)
    if _EXECUTION_TRACE.match(head) and b'"nodes"' in head[:65536]:
        raise _refusal(path, "a PyTorch execution trace (a graph of operators without a timeline)")
    if found and re.match(rb"\[\s*-?\d", text):
        raise _refusal(path, "a memory timeline of torch.profiler (lists of numbers, no events)")
    if found:
        return
    if text[:1] == b"[" or b'"traceEvents"' not in head:
        raise _refusal(path, _other_json(head))
    raise EmptyTrace(f"{path.name} has no list of events.", "Record the trace again.")


def _binary_or_text(head: bytes) -> str:
    for magic, what in _MAGIC:
        if head.startswith(magic):
            return what
    if head[:1] == b"\x80" and head[1:2] in b"\x02\x03\x04\x05":
        return "a Python pickle (a memory snapshot is read by `timesink memory`)"
    if b"/host:" in head[:4096] or b"XPlane" in head[:4096] or b"/device:" in head[:4096]:
        return "an XPlane profile of XLA (JAX or TensorFlow)"
    if head[:1] == b"\x0a" and b"\0" in head[:4096]:
        return "a binary protobuf (a Perfetto trace or an XLA profile)"
    for word, what in _WORDS:
        if word.lower() in head[:4096].lower():
            return what
    printable = sum(32 <= b < 127 or b in b"\t\r\n" for b in head[:4096])
    if printable > 0.95 * len(head[:4096]):
        return "a text file, not JSON"
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
