"""What a row is, from its name: collectives, synchronising calls, launches, copies, allocations.

Patterns, not lists of known names, so that CUDA, HIP, MTIA, MLU, Ascend and XPU spellings are all
covered and a new variant (``cuLaunchKernelEx``, ``hipExtLaunchKernel``) is too. Patterns are in
the Rust regex dialect of polars (no look-around) and run once per distinct name.
"""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt
import polars as pl

from timesink.model.results import RuntimeKind

Bools = npt.NDArray[np.bool_]

#: Classes of device rows, the values of ``Prepared.device["klass"]``.
COMPUTE, COMMUNICATION, COPY, UNCLASSIFIED = range(4)

#: Kernels that move data between devices: the libraries (NCCL, RCCL, HCCL, CNCL, oneCCL, MSCCL++,
#: NVSHMEM, DeepEP) and hand-written collectives (vLLM's cross_device_reduce, one/two-shot).
COMMUNICATION_NAMES = (
    r"(?i)nccl|rccl|hccl|hcom_|cncl|oneccl|msccl|nvshmem|rocshmem|deep_?ep\b|deep_ep|"
    r"cross_device_reduce|all_?reduce|all_?gather|reduce_?scatter|all_?to_?all|sendrecv|"
    r"multimem_|quick_?reduce"
)
#: Host rows whose launches are collectives whatever the kernel is called.
COMMUNICATION_PARENTS = r"^record_param_comms$|^(nccl|rccl|hccl|cncl|xccl|gloo|mpi|ucc):"

_SYNC = (
    r"(?i)synchronize|queuesync|syncdevice|sync_?stream|queuefinish|eventwait(_v\d)?$|^ureventwait"
)
_COPY = r"(?i)memcpy|memset|memorycopy|memoryfill|memcopy|membufferwrite|membufferread"
_NOT_BLOCKING = r"(?i)async|enqueue|append|memset|memoryfill|graph|node"
_GRAPH = r"(?i)graph_?launch|graph_?execute|^aclmdlRIExecute"
_ALLOC = r"(?i)malloc|hostalloc|memalloc|allochost|memcreate|addressreserve|hostregister"
_FREE = r"(?i)free|memrelease|hostunregister"
_LAUNCH = r"(?i)launch|invokekernel|enqueuekernel|^dequeue@|^runfunction"
_NOT_LAUNCH = r"(?i)hostfunc|launchconfig|attribute|host_func"


class Names:
    """The names of some rows; each pattern is matched once per distinct name."""

    def __init__(self, strings: pl.Series, codes: pl.Series) -> None:
        self._codes = codes.to_numpy().astype(np.intp)
        used = np.zeros(len(strings), np.bool_)
        used[self._codes] = True
        self._used = np.flatnonzero(used)
        self._size = len(strings)
        self._texts = strings.gather(self._used)

    def match(self, pattern: str) -> Bools:
        """For each row, whether its name contains the pattern."""
        table = np.zeros(self._size, np.bool_)
        hits = self._texts.str.contains(pattern).fill_null(False).to_numpy()
        table[self._used] = hits
        found: Bools = table[self._codes]
        return found


def sync_rows(names: Names) -> Bools:
    """Rows that are calls in which the host waits for the device, blocking copies included."""
    blocking = names.match(_COPY) & ~names.match(_NOT_BLOCKING)
    found: Bools = names.match(_SYNC) | blocking
    return found


def graph_rows(names: Names) -> Bools:
    """Rows that launch a captured graph."""
    return names.match(_GRAPH)


def launch_rows(names: Names) -> Bools:
    """Rows that are expected to lead to device rows: launches, graph launches, copies."""
    launches = names.match(_LAUNCH) & ~names.match(_NOT_LAUNCH)
    allocation = names.match(_ALLOC) | names.match(_FREE)
    found: Bools = (launches | names.match(_COPY) | names.match(_GRAPH)) & ~allocation
    return found


def allocation_rows(names: Names) -> Bools:
    """Rows that allocate or free device or pinned memory."""
    found: Bools = names.match(_ALLOC) | names.match(_FREE)
    return found


def is_sync_call(name: str) -> bool:
    """Whether a runtime call of this name makes the host wait for the device."""
    if _has(_SYNC, name):
        return True
    return _has(_COPY, name) and not _has(_NOT_BLOCKING, name)


def is_graph_launch(name: str) -> bool:
    """Whether a runtime call of this name launches a captured graph."""
    return _has(_GRAPH, name)


def runtime_kind(name: str) -> RuntimeKind:
    """The kind of a runtime or driver call, any vendor; blocking copies count as "sync"."""
    if is_graph_launch(name):
        return "graph launch"
    if is_sync_call(name):
        return "sync"
    if _has(_ALLOC, name):
        return "alloc"
    if _has(_FREE, name):
        return "free"
    if _has(_COPY, name):
        return "copy"
    return "launch" if _has(_LAUNCH, name) and not _has(_NOT_LAUNCH, name) else "other"


def _has(pattern: str, name: str) -> bool:
    return re.search(pattern, name) is not None
