"""The operator table: against a naive walk, against torch, and the reports it must not repeat."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest
from hypothesis import given

from tests.analyses import tables as t
from tests.analyses.forests import Node, all_work, everyone, forests, rows
from timesink.analyses.ops import NO_OPERATOR, SORT_KEYS, ops, sort_ops
from timesink.errors import BadUsage
from timesink.model.owners import Phase
from timesink.model.results import OpRow


def by_name(found: tuple[OpRow, ...]) -> dict[str, OpRow]:
    assert len({r.name for r in found}) == len(found)
    return {r.name: r for r in found}


def naive(forest: list[Node]) -> dict[str, list[int]]:
    """Per operator: calls, self, total, device self, device total, longest; by the definitions."""
    table: dict[str, list[int]] = defaultdict(lambda: [0] * 6)
    for node, above in everyone(forest):
        if node.kind == "op":
            entry = table[node.name]
            parent = above[-1] if above else None
            handed_on = parent and parent.kind == "op" and parent.name == node.name
            entry[0] += not (handed_on and parent and len(parent.children) == 1)
            entry[1] += node.dur - sum(c.dur for c in node.children)
            entry[5] = max(entry[5], node.dur)
            if all(a.kind != "op" or a.name != node.name for a in above):
                entry[2] += node.dur
        work = sum(w.dur for w in node.work)
        around = [a.name for a in above if a.kind == "op"]
        if work and around:
            table[around[-1]][3] += work
            for name in set(around):
                table[name][4] += work
        elif node.work and not around:
            entry = table[NO_OPERATOR]
            entry[0] += len(node.work)
            entry[3] += work
            entry[4] += work
    return dict(table)


@given(forests)
def test_times_equal_a_naive_walk(forest: list[Node]) -> None:
    found = {
        r.name: [
            r.calls, r.cpu_self_ns, r.cpu_total_ns, r.device_self_ns, r.device_total_ns,
            r.cpu_max_ns,
        ]
        for r in ops(t.prepared(*rows(forest)))
    }  # fmt: skip
    assert found == naive(forest)


@given(forests)
def test_b12_every_device_row_has_one_owner(forest: list[Node]) -> None:
    found = ops(t.prepared(*rows(forest)))
    assert sum(r.device_self_ns for r in found) == sum(w.dur for w in all_work(forest))
    assert all(r.device_total_ns >= r.device_self_ns for r in found)


def test_b12_wrapper_and_inner_do_not_both_own_the_kernel() -> None:
    found = by_name(ops(t.prepared(
        t.op("aten::linear", 0, 100), t.op("aten::addmm", 10, 80), t.launch(20, 5, corr=1),
        t.kernel("gemm", 40, 30, corr=1),
    )))  # fmt: skip
    assert (found["aten::linear"].device_self_ns, found["aten::linear"].device_total_ns) == (0, 30)
    assert (found["aten::addmm"].device_self_ns, found["aten::addmm"].device_total_ns) == (30, 30)


def test_b12_a_recursive_call_counts_once_in_totals() -> None:
    (row,) = ops(t.prepared(
        t.op("checkpoint", 0, 100), t.op("checkpoint", 10, 60), t.launch(20, 5, corr=1),
        t.kernel("gemm", 40, 30, corr=1), t.op("checkpoint", 80, 5),
    ))  # fmt: skip
    assert (row.calls, row.cpu_total_ns, row.cpu_self_ns) == (3, 100, 95)
    assert (row.device_self_ns, row.device_total_ns) == (30, 30)


def test_an_overload_handing_on_to_another_is_one_call_as_in_torch() -> None:
    (row,) = ops(t.prepared(t.op("aten::mean", 0, 100), t.op("aten::mean", 10, 60)))
    assert (row.calls, row.cpu_total_ns, row.cpu_self_ns) == (1, 100, 100)


def test_b11_device_annotations_are_no_device_time() -> None:
    (row,) = ops(t.prepared(
        t.op("aten::mm", 0, 100), t.launch(20, 5, corr=1), t.kernel("gemm", 40, 30, corr=1),
        t.device_annotation("my range", 30, 500),
    ))  # fmt: skip
    assert row.device_total_ns == 30


def test_b13_and_c17_work_launched_outside_operators_has_its_own_row() -> None:
    found = by_name(ops(t.prepared(
        t.op("aten::mm", 0, 10), t.launch(20, 5, corr=1), t.kernel("gemm", 40, 30, corr=1),
        t.kernel("orphan", 80, 7, corr=99),
    )))  # fmt: skip
    assert set(found) == {"aten::mm", NO_OPERATOR}  # cudaLaunchKernel owns nothing
    assert (found[NO_OPERATOR].calls, found[NO_OPERATOR].device_self_ns) == (2, 37)
    assert found["aten::mm"].device_total_ns == 0


def test_b14_asking_twice_gives_the_same() -> None:
    prepared = t.prepared(t.op("aten::linear", 0, 100), t.op("aten::addmm", 10, 80))
    assert ops(prepared) == ops(prepared)


def test_annotations_and_runtime_calls_are_no_operators_but_take_from_self_time() -> None:
    (row,) = ops(t.prepared(
        t.annotation("my range", 0, 200), t.op("aten::mm", 10, 100), t.launch(20, 5, corr=1),
    ))  # fmt: skip
    assert (row.name, row.cpu_self_ns, row.cpu_total_ns) == ("aten::mm", 95, 100)


def test_phases_are_told_apart() -> None:
    found = ops(t.prepared(
        t.op("aten::mm", 0, 10), t.backward("MmBackward0", 20, 50), t.op("aten::mm", 30, 20),
    ))  # fmt: skip
    times = {r.phase: r.cpu_total_ns for r in found if r.name == "aten::mm"}
    assert times == {Phase.FORWARD: 10, Phase.BACKWARD: 20}


def test_first_step_is_left_out_unless_all_steps_are_asked_for() -> None:
    prepared = t.prepared(
        t.step(0, 0, 100), t.op("aten::mm", 10, 50), t.step(1, 100, 100), t.op("aten::mm", 110, 30),
        t.op("aten::mm", 300, 30),
    )  # fmt: skip
    assert [r.cpu_total_ns for r in ops(prepared)] == [30]
    assert [r.cpu_total_ns for r in ops(prepared, all_steps=True)] == [80]


def test_grouping_by_shape() -> None:
    found = ops(
        t.prepared(
            t.op("aten::mm", 0, 10, shape="[[2,2]]"), t.op("aten::mm", 20, 30, shape="[[4,4]]"),
            t.op("aten::mm", 60, 5, shape="[[2,2]]"),
        ),
        group_by=("shape",),
    )  # fmt: skip
    assert [(r.shape, r.calls, r.cpu_total_ns) for r in found] == [
        ("[[4,4]]", 1, 30),
        ("[[2,2]]", 2, 15),
    ]


def test_grouping_by_stack_and_module_from_python_rows() -> None:
    found = ops(
        t.prepared(
            t.python("train.py(9): <module>", 0, 1000), t.python("train.py(3): step", 10, 500),
            t.python("torch/nn/modules/module.py(7): _call_impl", 20, 400),
            t.python("nn.Module: Linear_0", 30, 300), t.op("aten::mm", 40, 10),
            t.op("aten::mm", 600, 20),
        ),
        group_by=("stack", "module"),
    )  # fmt: skip
    assert [(r.stack, r.module, r.cpu_total_ns) for r in found] == [
        ("train.py(9): <module>", "", 20),
        ("train.py(3): step;train.py(9): <module>", "Linear_0", 10),
    ]


def test_grouping_by_stack_and_module_of_old_traces() -> None:
    stack = "site-packages/torch/nn.py(4): linear;train.py(3): step"
    (row,) = ops(
        t.prepared(t.op("aten::mm", 0, 10, stack=stack, module="Net.fc")),
        group_by=("stack", "module"),
    )
    assert (row.stack, row.module) == (stack, "Net.fc")


def test_an_unknown_group_is_bad_usage() -> None:
    with pytest.raises(BadUsage, match="shape, stack, module"):
        ops(t.prepared(), group_by=("color",))


SORTABLE = (
    OpRow("b", Phase.FORWARD, 4, 10, 40, 3, 8, 12),
    OpRow("a", Phase.FORWARD, 1, 20, 20, 9, 9, 20),
    OpRow("c", Phase.FORWARD, 2, 30, 60, 1, 99, 45),
)


@pytest.mark.parametrize(
    ("key", "order"),
    [
        ("self_cpu", "cab"), ("self_cpu_time_total", "cab"), ("cpu_time_total", "cba"),
        ("self_cuda_time_total", "abc"), ("self_device_time_total", "abc"),
        ("self_device", "abc"), ("cuda_time_total", "cab"), ("xpu_time_total", "cab"),
        ("cpu_time", "cab"), ("cuda_time", "cab"), ("count", "bca"), ("calls", "bca"),
        ("max", "cab"), ("name", "abc"),
    ],
)  # fmt: skip
def test_sorting_by_our_names_and_those_of_torch(key: str, order: str) -> None:
    assert "".join(r.name for r in sort_ops(SORTABLE, key)) == order


def test_an_unknown_sort_key_names_the_valid_ones() -> None:
    with pytest.raises(BadUsage) as caught:
        sort_ops(SORTABLE, "gpu")
    assert all(key in str(caught.value) for key in SORT_KEYS)


@pytest.mark.torch
def test_equals_key_averages_of_torch(tmp_path: Path) -> None:
    """All names, calls and times agree. Ours leaves out what torch lists as well: ranges."""
    torch = pytest.importorskip("torch")
    from timesink.analyses.prepare import prepare
    from timesink.store.read import read_trace

    model = torch.nn.Sequential(
        torch.nn.Conv2d(3, 4, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.LazyLinear(5)
    )
    inputs = torch.randn(2, 3, 8, 8)
    model(inputs)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, foreach=False)
    activities = [torch.profiler.ProfilerActivity.CPU]
    with torch.profiler.profile(activities=activities, acc_events=True) as profiler:
        for _ in range(3):
            model(inputs).square().mean().backward()
            optimizer.step()
    path = tmp_path / "trace.json"
    profiler.export_chrome_trace(str(path))
    trace = read_trace(path, cache=False)
    ours: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    for row in ops(prepare(trace.tables, trace.info), all_steps=True):
        for i, value in enumerate((row.calls, row.cpu_self_ns, row.cpu_total_ns)):
            ours[row.name][i] += value
    theirs = {e.key: e for e in profiler.key_averages() if e.key in ours}
    assert len(theirs) > 20
    assert set(ours) == set(theirs)
    for name, (calls, own, total) in ours.items():
        event = theirs[name]
        assert calls == event.count, name
        slack = 2 * calls  # ns: the export rounds start and length to 1 ns
        assert own == pytest.approx(event.self_cpu_time_total * 1000, abs=slack), name
        assert total == pytest.approx(event.cpu_time_total * 1000, abs=slack), name
