"""Peak memory drawn out from two measured batch sizes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from timesink.errors import BadUsage
from timesink.experiments.fit import bytes_of, fit
from timesink.model.memory import Category, FitRun

A, P = Category.ACTIVATIONS, Category.PARAMETERS


@given(st.integers(0, 10**9), st.integers(1, 10**6), st.integers(1, 512), st.integers(1, 10**11))
def test_the_largest_batch_fits_and_the_next_does_not(
    fixed: int, each: int, batch: int, capacity: int
) -> None:
    runs = [FitRun(((P, fixed), (A, each * b))) for b in (batch, 2 * batch)]
    found = fit(capacity, batch, *runs)
    assert found.largest is not None
    assert found.largest == 0 or found.at(found.largest) <= capacity
    assert found.at(found.largest + 1) > capacity or found.largest == 0
    assert found.largest == max(0, (capacity - fixed) // each)
    assert found.at(7 * batch) == fixed + 7 * batch * each


def test_one_size_says_nothing_of_others() -> None:
    once = FitRun(((P, 100),))
    assert fit(1000, 8, once, None).largest is None
    assert fit(1000, 0, once, once).largest is None
    assert fit(1000, 8, once, once).largest is None  # twice the batch takes no more


@pytest.mark.parametrize(
    ("text", "value"),
    [("24GiB", 24 * 2**30), ("512 MiB", 512 * 2**20), ("80GB", 80 * 10**9), ("1.5kib", 1536)],
)
def test_amounts(text: str, value: int) -> None:
    assert bytes_of(text) == value


@pytest.mark.parametrize("text", ["", "24", "GiB", "-1GiB", "nanGiB", "infGiB", "0GiB", "1e30GiB"])
def test_what_is_no_amount(text: str) -> None:
    with pytest.raises(BadUsage):
        bytes_of(text)


SCRIPT = """
import sys, torch
from torch.utils.data import DataLoader, TensorDataset

data = TensorDataset(torch.randn(4096, 64))
model = torch.nn.Sequential(torch.nn.Linear(64, 512), torch.nn.ReLU(), torch.nn.Linear(512, 64))
optimizer = torch.optim.Adam(model.parameters())
for (x,) in DataLoader(data, batch_size=int(sys.argv[1])):
    optimizer.zero_grad()
    model(x).square().mean().backward()
    optimizer.step()
"""


@pytest.mark.torch
def test_the_prediction_is_what_the_larger_batch_takes(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="running scripts needs torch")
    (tmp_path / "train.py").write_text(SCRIPT)

    def told(batch: int) -> dict[str, Any]:
        words = ["fit", "--device-memory", "1GiB", "--json", "train.py", str(batch)]
        command = [sys.executable, "-m", "timesink", *words]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    def total(run: dict[str, Any]) -> int:
        return sum(size for _, size in run["categories"])

    small, large = told(64), told(256)
    weights = 4 * (64 * 512 + 512 + 512 * 64 + 64)
    assert dict(small["once"]["categories"])["parameters"] == weights
    assert dict(small["once"]["categories"])["optimizer state"] == pytest.approx(
        2 * weights, rel=0.01
    )
    predicted = small["fixed"] + small["per_sample"] * 256
    assert predicted == pytest.approx(total(large["once"]), rel=0.02)
