"""A real pair of one training step in float32 and with autocast: what AMP changed."""

from __future__ import annotations

import re

import pytest

from tests.realdata import real_trace
from timesink.api import analyze
from timesink.model.owners import Owner
from timesink.model.results import Analysis

pytestmark = pytest.mark.real
FOLDER = "incredere__gpu-profiling-pytorch-lab"


@pytest.fixture(scope="module")
def pair() -> tuple[Analysis, Analysis]:
    paths = [real_trace(f"{FOLDER}/{n}.pt.trace.json.gz") for n in ("59c80c__fp32", "c0e060__amp")]
    before, after = (analyze(p, cache=False) for p in paths)
    return before, after


def matmul_ns(a: Analysis, pattern: str) -> float:
    """Device time per step of matrix kernels by name."""
    rows = [k for k in a.kernels if re.search(pattern, k.name)]
    return sum(k.total_ns for k in rows) / a.steps_counted


def casts(a: Analysis) -> float:
    return sum(r.calls for r in a.ops if r.name == "aten::_to_copy") / a.steps_counted


def launches(a: Analysis) -> float:
    assert a.launches is not None
    return a.launches.launches / len(a.breakdown.steps)


def test_products_move_to_half_precision(pair: tuple[Analysis, Analysis]) -> None:
    before, after = pair
    assert matmul_ns(before, "sgemm") > 0
    assert matmul_ns(before, "fp16|h884|s16816") == 0
    assert matmul_ns(after, "sgemm") == 0
    assert 0 < matmul_ns(after, "fp16|h884|s16816") < matmul_ns(before, "sgemm") / 2


def test_it_costs_casts_and_launches(pair: tuple[Analysis, Analysis]) -> None:
    before, after = pair
    assert casts(before) < casts(after)
    assert launches(before) < launches(after)


def test_the_device_works_less_and_the_step_still_waits_for_data(
    pair: tuple[Analysis, Analysis],
) -> None:
    before, after = pair
    assert after.usage[0].busy_ns < before.usage[0].busy_ns
    for a in pair:
        assert a.breakdown.share(Owner.DATA_LOADING) > 0.7
