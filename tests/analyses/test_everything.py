"""The whole analysis: never an exception, whatever is missing; parts agree with each other."""

from __future__ import annotations

import pytest
from hypothesis import given

from tests.analyses import tables as t
from tests.analyses.forests import Node, forests, rows
from tests.realdata import real_trace
from timesink.analyses.everything import analyse, merged
from timesink.analyses.timeline import timeline
from timesink.model.trace import QualityNote


def test_empty_tables() -> None:
    built = t.tables()
    found = analyse(built, t.info(built))
    assert (found.ops, found.kernels, found.memory, found.usage) == ((), (), (), ())
    assert (found.launches, found.longest_op, found.host_threads, found.processes) == (
        None, None, 0, 0,
    )  # fmt: skip


def test_device_rows_alone() -> None:
    built = t.tables(t.kernel("gemm", 10, 20, corr=3), t.memset(40, 5))
    found = analyse(built, t.info(built))
    assert (found.kernels[0].total_ns, found.copies[0].kind) == (20, "memset")
    assert found.longest_device is not None
    assert found.launches is not None
    assert found.launches.unlaunched == 2


def test_host_rows_alone() -> None:
    built = t.tables(t.op("aten::mm", 0, 10), t.op("aten::mm", 0, 10, tid="2", pid="9"))
    found = analyse(built, t.info(built))
    assert (found.host_threads, found.processes, found.kernels) == (2, 2, ())


@given(forests)
def test_parts_agree(forest: list[Node]) -> None:
    built = t.tables(*rows(forest))
    found = analyse(built, t.info(built))
    device = sum(r.total_ns for r in found.kernels) + sum(r.total_ns for r in found.copies)
    assert sum(r.device_self_ns for r in found.ops) == device
    assert device == sum(u.sum_ns for u in found.usage)
    assert found.steps_counted == len(found.breakdown.verdict_steps)
    assert sum(u.rows for u in found.usage) == (found.launches.rows if found.launches else 0)


def test_notes_of_one_code_are_given_once() -> None:
    notes = [QualityNote("a", "first"), QualityNote("b", "other"), QualityNote("a", "again")]
    assert merged(notes) == (notes[0], notes[1])


@pytest.mark.real
@pytest.mark.parametrize(
    "path",
    [
        "hta/nccl_parser_config/nccl_data.json.gz",
        "hta/amd_trace/mi250_minitoy_train_ROCm6_2_kineto.json.gz",
        "hta/mtia_inference_trace/mtia_inference_rank_0.json.gz",
        "Cambricon__torch_mlu/89d986__mlu_metrics_input.json.gz",
        "Ascend__msprof-analyze/f622e9__trace_view.json.gz",
        "bonlime__skoltech_thesis_template/7d2fe3__trace.json.gz",
        "tracelens/mi210/gpu_only_trace/gpu_only_trace.json.gz",
        "andrewlala__ResNet50/2d21d7__trace_cpu.json.gz",
        "luatil__torch-profile/1eeffb__trace_05.json.gz",
    ],
)
def test_device_time_is_the_same_in_every_table_of_a_real_trace(path: str) -> None:
    from timesink.analyses.prepare import prepare
    from timesink.store.read import read_trace

    trace = read_trace(real_trace(path), cache=False)
    found = analyse(trace.tables, trace.info, trace.quality)
    prepared = prepare(trace.tables, trace.info)
    counted = {i for i, s in enumerate(prepared.steps) if s.in_verdict}
    expected = sum(
        dur
        for dur, step in prepared.device.select("dur", "step").iter_rows()
        if prepared.source == "window" or step in counted
    )
    tables = sum(r.total_ns for r in found.kernels) + sum(r.total_ns for r in found.copies)
    assert tables == expected
    assert sum(r.device_self_ns for r in found.ops) == expected
    assert all(r.cpu_self_ns >= 0 for r in found.ops)
    shown = timeline(prepared, trace.raw_args, limit=500)
    assert sum(len(lane.start_ns) for lane in shown.lanes) <= 500
