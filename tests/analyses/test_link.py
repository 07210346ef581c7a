"""Device rows and the launches, operators and steps they belong to."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.analyses import tables as t
from timesink.analyses.link import first_of, lost_launches
from timesink.analyses.prepare import Prepared


def codes(p: Prepared) -> dict[str, str]:
    return {n.code: n.message for n in p.notes}


@given(st.lists(st.integers(-1, 6)), st.lists(st.integers(-1, 8)))
def test_first_of_is_a_dictionary(keys: list[int], wanted: list[int]) -> None:
    rows = np.arange(len(keys)) + 100
    found = first_of(np.array(keys, np.int64), rows, np.array(wanted, np.int64))
    first: dict[int, int] = {}
    for key, row in zip(keys, rows.tolist(), strict=True):
        first.setdefault(key, row)
    first.pop(-1, None)
    assert found.tolist() == [first.get(w, -1) for w in wanted]


@given(st.lists(st.integers(-1, 6)), st.lists(st.integers(-1, 6)))
def test_lost_launches_are_those_without_rows(launches: list[int], device: list[int]) -> None:
    found = lost_launches(np.array(launches, np.int64), np.array(device, np.int64))
    assert found.tolist() == [c < 0 or c not in device for c in launches]


def test_a_row_belongs_to_the_step_that_launched_it_wherever_it_ran() -> None:
    p = t.prepared(
        t.step(1, 0, 100), t.step(2, 100, 100),
        t.op("aten::mm", 80, 15), t.launch(90, 5, corr=1), t.kernel("gemm", 150, 30, corr=1),
    )  # fmt: skip
    assert p.device["step"].to_list() == [0]
    assert p.steps[0].device_ns == 30
    assert (p.steps[0].device_rows, p.steps[1].device_rows) == (1, 0)
    assert p.steps[0].launches == 1


def test_the_operator_is_the_innermost_around_the_launch() -> None:
    p = t.prepared(
        t.op("aten::linear", 0, 50), t.annotation("user", 5, 40), t.op("aten::mm", 10, 20),
        t.launch(15, 5, corr=3), t.kernel("gemm", 60, 10, corr=3),
    )  # fmt: skip
    names = [p.tables.text(c) for c in p.host["name"]]
    assert names[p.device["op"][0]] == "aten::mm"
    assert names[p.device["launch"][0]] == "cudaLaunchKernel"


def test_external_id_names_the_operator_where_the_launch_is_not_recorded() -> None:
    p = t.prepared(t.op("aten::mm", 0, 50, ext=7), t.kernel("gemm", 60, 10, corr=3, ext=7))
    assert p.device["launch"].to_list() == [-1]
    assert p.device["op"].to_list() == [0]


def test_c11_correlation_zero_keeps_its_time() -> None:
    """A reader gives correlation 0 as -1: no launch, no operator, but device time all the same."""
    p = t.prepared(t.step(1, 0, 100), t.kernel("ncclDevKernel_AllReduce", 10, 50))
    assert p.device["launch"].to_list() == [-1]
    assert p.device["step"].to_list() == [0]
    assert p.steps[0].device_ns == 50
    assert codes(p)["unlaunched-rows"].startswith("1 device rows have no launch")


def test_c16_one_graph_launch_with_many_rows() -> None:
    rows = [t.kernel(f"k{i}", 100 + 10 * i, 8, corr=5) for i in range(300)]
    p = t.prepared(t.step(1, 0, 5000), t.runtime("cudaGraphLaunch", 10, 20, corr=5), *rows)
    assert p.device["launch"].unique().to_list() == [1]
    assert p.device["graph"].all()
    assert p.steps[0].launches == 1
    assert p.steps[0].device_rows == 300


def test_c17_launch_outside_every_operator() -> None:
    p = t.prepared(t.launch(0, 5, corr=1), t.kernel("k", 10, 5, corr=1))
    assert p.device["launch"].to_list() == [0]
    assert p.device["op"].to_list() == [-1]
    assert "outside every operator" in codes(p)["no-op"]


def test_c7_kernel_before_its_launch_is_linked_and_counted() -> None:
    p = t.prepared(t.launch(100, 5, corr=1), t.kernel("k", 50, 5, corr=1))
    assert p.device["launch"].to_list() == [0]
    assert codes(p)["early-rows"].startswith("1 device rows start before their launch")


def test_c5_lost_launches_as_a_share_and_per_step() -> None:
    launches = [t.launch(10 * i, 5, corr=i + 1) for i in range(20)]
    kernels = [t.kernel("k", 10 * i + 6, 2, corr=i + 1) for i in range(15)]
    p = t.prepared(t.step(1, 0, 100), t.step(2, 100, 100), *launches, *kernels)
    assert codes(p)["lost-launches"] == (
        "5 of 20 launches (25.0%) have no device row, most in step 2: 5 of 10."
    )


def test_c13_amd_names_under_a_cuda_category() -> None:
    p = t.prepared(
        t.op("aten::mm", 0, 30), t.runtime("hipExtModuleLaunchKernel", 5, 5, corr=1),
        t.kernel("Cijk_Ailk_Bljk", 40, 10, corr=1, stream=0),
    )  # fmt: skip
    assert p.device["op"].to_list() == [0]
    assert p.steps[0].launches == 1
    assert p.device["stream"].to_list() == [0]


def test_communication_by_name_and_by_parent() -> None:
    p = t.prepared(
        t.op("record_param_comms", 0, 30), t.launch(5, 5, corr=1), t.op("aten::mm", 40, 9),
        t.launch(41, 5, corr=2),
        t.kernel("opaque_kernel", 50, 10, corr=1), t.kernel("gemm", 60, 10, corr=2),
        t.kernel("void vllm::cross_device_reduce_1stage<...>", 70, 10), t.kernel("", 80, 10),
        t.memcpy("Memcpy HtoD (Pageable -> Device)", 90, 10), t.memset(100, 1),
    )  # fmt: skip
    assert p.device["klass"].to_list() == [1, 0, 1, 3, 2, 2]
