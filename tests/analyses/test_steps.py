"""Steps: where they come from, which are judged, what belongs to them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.analyses import tables as t
from timesink.analyses.prepare import Prepared
from timesink.model.owners import Phase


def numbers(p: Prepared) -> list[int]:
    return [s.number for s in p.steps]


def judged(p: Prepared) -> list[int]:
    return [s.number for s in p.steps if s.in_verdict]


def note_codes(p: Prepared) -> set[str]:
    return {n.code for n in p.notes}


def test_profiler_steps_with_their_raw_wall() -> None:
    p = t.prepared(t.step(3, 0, 100), t.step(4, 100, 50), t.step(5, 150, 70))
    assert p.source == "ProfilerStep"
    assert [(s.number, s.start_ns, s.end_ns) for s in p.steps] == [
        (3, 0, 100), (4, 100, 150), (5, 150, 220),
    ]  # fmt: skip
    assert [s.first for s in p.steps] == [True, False, False]
    assert judged(p) == [4, 5]


def test_b9_a_crossed_step_keeps_its_wall() -> None:
    """``_local_scalar_dense`` that starts before the step and ends within it clips the range."""
    p = t.prepared(
        t.op("aten::_local_scalar_dense", 0, 900), t.step(1, 800, 1000), t.op("aten::mm", 1000, 10),
    )  # fmt: skip
    assert [(s.start_ns, s.end_ns) for s in p.steps] == [(800, 1800)]
    assert p.host["end"].to_list() == [900, 900, 1010]
    assert p.host["step"].to_list() == [-1, 0, 0]
    assert "clipped-rows" in note_codes(p)


def test_device_copies_of_step_ranges_are_no_steps() -> None:
    p = t.prepared(t.step(1, 0, 100), t.device_annotation("ProfilerStep#1", 20, 200))
    assert [(s.start_ns, s.end_ns) for s in p.steps] == [(0, 100)]


def test_own_marks_where_there_is_no_profiler_step() -> None:
    p = t.prepared(t.annotation("timesink::step#0", 0, 10), t.annotation("timesink::step#1", 10, 9))
    assert (p.source, numbers(p)) == ("marks", [0, 1])
    both = t.prepared(t.annotation("timesink::step#0", 0, 10), t.step(7, 0, 12))
    assert (both.source, numbers(both)) == ("ProfilerStep", [7])


def test_c20_no_marks_make_the_window_one_step() -> None:
    p = t.prepared(t.op("aten::mm", 10, 20), t.launch(15, 5, corr=1), t.kernel("k", 40, 25, corr=1))
    assert p.source == "window"
    assert [(s.start_ns, s.end_ns, s.in_verdict) for s in p.steps] == [(10, 65, True)]
    assert "no-step-marks" in note_codes(p)


def test_c20_one_step_only_is_judged() -> None:
    p = t.prepared(t.step(0, 0, 100))
    assert judged(p) == [0]
    assert not p.steps[0].first


def test_marks_on_two_threads_count_once() -> None:
    p = t.prepared(
        t.step(1, 0, 100),
        t.step(2, 100, 100),
        t.step(1, 1, 99, tid="2"),
        t.step(2, 101, 99, tid="2"),
    )
    assert [(s.start_ns, s.end_ns) for s in p.steps] == [(0, 100), (100, 200)]
    assert "step-marks-elsewhere" in note_codes(p)


@pytest.mark.parametrize(
    "name",
    [
        "_compile.compile_inner (dynamo_timed)",
        "compile_fx_inner (dynamo_timed)",
        "torch/_inductor/compile_fx.py(1523): compile_fx",
    ],
)
def test_steps_with_compilation_are_left_out(name: str) -> None:
    row = t.python if ".py(" in name else t.annotation
    p = t.prepared(t.step(1, 0, 100), t.step(2, 100, 100), t.step(3, 200, 100), row(name, 110, 9))
    assert [s.compiled for s in p.steps] == [False, True, False]
    assert judged(p) == [3]


@pytest.mark.parametrize("name", ["Torch-Compiled Region: 0/0", "TorchDynamo Cache Lookup"])
def test_running_compiled_code_is_no_compilation(name: str) -> None:
    p = t.prepared(t.step(1, 0, 100), t.step(2, 100, 100), t.op(name, 110, 50))
    assert not any(s.compiled for s in p.steps)


def test_verdicts_fall_back_when_nothing_else_is_left() -> None:
    compiling = t.annotation("_compile.compile_inner (dynamo_timed)", 110, 5)
    assert judged(t.prepared(t.step(1, 0, 100), t.step(2, 100, 100), compiling)) == [1]
    only = t.annotation("_compile.compile_inner (dynamo_timed)", 10, 5)
    assert judged(t.prepared(t.step(1, 0, 100), only)) == [1]


def test_an_empty_last_step_is_left_out_and_said() -> None:
    work = [t.op("aten::mm", 100 * i + 5, 50) for i in range(2)]
    p = t.prepared(t.step(1, 0, 100), t.step(2, 100, 100), t.step(3, 200, 3), *work)
    assert judged(p) == [2]
    assert "empty-step" in note_codes(p)
    assert judged(t.prepared(t.step(1, 0, 100), t.step(2, 100, 3), work[0])) == [1]


def test_work_outside_steps_is_counted() -> None:
    p = t.prepared(
        t.step(1, 100, 100), t.op("aten::mm", 0, 50), t.launch(10, 5, corr=1),
        t.kernel("k", 120, 30, corr=1),
    )  # fmt: skip
    assert p.steps[0].device_ns == 0
    assert {"host-outside-steps", "device-outside-steps"} <= note_codes(p)


def test_device_time_is_unknown_not_zero_without_device_rows() -> None:
    assert t.prepared(t.step(1, 0, 100), t.launch(1, 2, corr=1)).steps[0].device_ns is None
    assert t.prepared(t.step(1, 0, 100), t.op("aten::mm", 1, 2)).steps[0].device_ns == 0


@pytest.mark.parametrize(
    ("name", "phase"),
    [
        ("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", "data"),
        ("Optimizer.step#SGD.step", "optimizer"),
        ("Optimizer.zero_grad#SGD.zero_grad", "optimizer"),
        ("autograd::engine::evaluate_function: MmBackward0", "backward"),
        ("CudnnConvolutionBackward", "backward"),
        ("torch::autograd::AccumulateGrad", "backward"),
        ("timesink::checkpoint", "io"),
        ("my range", "forward"),
    ],
)
@pytest.mark.parametrize("outer", [t.annotation, t.op])
def test_phase_of_an_operator_is_that_of_the_range_around_it(
    name: str, phase: str, outer: Callable[..., t.Row]
) -> None:
    """Old traces give ranges the category of operators: that changes nothing."""
    p = t.prepared(t.step(1, 0, 100), outer(name, 10, 50), t.op("aten::mm", 20, 9))
    assert list(Phase)[p.host["phase"][2]].value == phase


def test_rows_of_an_autograd_thread_are_backward() -> None:
    p = t.prepared(
        t.step(1, 0, 100), t.op("aten::mm", 0, 10), t.op("aten::add", 12, 3),
        t.backward("MmBackward0", 20, 10, tid="2"), t.backward("AddBackward0", 30, 10, tid="2"),
        t.op("aten::detach", 41, 2, tid="2"),
    )  # fmt: skip
    phases = [list(Phase)[i].value for i in p.host["phase"]]
    assert phases == ["other", "forward", "forward", "backward", "backward", "backward"]


def test_python_frames_and_operators_know_each_other() -> None:
    p = t.prepared(
        t.python("train.py(1): main", 0, 100), t.op("aten::linear", 10, 50),
        t.python("nn.py(3): f", 20, 20), t.op("aten::mm", 25, 5), t.launch(26, 2, corr=1),
    )  # fmt: skip
    assert p.host["parent"].to_list() == [-1, -1, 0, 1, 3]
    assert p.host["py"].to_list() == [-1, 0, 0, 2, 2]
    assert p.host["op"].to_list() == [-1, 1, 1, 3, 3]
    assert p.host["self_ns"].to_list() == [80, 45, 20, 3, 2]
