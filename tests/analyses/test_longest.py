"""The longest operator and the longest device row."""

from __future__ import annotations

from tests.analyses import tables as t
from timesink.analyses.lines import user_lines
from timesink.analyses.longest import longest_device, longest_op, longest_self_op
from timesink.analyses.prepare import Prepared
from timesink.model.results import LongestEvent


def training() -> Prepared:
    return t.prepared(
        t.step(7, 0, 1000), t.op("aten::start-up", 10, 900),
        t.step(8, 1000, 1000), t.python("train.py(9): <module>", 1000, 990),
        t.op("aten::linear", 1100, 500, shape="[[2]]"),
        t.op("aten::addmm", 1110, 480, shape="[[3]]"),
        t.launch(1120, 5, corr=1), t.kernel("gemm", 1300, 2000, corr=1),
        t.memcpy("Memcpy HtoD", 1200, 30),
    )  # fmt: skip


def test_longest_operator_of_the_verdict_steps_with_step_shape_and_line() -> None:
    p = training()
    line = "train.py(9): <module>"
    assert longest_op(p, user_lines(p)) == LongestEvent("aten::linear", 1100, 500, 8, "[[2]]", line)
    assert longest_self_op(p, user_lines(p)) == LongestEvent(
        "aten::addmm", 1110, 475, 8, "[[3]]", line
    )


def test_longest_device_row_has_the_shape_and_line_of_its_operator() -> None:
    p = training()
    assert longest_device(p, user_lines(p)) == LongestEvent(
        "gemm", 1300, 2000, 8, "[[3]]", "train.py(9): <module>"
    )


def test_no_step_number_where_the_window_is_the_step() -> None:
    p = t.prepared(t.op("aten::mm", 0, 10), t.kernel("gemm", 20, 5))
    op, device = longest_op(p, user_lines(p)), longest_device(p, user_lines(p))
    assert op is not None
    assert device is not None
    assert (op.step, device.step, device.shape, device.line) == (None, None, "", "")


def test_nothing_is_longest_of_nothing() -> None:
    p = t.prepared(t.annotation("my range", 0, 100))
    assert longest_op(p, user_lines(p)) is None
    assert longest_self_op(p, user_lines(p)) is None
    assert longest_device(p, user_lines(p)) is None
