"""Who owns each nanosecond, against a naive array with one entry per nanosecond."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.analyses import tables as t
from tests.realdata import real_root, real_trace
from timesink.analyses.breakdown import breakdown
from timesink.analyses.prepare import Prepared, prepare
from timesink.model.owners import HOST_OWNERS, Owner
from timesink.model.steps import Breakdown
from timesink.store.schema import DEVICE_KINDS, Kind

SPAN = 120
RANGES = {
    "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__": "data",
    "Optimizer.step#SGD.step": "optimizer",
    "autograd::engine::evaluate_function: MmBackward0": "backward",
    "timesink::checkpoint": "io",
}
CALLS = {"cudaStreamSynchronize": "sync", "cudaMemcpy": "sync", "cudaEventRecord": "runtime"}
HOST_NAMES = [*RANGES, *CALLS, "aten::mm", "user range", "timesink::gc", "Python GC"]


def host_row(name: str, ts: int, dur: int, tid: str) -> t.Row:
    if name in CALLS:
        return t.runtime(name, ts, dur, tid=tid)
    if name == "Python GC":
        return t.gc(ts, dur, tid=tid)
    is_op = name.startswith(("aten::", "autograd::"))
    return (t.op if is_op else t.annotation)(name, ts, dur, tid=tid)


times = st.tuples(st.integers(0, SPAN - 1), st.integers(0, 40))
main_rows = st.tuples(st.sampled_from(HOST_NAMES), times).map(lambda r: host_row(r[0], *r[1], "1"))
#: thread 2 launches device work, thread 3 does not and so owns nothing
helper_rows = st.tuples(
    st.sampled_from(["aten::mm", "cudaStreamSynchronize", "cudaLaunchKernel"]),
    times, st.sampled_from(["2", "3"]),
).filter(lambda r: (r[0], r[2]) != ("cudaLaunchKernel", "3")).map(
    lambda r: t.runtime(r[0], *r[1], tid=r[2]) if r[0].startswith("cuda")
    else t.op(r[0], *r[1], tid=r[2])
)  # fmt: skip
device_rows = st.one_of(
    times.map(lambda r: t.kernel("gemm", *r)),
    times.map(lambda r: t.kernel("gemm", *r, device=1, stream=0)),
    times.map(lambda r: t.kernel("ncclDevKernel_AllReduce", *r, stream=9)),
    times.map(lambda r: t.memcpy("Memcpy HtoD (Pinned -> Device)", *r, stream=8)),
    times.map(lambda r: t.memset(*r)),
    times.map(lambda r: t.device_annotation("ProfilerStep#1", *r)),
)


def naive(rows: list[t.Row], steps: list[tuple[int, int]]) -> list[dict[Owner, int]]:
    """Owners counted nanosecond by nanosecond."""
    launching = {r["tid"] for r in rows if r["name"] == "cudaLaunchKernel"}
    threads = {
        tid: clipped([r for r in rows if r["kind"] not in DEVICE_KINDS and r["tid"] == tid])
        for tid in {"1"} | launching
    }
    result = []
    for start, end in steps:
        count = dict.fromkeys(Owner, 0)
        for at in range(start, end):
            device = [r for r in rows if r["kind"] in DEVICE_KINDS and covers(r, at)]
            count[
                owner_of(
                    device,
                    [[r for r in rows_ if r["ts"] <= at < r["end"]] for rows_ in threads.values()],
                )
            ] += 1
        result.append(count)
    return result


def covers(row: t.Row, at: int) -> bool:
    return bool(row["ts"] <= at < row["ts"] + row["dur"])


def clipped(rows: list[t.Row]) -> list[t.Row]:
    """Rows with ``end`` clipped to the innermost open row and ``path``, the names around it."""
    found: list[t.Row] = []
    stack: list[t.Row] = []
    for row in sorted(rows, key=lambda r: (r["ts"], -r["dur"])):
        while stack and stack[-1]["end"] <= row["ts"]:
            stack.pop()
        end = min([row["ts"] + row["dur"], *(s["end"] for s in stack[-1:])])
        path = [s["name"] for s in stack] + [row["name"]]
        found.append({**row, "end": end, "path": path})
        if end > row["ts"]:
            stack.append(found[-1])
    return found


def phase(row: t.Row) -> str:
    return next((RANGES[n] for n in row["path"] if n in RANGES), "forward")


def owner_of(device: list[t.Row], threads: list[list[t.Row]]) -> Owner:
    kernels = [r["name"] for r in device if r["kind"] == Kind.KERNEL]
    if "gemm" in kernels:
        return Owner.DEVICE_COMPUTE
    if kernels:
        return Owner.EXPOSED_COMMUNICATION
    if device:
        return Owner.EXPOSED_COPIES
    rows = [r for open_rows in threads for r in open_rows]
    names = {r["name"] for r in rows}
    if any(RANGES.get(n) == "data" for n in names):
        return Owner.DATA_LOADING
    if any(CALLS.get(n) == "sync" for n in names):
        return Owner.SYNC_WAIT
    if names & {"cudaLaunchKernel", "cudaEventRecord"}:
        return Owner.RUNTIME
    if any(RANGES.get(n) == "optimizer" for n in names):
        return Owner.OPTIMIZER
    for open_rows in threads:
        ops = [r for r in open_rows if r["kind"] == Kind.CPU_OP]
        inner = {phase(r) for r in ops} | {"io" for r in open_rows if RANGES.get(r["name"]) == "io"}
        if "forward" in inner and not inner & {"backward", "io"}:
            return Owner.FORWARD
    if any(phase(r) == "backward" for r in rows if r["kind"] == Kind.CPU_OP):
        return Owner.BACKWARD
    if names & {"Python GC", "timesink::gc"}:
        return Owner.GARBAGE_COLLECTION
    return Owner.CHECKPOINT_IO if "timesink::checkpoint" in names else Owner.OTHER_PYTHON


@given(st.lists(main_rows, max_size=10), st.lists(helper_rows, max_size=4),
       st.lists(device_rows, max_size=5), st.integers(1, 60))  # fmt: skip
@settings(max_examples=150, deadline=None)
def test_owners_are_those_of_a_naive_array(
    main: list[t.Row], helpers: list[t.Row], device: list[t.Row], wall: int
) -> None:
    steps = [(5, 5 + wall), (5 + wall, SPAN)]
    marks = [t.step(i, a, b - a) for i, (a, b) in enumerate(steps)]
    rows = [*marks, *main, *helpers, *device]
    found = breakdown(t.prepared(*rows))
    rows = [r for r in rows if r["kind"] != Kind.DEVICE_ANNOTATION]
    for one, (start, end), count in zip(found.steps, steps, naive(rows, steps), strict=True):
        assert sum(one.owner_ns) == end - start == one.step.wall_ns
        assert {o: one.of(o) for o in Owner} == count


def shares(found: Breakdown) -> dict[Owner, int]:
    return {o: found.total(o) for o in Owner if found.total(o)}


def test_b11_annotations_on_the_device_are_no_device_time() -> None:
    p = t.prepared(t.step(1, 0, 100), t.device_annotation("fwd", 0, 100), t.kernel("k", 10, 20))
    assert breakdown(p).total(Owner.DEVICE_COMPUTE) == 20
    assert p.steps[0].device_ns == 20


def test_b12_wrapper_and_inner_operator_do_not_count_a_kernel_twice() -> None:
    p = t.prepared(
        t.step(1, 0, 100), t.op("aten::linear", 0, 50), t.op("aten::addmm", 5, 40),
        t.launch(10, 5, corr=1), t.kernel("gemm", 60, 30, corr=1),
    )  # fmt: skip
    assert p.device.height == p.steps[0].device_rows == 1
    assert breakdown(p).total(Owner.DEVICE_COMPUTE) == p.steps[0].device_ns == 30


def test_b13_a_runtime_call_is_host_time() -> None:
    p = t.prepared(t.step(1, 0, 100), t.runtime("cudaFree", 10, 60, corr=9))
    found = breakdown(p)
    assert shares(found) == {Owner.RUNTIME: 60, Owner.OTHER_PYTHON: 40}
    assert not found.has_device


@pytest.mark.parametrize("bug", ["c1", "c3", "c4"])
def test_c1_c3_c4_launches_without_rows_leave_device_time_unknown(bug: str) -> None:
    extra = [t.row(Kind.OTHER, "m", 0, 5, cat="cuda_profiler_range")] if bug == "c3" else []
    p = t.prepared(t.step(1, 0, 100), t.launch(10, 5, corr=1), t.launch(20, 5, corr=2), *extra)
    found = breakdown(p)
    assert found.has_device
    assert not found.device_known
    (note,) = [n for n in p.notes if n.code == "no-device-rows"]
    assert note.message.startswith("2 launches, 0 device rows: device time is unknown.")
    assert ("CUPTI range profiler" in note.message) == (bug == "c3")


def test_cpu_only_has_no_device() -> None:
    found = breakdown(t.prepared(t.step(1, 0, 100), t.op("aten::mm", 0, 80)))
    assert (found.has_device, found.device_known) == (False, True)
    assert shares(found) == {Owner.FORWARD: 80, Owner.OTHER_PYTHON: 20}


def test_work_after_the_last_step_is_tail_and_in_no_step() -> None:
    p = t.prepared(t.step(1, 0, 100), t.launch(90, 5, corr=1), t.kernel("k", 95, 45, corr=1))
    found = breakdown(p)
    assert found.tail_ns == 40
    assert found.total(Owner.DEVICE_COMPUTE) == 5
    assert p.steps[0].device_ns == 45


def test_other_processes_and_idle_threads_own_nothing() -> None:
    p = t.prepared(
        t.step(1, 0, 100), t.op("aten::pin_memory", 0, 90, tid="pin"),
        t.op("aten::mm", 0, 90, pid="9"), t.launch(0, 50, corr=1, pid="9"),
        t.kernel("k", 5, 60, corr=1),
    )  # fmt: skip
    assert shares(breakdown(p)) == {Owner.OTHER_PYTHON: 100}


def test_serialization_frames_are_checkpoint_io_where_stacks_exist() -> None:
    p = t.prepared(
        t.step(1, 0, 100), t.python("torch/serialization.py(965): save", 10, 60),
        t.op("aten::to", 20, 10),
    )  # fmt: skip
    assert shares(breakdown(p)) == {Owner.CHECKPOINT_IO: 60, Owner.OTHER_PYTHON: 40}


@pytest.mark.parametrize(
    "rows",
    [
        [],
        [t.kernel("k", 5, 10)],
        [t.op("aten::mm", 5, 0)],
        [t.python("train.py(1): f", 0, 10)],
        [t.device_annotation("x", 0, 10)],
        [t.step(1, 0, 0), t.op("aten::mm", 5, 5)],
    ],
)
def test_traces_with_next_to_nothing(rows: list[t.Row]) -> None:
    found = breakdown(t.prepared(*rows))
    assert all(sum(s.owner_ns) == s.step.wall_ns for s in found.steps)


@pytest.fixture(scope="module")
def traces() -> list[tuple[str, Prepared]]:
    read = pytest.importorskip("timesink.store.read")
    from timesink.errors import TimesinkError

    found = []
    for path in sorted(real_root().rglob("*.gz")):
        if "not_torch" in path.parts:
            continue
        try:
            trace = read.read_trace(path, cache=False)
        except TimesinkError:
            continue
        found.append((path.name, prepare(trace.tables, trace.info)))
    return found


@pytest.mark.real
def test_owners_sum_to_the_wall_on_every_real_trace(traces: list[tuple[str, Prepared]]) -> None:
    assert traces
    for name, p in traces:
        found = breakdown(p)
        assert found.steps, name
        for step in found.steps:
            assert min(step.owner_ns) >= 0, name
            assert sum(step.owner_ns) == step.step.wall_ns, name


@pytest.mark.real
@pytest.mark.parametrize(("workers", "waits"), [(0, True), (4, False)])
def test_data_loading_leads_the_host_only_without_workers(workers: int, waits: bool) -> None:
    read = pytest.importorskip("timesink.store.read")
    folder = real_trace(f"kineto/resnet50_num_workers_{workers}")
    trace = read.read_trace(next(folder.glob("*.gz")), cache=False)
    found = breakdown(prepare(trace.tables, trace.info))
    most = max(HOST_OWNERS, key=found.total)
    assert (most == Owner.DATA_LOADING) == waits
    assert (found.share(Owner.DATA_LOADING) > 0.25) == waits
