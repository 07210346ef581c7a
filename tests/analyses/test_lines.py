"""Which Python line is the user's, from both generations of stacks."""

from __future__ import annotations

import pytest

from tests.analyses import tables as t
from timesink.analyses.lines import is_user_frame, line_at, line_of_stack, user_line, user_lines


@pytest.mark.parametrize(
    "name",
    ["train.py(31): step", "/home/me/project/model.py(8): forward", "C:\\work\\train.py(3): main",
     "src/data/loader.py(12): __getitem__", "profile.py(5): main"],
)  # fmt: skip
def test_user_code(name: str) -> None:
    assert is_user_frame(name)


@pytest.mark.parametrize(
    "name",
    ["torch/nn/modules/module.py(1501): _call_impl", "<built-in method linear of type object>",
     "/usr/lib/python3.11/site-packages/transformers/trainer.py(9): train",
     "threading.py(323): wait",
     "<frozen importlib._bootstrap>(241): _call", "logging/__init__.py(1776): getEffectiveLevel",
     "/usr/lib/python3.11/queue.py(180): get", "nn.Module: Linear_0", "<string>(1): f", "",
     "C:\\py\\Lib\\site-packages\\torch\\nn.py(3): f", "torchvision/ops/misc.py(3): forward"],
)  # fmt: skip
def test_not_user_code(name: str) -> None:
    assert not is_user_frame(name)


def test_innermost_user_frame_of_an_old_stack() -> None:
    stack = "torch/nn.py(4): linear;model.py(8): forward;train.py(3): step"
    assert line_of_stack(stack) == "model.py(8): forward"
    assert line_of_stack("torch/nn.py(4): linear") == ""


def test_one_row_and_all_rows_agree() -> None:
    p = t.prepared(
        t.python("train.py(9): <module>", 0, 1000), t.python("model.py(3): forward", 10, 500),
        t.python("torch/nn/modules/module.py(7): _call_impl", 20, 400), t.op("aten::mm", 40, 10),
        t.op("aten::add", 600, 20), t.op("aten::old", 2000, 50, stack="old.py(2): f"),
        t.launch(2010, 5, corr=1), t.op("aten::bare", 3000, 5), t.op("aten::mul", 0, 9, tid="2"),
    )  # fmt: skip
    lines = user_lines(p)
    each = [user_line(p, i) for i in range(p.host.height)]
    assert [lines[i] for i in range(p.host.height)] == each
    names = [p.tables.text(c) for c in p.host["name"]]
    assert dict(zip(names, each, strict=True)) == {
        "train.py(9): <module>": "train.py(9): <module>",
        "model.py(3): forward": "model.py(3): forward",
        "torch/nn/modules/module.py(7): _call_impl": "model.py(3): forward",
        "aten::mm": "model.py(3): forward", "aten::add": "train.py(9): <module>",
        "aten::old": "old.py(2): f", "cudaLaunchKernel": "old.py(2): f", "aten::bare": "",
        "aten::mul": "",
    }  # fmt: skip
    assert (user_line(p, -1), lines[-1]) == ("", "")


def test_line_of_a_gap_is_the_innermost_frame_open_for_most_of_it() -> None:
    p = t.prepared(
        t.python("train.py(9): <module>", 0, 1000), t.python("data.py(3): read", 100, 300),
        t.python("data.py(5): short", 120, 20), t.op("aten::mm", 500, 10),
    )  # fmt: skip
    assert line_at(p, 0, 100, 400) == "data.py(3): read"
    assert line_at(p, 0, 500, 900) == "train.py(9): <module>"
    assert line_at(p, 0, 2000, 2100, row=3) == "train.py(9): <module>"
    assert line_at(p, 0, 2000, 2100) == ""
