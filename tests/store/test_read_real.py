"""Every real trace against an independent reading with ``json`` and exact decimals."""

from __future__ import annotations

import gzip
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.realdata import ROOT, real_trace
from timesink.store.read import read_trace
from timesink.store.schema import DEVICE_KINDS, Kind

FILES = (
    sorted(p for p in ROOT.rglob("*") if p.is_file() and "not_torch" not in p.parts)
    if ROOT.is_dir()
    else []
)
pytestmark = pytest.mark.real


def events_of(path: Path) -> list[Any]:
    raw = path.read_bytes()
    text = gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw
    document = json.loads(text, parse_float=Decimal)
    return document if isinstance(document, list) else document["traceEvents"]


def exact(value: Any) -> Decimal | None:
    """ns as a decimal, from a number or the text of one."""
    if isinstance(value, str):
        value = Decimal(value)
    return Decimal(value) * 1000 if isinstance(value, (int, Decimal)) else None


def same(got: int, want: Decimal) -> bool:
    """Equal to the ns; a text with more than three decimals may round either way."""
    return got == want if want == int(want) else abs(got - want) < 1


def test_the_folder_is_there() -> None:
    if not FILES:
        pytest.skip(f"no folder of real traces at {ROOT} (set TIMESINK_TRACES)")
    assert len(FILES) >= 60


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_rows_and_times(path: Path) -> None:
    events = events_of(path)
    trace = read_trace(path, cache=False)
    tables = trace.tables
    assert trace.info.event_count == len(events)
    want = {}
    for i, e in enumerate(events):
        if e.get("ph") == "X":
            ts, dur = exact(e["ts"]), exact(e.get("dur"))
            if ts is not None and dur is not None and dur >= 0:
                want[i] = (ts, dur, e["name"], e.get("cat") or "")
    rows = tables.events.select("ord", "ts", "dur", "name", "cat").rows()
    texts = tables.strings.to_list()
    assert {r[0] for r in rows} == set(want)
    for ord_, ts, dur, name, cat in rows:
        expected = want[ord_]
        assert same(ts, expected[0])
        assert same(dur, expected[1])
        assert (texts[name], texts[cat]) == expected[2:]
    assert tables.flows.height == sum(e.get("ph") in ("s", "t", "f") for e in events)
    assert tables.memory.height == sum(e.get("name") == "[memory]" for e in events)
    assert not trace.info.truncated
    assert tables.events.select("ts", -tables.events["dur"], "ord").rows() == sorted(
        tables.events.select("ts", -tables.events["dur"], "ord").rows()
    )


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_device_rows_have_a_place_and_others_have_none(path: Path) -> None:
    events = read_trace(path, cache=False).tables.events
    kind = events["kind"].to_numpy()
    device = np.isin(kind, DEVICE_KINDS)
    assert (events["stream"].to_numpy()[device] >= 0).all()
    assert (events["device"].to_numpy()[~device] == -1).all()
    assert (events["stream"].to_numpy()[~device] == -1).all()


@pytest.mark.parametrize(
    ("relative", "generation", "vendor", "kinds"),
    [
        ("kineto/resnet50_num_workers_0/worker0.1623143089861.pt.trace.json.gz", "K0", "nvidia",
         {Kind.KERNEL, Kind.MEMCPY, Kind.MEMSET, Kind.RUNTIME, Kind.USER_ANNOTATION}),
        ("hta/df_index_resolver/df_index_resolver.json.gz", "K2", "nvidia",
         {Kind.KERNEL, Kind.MEMCPY, Kind.MEMSET, Kind.RUNTIME}),
        ("hta/nccl_parser_config/nccl_data.json.gz", "K3a", "nvidia",
         {Kind.KERNEL, Kind.DEVICE_ANNOTATION}),
        ("tracelens/b200/eager_trace.json.gz", "K3b", "nvidia",
         {Kind.KERNEL, Kind.PYTHON, Kind.DRIVER, Kind.OVERHEAD}),
        ("tracelens/mi300/resnet_act_checkpoint.json.gz", "K3a", "amd", {Kind.KERNEL}),
        ("hta/mtia_inference_trace/mtia_inference_rank_0.json.gz", "K3b", "mtia",
         {Kind.KERNEL, Kind.RUNTIME}),
        ("Cambricon__torch_mlu/89d986__mlu_metrics_input.json.gz", "K1", "mlu",
         {Kind.KERNEL, Kind.MEMCPY, Kind.RUNTIME}),
        ("Ascend__msprof-analyze/f622e9__trace_view.json.gz", "ascend", "ascend",
         {Kind.KERNEL, Kind.MEMCPY, Kind.MEMSET, Kind.RUNTIME, Kind.CPU_OP}),
        ("bonlime__skoltech_thesis_template/7d2fe3__trace.json.gz", "legacy", "nvidia",
         {Kind.CPU_OP, Kind.KERNEL}),
        ("andrewlala__ResNet50/2d21d7__trace_cpu.json.gz", "K3a", "cpu", {Kind.CPU_OP}),
    ],
)  # fmt: skip
def test_generation_vendor_kinds(
    relative: str, generation: str, vendor: str, kinds: set[Kind]
) -> None:
    trace = read_trace(real_trace(relative), cache=False)
    assert (trace.info.generation, trace.info.vendor) == (generation, vendor)
    assert kinds <= {Kind(k) for k in trace.tables.events["kind"].unique().to_list()}


@pytest.mark.parametrize(
    "relative",
    [
        "Ascend__msprof-analyze/f622e9__trace_view.json.gz",
        "kineto/resnet50_num_workers_0/worker0.1623143089861.pt.trace.json.gz",
        "hta/df_index_resolver/df_index_resolver.json.gz",
    ],
)
def test_launches_and_device_rows_share_a_correlation(relative: str) -> None:
    events = read_trace(real_trace(relative), cache=False).tables.events
    kernels = events.filter(events["kind"] == int(Kind.KERNEL))
    calls = events.filter(events["kind"].is_in([int(Kind.RUNTIME), int(Kind.DRIVER)]))
    linked = kernels["corr"].is_in(calls.filter(calls["corr"] >= 0)["corr"].implode())
    assert linked.mean() > 0.9  # type: ignore[operator]


def test_raw_args_of_a_real_trace() -> None:
    path = real_trace("hta/df_index_resolver/df_index_resolver.json.gz")
    events = events_of(path)
    trace = read_trace(path, cache=False)
    wanted = [0, 1, 100_000, len(events) - 1]
    raw = trace.raw_args(wanted)
    assert raw == {i: events[i].get("args", {}) for i in wanted}
