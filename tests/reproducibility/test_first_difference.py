"""Where two records part, on records written by hand: pure functions without torch."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from timesink.model.reproducibility import OperatorCall, OperatorRecord, StepPrints
from timesink.reproducibility.causes import KERNELS, alternative
from timesink.reproducibility.first_difference import first_step
from timesink.reproducibility.first_operator import first_operator


def step(n: int, **sections: str) -> StepPrints:
    return StepPrints(n, tuple((s, "x", text) for s, text in sections.items()))


def test_steps_that_agree() -> None:
    run = [step(0, inputs="a", loss="b"), step(1, inputs="c", loss="d")]
    assert first_step(run, list(run)) is None
    assert first_step([], []) is None


def test_the_earliest_section_of_the_first_step_is_named_first() -> None:
    a = [step(0, inputs="a"), step(1, optimizer="o", loss="l", inputs="i"), step(2, inputs="x")]
    b = [step(0, inputs="a"), step(1, optimizer="O", loss="L", inputs="i"), step(2, inputs="y")]
    found = first_step(a, b)
    assert found is not None
    assert (found.step, found.section) == (1, "loss")
    assert found.where == (("loss", "x"), ("optimizer", "x"))


def test_a_path_that_one_run_lacks_differs_and_so_does_the_end() -> None:
    a = [StepPrints(0, (("gradients", "w", "1"), ("gradients", "b", "1")))]
    b = [StepPrints(0, (("gradients", "w", "1"),))]
    found = first_step(a, b)
    assert found is not None
    assert found.where == (("gradients", "b"),)
    ended = first_step(a, [*a, step(1, loss="l")])
    assert ended is not None
    assert (ended.step, ended.ended, ended.section) == (1, True, "")


prints = st.lists(st.dictionaries(st.sampled_from("abc"), st.sampled_from("xy")), max_size=5)


@given(prints, prints)
def test_first_step_against_the_naive_answer(a: list[Any], b: list[Any]) -> None:
    left, right = ([step(i, **s) for i, s in enumerate(run)] for run in (a, b))
    naive = next((i for i in range(max(len(a), len(b))) if a[i : i + 1] != b[i : i + 1]), None)
    found = first_step(left, right)
    assert (found.step if found else None) == naive


def call(i: int, given: str, made: str, name: str = "aten.add.Tensor", **more: Any) -> OperatorCall:
    return OperatorCall(
        0, i, name, line=f"train.py:{i} (f)", inputs=(("self", given),), outputs=(("", made),),
        **more,
    )  # fmt: skip


def record(*calls: OperatorCall, **facts: Any) -> OperatorRecord:
    return OperatorRecord(calls, **{"threads": 2, "hash_seed": "0", **facts})


def test_equal_inputs_and_other_outputs() -> None:
    name = "aten.index_add.default"
    a = record(call(0, "a", "b"), call(1, "b", "c", name, device="cuda:0"), call(2, "c", "d"))
    b = record(call(0, "a", "b"), call(1, "b", "C", name, device="cuda:0"), call(2, "C", "D"))
    found = first_operator(a, b)
    assert found is not None
    assert (found.cause, found.dial, found.names) == ("kernel", "deterministic", ())
    assert found.a is not None
    assert found.a.line == "train.py:1 (f)"
    assert "use_deterministic_algorithms" in found.advice


def test_another_number_of_threads() -> None:
    a, b = record(call(0, "a", "b"), threads=1), record(call(0, "a", "c"), threads=4)
    found = first_operator(a, b)
    assert found is not None
    assert (found.cause, found.dial) == ("threads", "threads")


def test_an_input_that_no_operator_made() -> None:
    a, b = (record(call(0, "a", "b"), call(1, x, x + "'")) for x in "pq")
    found = first_operator(a, b)
    assert found is not None
    assert (found.cause, found.dial, found.names) == ("data", "seed", ("self",))
    unfixed = first_operator(replace(a, hash_seed=""), replace(b, hash_seed=""))
    assert unfixed is not None
    assert unfixed.dial == "PYTHONHASHSEED"


def test_an_input_that_does_not_matter_is_no_difference() -> None:
    a, b = (record(call(0, x, "same"), call(1, "same", "r")) for x in ("garbage", "rubbish"))
    assert first_operator(a, b) is None


@pytest.mark.parametrize(
    ("left", "right", "cause"),
    [
        ("1700000000.25", "1700000009.5", "clock"),
        ("f" * 32 + " = [1700000000123]", "e" * 32 + " = [1700000009456]", "clock"),
        ("41", "42", "process id"),
        ("0.25", "0.75", "number"),
        ("41.5", "42.5", "number"),
        ("1" * 32, "2" * 32, "data"),
    ],
)
def test_numbers_that_can_be_read(left: str, right: str, cause: str) -> None:
    a = record(call(0, left, "x"), pid=41, clock=1.7e9)
    b = record(call(0, right, "y"), pid=42, clock=1.7e9 + 10)
    found = first_operator(a, b)
    assert found is not None
    assert found.cause == cause


def test_generators() -> None:
    def drawn(seed: int, state: str, whose: str = "default cpu") -> OperatorRecord:
        return record(
            call(0, "a", state, generator=whose, generator_seed=seed, generator_state=state)
        )

    unseeded = first_operator(drawn(1, "s"), drawn(2, "t"))
    assert unseeded is not None
    assert (unseeded.cause, unseeded.dial) == ("generator", "seed")
    own = first_operator(drawn(1, "s", "own cpu"), drawn(2, "t", "own cpu"))
    assert own is not None
    assert own.dial == ""
    late = first_operator(drawn(1, "s"), drawn(1, "t"))
    assert late is not None
    assert "number of draws" in late.text


def test_memory_that_was_never_written() -> None:
    where = (("self", "train.py:3 (g)"),)
    a, b = (record(call(0, "shape not written yet", x, unwritten=where)) for x in "pq")
    found = first_operator(a, b)
    assert found is not None
    assert found.cause == "uninitialised"
    assert "train.py:3" in found.text


def test_another_operator_or_none() -> None:
    a = record(call(0, "a", "b"), call(1, "b", "c", "aten.sub.Tensor"), hash_seed="")
    b = record(call(0, "a", "b"), call(1, "b", "c", "aten.mul.Tensor"), hash_seed="")
    other, shorter = first_operator(a, b), first_operator(a, record(call(0, "a", "b")))
    assert other is not None
    assert shorter is not None
    assert (other.cause, other.dial) == ("order", "PYTHONHASHSEED")
    assert (shorter.cause, shorter.dial, shorter.b) == ("order", "PYTHONHASHSEED", None)
    assert first_operator(a, record(call(0, "a", "b"), truncated=True)) is None


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("aten._scaled_dot_product_flash_attention_backward.default", "warn_only"),
        ("aten.scatter_add_.default", "sorts"),
        ("aten.cumsum.default", "none"),
        ("aten.mm.default", "CUBLAS"),
        ("aten.upsample_bilinear2d_backward.default", "nearest"),
        ("aten.cudnn_convolution.default", "cudnn.deterministic"),
    ],
)
def test_known_kernels(name: str, words: str) -> None:
    assert words in alternative(name)


def test_every_row_of_the_table_can_be_reached() -> None:
    for part, text in KERNELS:
        assert alternative(f"aten.{part}.default") == text, part
    assert alternative("aten.relu.default") == ""
