"""Results of the analyses of one trace (one rank). All times integer ns, all rows frozen.

Counts and times of tables cover the *verdict steps* (see ``Breakdown.verdict_steps``) unless the
field says otherwise; ``Analysis.steps_counted`` is how many steps that is. A trace without step
marks has one step, the whole window. Events outside every step are counted in the quality notes.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Literal

from timesink.model.owners import Phase
from timesink.model.steps import Breakdown
from timesink.model.trace import QualityNote, TraceInfo


@dataclass(frozen=True, slots=True)
class DeviceUsage:
    """Busy and idle of one device over the *whole trace*, by union of intervals.

    ``span_ns`` runs from the first device row's start to the last one's end; ``idle_ns`` =
    ``span_ns`` - ``busy_ns``. ``compute_ns``, ``communication_ns`` and ``copy_ns`` are unions per
    class over all streams (they may overlap each other, so they can add up to more than busy).
    ``sum_ns`` is the plain sum of durations: larger than ``busy_ns`` where rows overlap.
    ``exposed_communication_ns``: communication while no compute runs.
    """

    device: int
    rows: int
    streams: int
    span_ns: int
    busy_ns: int
    idle_ns: int
    sum_ns: int
    compute_ns: int
    communication_ns: int
    copy_ns: int
    exposed_communication_ns: int
    exposed_copy_ns: int
    overlaps: int = 0


class IdleCause(str, Enum):
    """Why a device had nothing to do."""

    DATA = "waiting for data"
    SYNC = "after a synchronising call"
    LAUNCH = "host behind (launch-bound)"
    ALLOCATOR = "device memory allocation"
    COLLECTIVE = "waiting for a peer"
    GARBAGE_COLLECTION = "garbage collection"
    CHECKPOINT_IO = "checkpoint/IO"
    OTHER_PYTHON = "Python between operators"
    DEVICE = "device-side dependency"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class IdleGap:
    """One gap with no row on any stream of ``device``.

    ``before``/``after`` are the device rows around it, ``host`` the host row that explains it
    (name), ``line`` the innermost user Python line seen in it ("train.py(31): step") or "".
    """

    device: int
    start_ns: int
    dur_ns: int
    cause: IdleCause
    before: str
    after: str
    host: str = ""
    line: str = ""


@dataclass(frozen=True, slots=True)
class IdleSummary:
    """All gaps of a device between its first and last row. ``causes``: (cause, ns, gaps)."""

    device: int
    total_ns: int
    gaps: int
    causes: tuple[tuple[IdleCause, int, int], ...]
    longest: tuple[IdleGap, ...]


@dataclass(frozen=True, slots=True)
class OpRow:
    """Operators grouped by name (and by shape, stack or module when asked).

    Self and total as torch.profiler defines them: total includes children, self does not;
    recursive calls count once in totals; children are clipped to parents so that self >= 0.
    Device time of a row = kernels and copies launched from it, each with one owner; the row
    ``timesink.analyses.ops.NO_OPERATOR`` owns those launched outside any operator.
    ``cpu_max_ns`` is the longest single call (total).
    """

    name: str
    phase: Phase
    calls: int
    cpu_self_ns: int
    cpu_total_ns: int
    device_self_ns: int
    device_total_ns: int
    cpu_max_ns: int = 0
    shape: str = ""
    stack: str = ""
    module: str = ""


@dataclass(frozen=True, slots=True)
class RangeRow:
    """A user's ``record_function`` range. ``share``: of the verdict steps' wall, by union."""

    name: str
    calls: int
    total_ns: int
    device_ns: int
    share: float
    mean_ns: float
    max_ns: int


KernelClass = Literal["compute", "communication", "unclassified"]


@dataclass(frozen=True, slots=True)
class KernelRow:
    """Kernels grouped by name. ``share`` is of the summed kernel time.

    ``delay_median_ns``: kernel start minus the *start* of its launch call, floored at 0 (None when
    no launch is linked). ``op`` is the operator that launches it most (by time), "" if none.
    ``graph``: launched through a CUDA/HIP graph.
    """

    name: str
    kind: KernelClass
    calls: int
    total_ns: int
    mean_ns: float
    min_ns: int
    max_ns: int
    share: float
    streams: tuple[int, ...]
    delay_median_ns: float | None = None
    op: str = ""
    graph: bool = False


@dataclass(frozen=True, slots=True)
class CopyRow:
    """Copies and memsets by kind and memory type, e.g. ("HtoD", "Pageable", "Device").

    ``bytes`` is 0 when the trace does not say. ``exposed_ns``: while no kernel runs on the device.
    ``on_compute_stream``: shares a stream with kernels.
    """

    kind: str
    source: str
    target: str
    calls: int
    total_ns: int
    bytes: int
    max_ns: int
    exposed_ns: int
    streams: tuple[int, ...]
    on_compute_stream: bool = False

    @property
    def pinned(self) -> bool | None:
        """Whether the host side is pinned memory; None when there is no host side or no word."""
        sides = {self.source, self.target}
        if "Pinned" in sides:
            return True
        return False if "Pageable" in sides else None


RuntimeKind = Literal["launch", "graph launch", "copy", "sync", "alloc", "free", "other"]


@dataclass(frozen=True, slots=True)
class RuntimeRow:
    """Runtime/driver calls (``cudaLaunchKernel``, ``hipStreamSynchronize``, ...) by caller.

    ``op`` is the innermost enclosing operator ("" if none), ``phase`` that of the call.
    ``idle_ns`` is the time within and right after the calls during which the device was idle:
    for a sync, from its start until the next device row begins. ``line``: user's Python line or "".
    """

    name: str
    kind: RuntimeKind
    phase: Phase
    op: str
    calls: int
    total_ns: int
    max_ns: int
    idle_ns: int = 0
    line: str = ""


@dataclass(frozen=True, slots=True)
class LaunchStats:
    """Launches against the device rows they led to, over the whole trace.

    ``delay_*``: row start minus launch start, floored at 0 (``negative`` counts the floored ones).
    ``queue_empty``: kernels that started within 10 µs after their launch returned and on an idle
    device: the device was waiting for the host. ``short``: kernels shorter than 10 µs (neither
    counts kernels of graphs, nor does ``kernel_mean_ns``).
    ``unlaunched``: device rows with no launch in the trace; ``lost``: launches with no device row.
    Graph launches are counted apart and kept out of delays.
    """

    launches: int
    graph_launches: int
    rows: int
    linked: int
    unlaunched: int
    lost: int
    negative: int
    delay_mean_ns: float
    delay_median_ns: float
    delay_p90_ns: float
    delay_max_ns: int
    short: int
    queue_empty: int
    launch_call_mean_ns: float
    kernel_mean_ns: float


@dataclass(frozen=True, slots=True)
class MemoryCurve:
    """Allocator totals from ``[memory]`` rows of one device ("cpu", "cuda:0", ...).

    ``ts_ns`` and the curves have one length (thinned to at most a few thousand points, peaks
    kept). Peaks are exact over all rows. ``reserved`` is all 0 where not reported (CPU).
    ``window_delta``: last total minus the one before the first row (bytes kept by the window).
    """

    device: str
    rows: int
    ts_ns: tuple[int, ...]
    allocated: tuple[int, ...]
    reserved: tuple[int, ...]
    peak_allocated: int
    peak_reserved: int
    peak_ns: int
    window_delta: int


@dataclass(frozen=True, slots=True)
class LongestEvent:
    """The single longest operator or device row. ``step`` is the step number or None."""

    name: str
    start_ns: int
    dur_ns: int
    step: int | None = None
    shape: str = ""
    line: str = ""


@dataclass(frozen=True, slots=True)
class Trend:
    """One operator (and shape) step by step, over *all* recorded steps, for rules about growth."""

    name: str
    shape: str
    calls: tuple[int, ...]
    total_ns: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Analysis:
    """Everything that is known from one trace (one rank)."""

    info: TraceInfo
    quality: tuple[QualityNote, ...]
    breakdown: Breakdown
    steps_counted: int
    usage: tuple[DeviceUsage, ...] = ()
    idle: tuple[IdleSummary, ...] = ()
    ops: tuple[OpRow, ...] = ()
    ranges: tuple[RangeRow, ...] = ()
    loaders: tuple[RangeRow, ...] = ()  #: fetches of DataLoaders, by kind of iterator
    kernels: tuple[KernelRow, ...] = ()
    copies: tuple[CopyRow, ...] = ()
    runtime: tuple[RuntimeRow, ...] = ()
    launches: LaunchStats | None = None
    memory: tuple[MemoryCurve, ...] = ()
    longest_op: LongestEvent | None = None
    longest_self_op: LongestEvent | None = None  #: by time without nested calls
    longest_device: LongestEvent | None = None
    trends: tuple[Trend, ...] = ()
    host_threads: int = 0
    processes: int = 0
