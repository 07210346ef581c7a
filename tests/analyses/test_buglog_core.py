"""BUGLOG rows that concern the core of the analyses and have no better place."""

from __future__ import annotations

import pytest

from tests.analyses import tables as t
from timesink.analyses.breakdown import breakdown
from timesink.analyses.classify import is_graph_launch, is_sync_call, runtime_kind
from timesink.analyses.idle import idle
from timesink.analyses.prepare import Prepared
from timesink.analyses.usage import usage
from timesink.model.owners import Owner
from timesink.store.schema import Kind


def codes(p: Prepared) -> dict[str, int]:
    return {n.code: n.count for n in p.notes}


def test_b1_integer_us_child_ends_after_its_parent() -> None:
    p = t.prepared(
        t.step(1, 0, 10_000), t.op("aten::conv", 1000, 4000), t.op("aten::_conv", 2000, 4000)
    )
    assert (p.host["self_ns"] >= 0).all()
    assert p.host["self_ns"].to_list() == [6000, 1000, 3000]
    assert p.host["self_ns"].sum() == p.steps[0].wall_ns


def test_b2_fractions_are_never_rounded() -> None:
    p = t.prepared(t.step(1, 0, 1000), t.kernel("k", 100_7, 2), t.kernel("k", 100_9, 1))
    (found,) = usage(p)
    assert (found.busy_ns, found.sum_ns, found.span_ns) == (3, 3, 3)
    assert (p.device["end"] >= p.device["ts"]).all()


def test_b4_rows_without_a_time_never_set_the_start() -> None:
    epoch = 1_623_143_089_861_123_000
    lost = [t.kernel("k", 0, 0) for _ in range(1000)]
    p = t.prepared(t.op("aten::mm", epoch, 500), t.kernel("k", epoch + 100, 700), *lost)
    assert [(s.start_ns - epoch, s.end_ns - epoch) for s in p.steps] == [(0, 800)]
    assert codes(p)["timeless-rows"] == 1000
    assert usage(p)[0].span_ns == 700


def test_b6_ends_in_the_future_are_kept_and_counted() -> None:
    span = t.row(Kind.SPAN, "PyTorch Profiler (0)", 0, 1000, cat="Trace")
    p = t.prepared(span, t.step(1, 0, 1000), t.kernel("k", 10, 20), t.kernel("k", 5000, 10**9))
    assert codes(p)["outside-window"] == 1
    assert p.device.height == 2
    assert breakdown(p).total(Owner.DEVICE_COMPUTE) == 20


def test_b9_many_crossings_one_note() -> None:
    crossed = [t.op("aten::x", 10 * i, 15) for i in range(600)]
    p = t.prepared(t.step(1, 0, 6000), *crossed)
    assert [n.code for n in p.notes].count("clipped-rows") == 1
    assert (
        codes(p)["clipped-rows"] == 300
    )  # every second one: the next starts after the clipped end
    assert p.host["self_ns"].sum() == p.steps[0].wall_ns


def test_b10_endless_python_frames_take_no_operator_away() -> None:
    rows = [t.step(1, 0, 100), t.op("aten::mm", 10, 20), t.launch(15, 2, corr=1)]
    rows += [t.kernel("k", 40, 10, corr=1)]
    plain = breakdown(t.prepared(*rows))
    broken = t.prepared(*rows, t.python("a.py(1): f", 5, 10**12), t.python("b.py(1): g", 6, 10**13))
    assert breakdown(broken).steps == plain.steps
    assert [broken.tables.text(broken.host["name"][i]) for i in broken.device["op"]] == ["aten::mm"]


def test_c6_all_records_out_of_range() -> None:
    span = t.row(Kind.SPAN, "PyTorch Profiler (0)", 0, 1000, cat="Trace")
    rows = [t.kernel("k", 10**9 + i, 1) for i in range(5)]
    p = t.prepared(span, t.step(1, 0, 1000), *rows)
    assert codes(p)["outside-window"] == 5
    assert codes(p)["device-outside-steps"] == 5
    assert breakdown(p).total(Owner.DEVICE_COMPUTE) == 0
    assert breakdown(p).tail_ns == 5


def test_c12_a_rank_without_its_compute_stream_is_not_called_busy_or_failed() -> None:
    """One stream with only a memset: what there is is counted, per stream."""
    p = t.prepared(t.step(1, 0, 100), t.memset(10, 5, stream=0))
    (found,) = usage(p)
    assert (found.streams, found.compute_ns, found.copy_ns) == (1, 0, 5)


def test_c13_stream_zero_is_a_stream() -> None:
    p = t.prepared(
        t.step(1, 0, 100), t.kernel("k", 10, 10, stream=0), t.kernel("k", 40, 10, stream=3)
    )
    assert usage(p)[0].streams == 2
    assert breakdown(p).total(Owner.DEVICE_COMPUTE) == 20


def test_c18_no_collections_no_copies_no_memsets() -> None:
    p = t.prepared(t.kernel("k", 10, 10))
    assert usage(p)[0].copy_ns == 0
    assert idle(p)[0].gaps == 0
    assert breakdown(p).has_device


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("cudaLaunchKernel", "launch"), ("cudaLaunchKernelExC", "launch"),
        ("cudaLaunchCooperativeKernel", "launch"), ("cuLaunchKernelEx", "launch"),
        ("hipLaunchKernel", "launch"), ("hipExtModuleLaunchKernel", "launch"),
        ("cnInvokeKernel", "launch"), ("urEnqueueKernelLaunch", "launch"),
        ("Dequeue@aclnnAddmm", "launch"),
        ("runFunction - job_prep_and_submit_for_execution", "launch"),
        ("cudaGraphLaunch", "graph launch"), ("hipGraphLaunch", "graph launch"),
        ("cuGraphLaunch", "graph launch"),
        ("cudaMemcpyAsync", "copy"), ("cudaMemsetAsync", "copy"), ("hipMemcpyAsync", "copy"),
        ("cnMemcpyHtoDAsync", "copy"), ("enqueueCommand memcpyDtoHAsync", "copy"),
        ("cudaMemcpy", "sync"), ("cudaMemcpy2D", "sync"), ("hipMemcpyWithStream", "sync"),
        ("cuMemcpyDtoH_v2", "sync"), ("cudaStreamSynchronize", "sync"),
        ("cudaDeviceSynchronize", "sync"), ("cudaEventSynchronize", "sync"),
        ("hipDeviceSynchronize", "sync"), ("cuCtxSynchronize", "sync"),
        ("cnrtQueueSync", "sync"), ("cnrtSyncDevice", "sync"), ("synchronizeStream", "sync"),
        ("AscendCL@aclrtSynchronizeStream", "sync"), ("zeEventHostSynchronize", "sync"),
        ("cudaMalloc", "alloc"), ("cudaHostAlloc", "alloc"), ("hipHostMalloc", "alloc"),
        ("cuMemCreate", "alloc"), ("cnrtMalloc", "alloc"),
        ("cudaFree", "free"), ("hipFree", "free"), ("cudaFreeHost", "free"),
        ("cudaEventRecord", "other"), ("cudaStreamWaitEvent", "other"),
        ("cudaLaunchHostFunc", "other"), ("cudaStreamIsCapturing", "other"),
        ("cudaEventQuery", "other"), ("cudaFuncGetAttributes", "other"),
    ],
)  # fmt: skip
def test_c13_runtime_calls_of_all_vendors(name: str, kind: str) -> None:
    assert runtime_kind(name) == kind
    assert is_sync_call(name) == (kind == "sync")
    assert is_graph_launch(name) == (kind == "graph launch")


@pytest.mark.parametrize(
    "name",
    [
        "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
        "ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t", "void vllm::cross_device_reduce_1stage<bf16>",
        "void deep_ep::intranode::dispatch<4>", "mscclKernel_Sum_half_Simple",
        "nvshmemi_barrier_on_stream", "void two_shot_all_reduce_kernel<float>",
        "hcom_allReduce__312_0_1", "one_shot_allreduce_push",
    ],
)  # fmt: skip
def test_b18_communication_kernels_without_nccl_in_the_name(name: str) -> None:
    p = t.prepared(t.step(1, 0, 100), t.kernel(name, 10, 10))
    assert breakdown(p).total(Owner.EXPOSED_COMMUNICATION) == 10


@pytest.mark.parametrize(
    "name",
    [
        "void at::native::reduce_kernel<512, 1>", "void cask_cudnn::computeOffsetsKernel",
        "ampere_sgemm_128x64_nn", "void at::native::vectorized_gather_kernel<16>",
        "triton_red_fused_native_layer_norm_0", "Cijk_Ailk_Bljk_BBS_BH_Bias_HAS",
    ],
)  # fmt: skip
def test_b18_compute_is_not_communication(name: str) -> None:
    p = t.prepared(t.step(1, 0, 100), t.kernel(name, 10, 10))
    assert breakdown(p).total(Owner.DEVICE_COMPUTE) == 10


def test_rows_that_say_nothing_count_as_compute_and_are_said() -> None:
    p = t.prepared(t.step(1, 0, 100), t.kernel("", 10, 10))
    assert breakdown(p).total(Owner.DEVICE_COMPUTE) == 10
    assert codes(p)["unclassified-rows"] == 1
