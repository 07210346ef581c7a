"""Results as frames."""

from __future__ import annotations

from timesink.analyses.frames import to_frame
from timesink.model.owners import Phase
from timesink.model.results import KernelRow, OpRow
from timesink.model.steps import Step, StepBreakdown


def test_enums_are_values_and_tuples_are_text() -> None:
    frame = to_frame([
        KernelRow("gemm", "compute", 2, 10, 5.0, 4, 6, 1.0, (7, 9)),
        KernelRow("add", "compute", 1, 10, 5.0, 4, 6, 1.0, (7,), 3.5),
    ])  # fmt: skip
    assert frame["streams"].to_list() == ["7,9", "7"]
    assert frame["delay_median_ns"].to_list() == [None, 3.5]
    ops = to_frame([OpRow("aten::mm", Phase.BACKWARD, 1, 2, 3, 4, 5)])
    assert ops["phase"].to_list() == ["backward"]
    assert "name,phase,calls" in ops.write_csv()


def test_nested_results_are_columns_with_a_prefix() -> None:
    frame = to_frame([StepBreakdown(Step(3, 0, 10), (1, 2))])
    assert frame["step.number"].to_list() == [3]
    assert frame["owner_ns"].to_list() == ["1,2"]


def test_no_rows_no_columns() -> None:
    assert to_frame([]).shape == (0, 0)
