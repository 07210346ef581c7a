"""What is known about a trace as a whole: generation, vendor, rank, devices, switches."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from timesink.model.trace import DeviceInfo, ProcessGroup, TraceInfo
from timesink.store.assemble import Assembler
from timesink.store.schema import DEVICE_KINDS, Kind

#: "rank-3", "rank_3", "rank3", "worker3"; not "worker_21147", which is a host name and a pid.
_RANK_IN_NAME = re.compile(r"(?:rank[-_]?|(?<![a-z])worker)(\d{1,6})(?!\d)", re.I)
_VERSIONS = re.compile(r"version$|_version", re.I)


def trace_info(
    path: Path,
    head: Mapping[str, Any],
    assembler: Assembler,
    *,
    is_list: bool,
    base_in_tail: bool,
    truncated: bool,
) -> TraceInfo:
    """The summary of one file; unknown fields stay None."""
    distributed = head.get("distributedInfo")
    distributed = distributed if isinstance(distributed, dict) else {}
    rank, source = _rank(distributed, path)
    start, end = assembler.range or (0, 0)
    return TraceInfo(
        path=str(path),
        generation=_generation(head, assembler, is_list, base_in_tail),
        vendor=_vendor(head, assembler),
        event_count=assembler.ordinal,
        start_ns=start,
        end_ns=end,
        base_ns=_integer(head.get("baseTimeNanoseconds")),
        rank=rank,
        rank_source=source,
        world_size=_integer(distributed.get("world_size")),
        backend=_string(distributed.get("backend")),
        host=_string(head.get("host_name")),
        trace_id=_string(head.get("trace_id")),
        devices=_devices(head.get("deviceProperties")),
        record_shapes=_flag(head.get("record_shapes")),
        with_stack=_flag(head.get("with_stack")),
        profile_memory=_flag(head.get("profile_memory")),
        versions=tuple(
            (k, str(v)) for k, v in head.items() if _VERSIONS.search(k) and k != "schemaVersion"
        ),
        truncated=truncated,
        groups=_groups(distributed.get("pg_config")),
    )


def _generation(
    head: Mapping[str, Any], assembler: Assembler, is_list: bool, base_in_tail: bool
) -> str:
    categories = assembler.categories
    if is_list:
        ascend = {"async_npu", "enqueue", "dequeue"} & set(categories)
        return "ascend" if ascend or any(p == "CANN" for p, _ in assembler.tracks) else "legacy"
    if "Operator" in categories or "Kernel" in categories:
        return "K0"
    if "baseTimeNanoseconds" in head:
        return "K3a" if base_in_tail else "K3b"
    modern = {"user_annotation", "gpu_user_annotation", "cuda_driver", "overhead"}
    return "K2" if modern & set(categories) else "K1"


def _vendor(head: Mapping[str, Any], assembler: Assembler) -> str:
    categories = " ".join(assembler.categories)
    for word, vendor in (("mtia", "mtia"), ("mlu", "mlu"), ("xpu", "xpu"), ("enqueue", "ascend")):
        if word in categories:
            return vendor
    if any(k.startswith(("roctracer", "hip_", "rocprofiler")) for k in head):
        return "amd"
    if any(p == "CUDA functions" for p, _ in assembler.tracks):
        return "nvidia"
    counts = assembler.kind_counts
    accelerated = (*DEVICE_KINDS, Kind.RUNTIME, Kind.DRIVER)
    if not any(counts.get(int(k)) for k in accelerated):
        return "cpu"
    names = list(assembler.strings)
    return "amd" if any(n.startswith("hip") for n in names) else "nvidia"


def _rank(distributed: Mapping[str, Any], path: Path) -> tuple[int | None, str]:
    rank = _integer(distributed.get("rank"))
    if rank is not None and rank >= 0:
        return rank, "distributedInfo"
    match = _RANK_IN_NAME.search(path.name)
    return (int(match[1]), "file name") if match else (None, "")


def _devices(properties: Any) -> tuple[DeviceInfo, ...]:
    out = []
    for number, entry in enumerate(properties if isinstance(properties, list) else []):
        if not isinstance(entry, dict):
            continue
        major, minor = _integer(entry.get("computeMajor")), _integer(entry.get("computeMinor"))
        out.append(
            DeviceInfo(
                id=_first(_integer(entry.get("id")), number),
                name=str(entry.get("name", "")),
                memory_bytes=_first(_integer(entry.get("totalGlobalMem")), 0),
                capability=(major, minor) if major is not None and minor is not None else (),
            )
        )
    return tuple(out)


def _groups(config: Any) -> tuple[ProcessGroup, ...]:
    """The process groups this rank is in, from ``distributedInfo.pg_config`` (torch >= 2.3)."""
    out = []
    for entry in config if isinstance(config, list) else []:
        if not isinstance(entry, dict):
            continue
        given = entry.get("ranks")
        ranks = (
            tuple(r for r in given if _integer(r) is not None) if isinstance(given, list) else ()
        )
        out.append(
            ProcessGroup(
                name=str(entry.get("pg_name", "")),
                description=str(entry.get("pg_desc", "")),
                size=_first(_integer(entry.get("pg_size")), len(ranks)),
                ranks=ranks,
            )
        )
    return tuple(out)


def _first(value: int | None, otherwise: int) -> int:
    return otherwise if value is None else value


def _integer(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _string(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _flag(value: Any) -> bool | None:
    return None if value is None else bool(value)
