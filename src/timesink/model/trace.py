"""What is known about a trace as a whole, and what had to be repaired to read it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Severity = Literal["info", "warning", "error"]


@dataclass(frozen=True, slots=True)
class QualityNote:
    """One thing that was dropped, repaired, clipped, truncated or not recorded.

    ``code`` is stable and machine-readable ("illegal-escape", "truncated", "no-device-rows", ...);
    ``message`` is a sentence for a person; ``count`` how many events or bytes it concerns.
    """

    code: str
    message: str
    count: int = 0
    severity: Severity = "info"


@dataclass(frozen=True, slots=True)
class DeviceInfo:
    """One entry of ``deviceProperties``. ``memory_bytes`` 0 and ``capability`` () when unknown."""

    id: int
    name: str
    memory_bytes: int = 0
    capability: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class ProcessGroup:
    """One entry of ``distributedInfo.pg_config``. ``ranks`` is () where the file does not say."""

    name: str
    description: str = ""
    size: int = 0
    ranks: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class TraceInfo:
    """A trace file as a whole.

    ``generation``: "legacy" (a bare list from torch without Kineto), "K0" (category ``Operator``),
    "K1" (``cpu_op``, integer or 3-decimal µs epoch), "K2" (adds fwdbwd flows / integer ts with
    many zero durations), "K3a" (base time after the events), "K3b" (base time before them),
    "ascend". ``vendor``: "nvidia", "amd", "mtia", "mlu", "ascend", "xpu" or "cpu".
    ``base_ns`` is ``baseTimeNanoseconds`` (None where absent): absolute time = base_ns + ts.
    ``rank_source``: where ``rank`` came from: "distributedInfo", "file name", "order" or "".
    ``start_ns``/``end_ns`` span all timed host and device rows (relative to ``base_ns``).
    Flags are None where the file does not say.
    """

    path: str
    generation: str
    vendor: str = "cpu"
    event_count: int = 0
    start_ns: int = 0
    end_ns: int = 0
    base_ns: int | None = None
    rank: int | None = None
    rank_source: str = ""
    world_size: int | None = None
    backend: str | None = None
    host: str | None = None
    trace_id: str | None = None
    devices: tuple[DeviceInfo, ...] = ()
    record_shapes: bool | None = None
    with_stack: bool | None = None
    profile_memory: bool | None = None
    versions: tuple[tuple[str, str], ...] = ()
    truncated: bool = False
    groups: tuple[ProcessGroup, ...] = ()
