"""Which steps count: the stated rules on made-up logs."""

from __future__ import annotations

from statistics import mean, median

import pytest
from hypothesis import given
from hypothesis import strategies as st

from timesink.experiments.steady import block_means, steady, warm_up
from timesink.model.run import LightSteps, StepKind


def log(
    walls: list[int], kinds: list[StepKind] | None = None, compiled: tuple[int, ...] = ()
) -> LightSteps:
    starts = [sum(walls[:i]) for i in range(len(walls))]
    return LightSteps(
        kind=tuple(kinds or ["train"] * len(walls)),
        start_ns=tuple(starts),
        wall_ns=tuple(walls),
        compiled=tuple(i in compiled for i in range(len(walls))),
    )


def indices_of(marks: list[bool]) -> tuple[int, ...]:
    return tuple(i for i, mark in enumerate(marks) if mark)


def test_the_first_three_steps_never_count() -> None:
    found = steady(log([10] * 40))
    assert found.warmup == 3
    assert found.indices == tuple(range(3, 40))
    assert found.typical_ns == found.median_ns == found.mean_ns == 10


def test_a_slow_start_is_warm_up() -> None:
    assert steady(log([50] * 12 + [10] * 40)).warmup in range(10, 13)


def test_a_single_slow_step_is_not() -> None:
    assert steady(log([10] * 5 + [500] + [10] * 40)).warmup == 3


def test_nothing_before_the_last_compilation_counts() -> None:
    found = steady(log([1000, 10, 10, 10, 10, 900, 10, 10] + [10] * 30, compiled=(0, 5)))
    assert found.warmup == 6
    assert found.compile_ns == pytest.approx(990 + 890)


def test_a_late_compilation_spoils_its_own_step_only() -> None:
    """A last batch of another size: the compiler runs at the end of each epoch."""
    found = steady(log([500, 10, 10] + [10] * 30 + [700], compiled=(0, 33)))
    assert found.warmup == 3
    assert found.indices == tuple(range(3, 33))
    assert found.typical_ns == 10
    assert found.compile_ns == pytest.approx(490 + 690)


def test_validation_is_in_the_mean_but_is_no_step() -> None:
    """Ten train steps of 10, then validation of 100, three times: 20 per train step."""
    walls = ([10] * 10 + [100]) * 3
    kinds: list[StepKind] = (["train"] * 10 + ["eval"]) * 3
    found = steady(log(walls, kinds))
    assert found.typical_ns == 10
    assert found.mean_ns == pytest.approx((sum(walls) - 30 - 100) / 27)


def test_inference_counts_every_step() -> None:
    assert len(steady(log([10] * 20, ["eval"] * 20)).indices) == 17


def test_too_few_steps_give_none() -> None:
    for count in range(4):
        assert steady(log([10] * count)).indices == ()


walls = st.lists(st.integers(1, 10**9), max_size=80)


@given(walls, st.data())
def test_the_warm_up_covers_compilations_and_never_everything_else(
    ws: list[int], data: st.DataObject
) -> None:
    compiled = [data.draw(st.booleans()) for _ in ws] if len(ws) < 20 else [False] * len(ws)
    warm = warm_up(ws, compiled)
    assert 0 <= warm <= len(ws)
    assert not any(compiled[warm : len(ws) // 2])
    assert not any(compiled[i] for i in steady(log(ws, compiled=indices_of(compiled))).indices)
    if len(ws) > 3 and not any(compiled):
        assert warm < len(ws)


@given(st.lists(st.integers(1, 10**9), min_size=1, max_size=80), st.integers(1, 20))
def test_blocks_keep_every_step_once(ws: list[int], size: int) -> None:
    found = block_means(ws, size)
    count = max(1, len(ws) // size)
    assert len(found) == count
    naive = [
        mean(ws[k * size : (k + 1) * size if k < count - 1 else len(ws)]) for k in range(count)
    ]
    assert found == pytest.approx(naive)
    assert min(ws) <= median(found) <= max(ws)
