"""``timesink run --seed``: an unmodified script with every dial set, and a record of what was."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.capture.test_run import Ran, run

pytest.importorskip("torch", reason="running scripts needs torch")
pytestmark = pytest.mark.torch

SCRIPT = """
import os, random, sys
import numpy, torch
from torch.utils.data import DataLoader, Dataset

class Noisy(Dataset):
    def __len__(self):
        return 12
    def __getitem__(self, index):
        return torch.full((4,), random.random() + numpy.random.random()) + torch.rand(4)

model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
total = 0.0
for x in DataLoader(Noisy(), batch_size=2, shuffle=True, num_workers=int(sys.argv[1])):
    optimizer.zero_grad()
    loss = model(x).square().mean()
    loss.backward()
    optimizer.step()
    total += loss.item()
print("total", repr(total), "order", "".join(set("abcdefgh")),
      torch.are_deterministic_algorithms_enabled(), torch.backends.cudnn.deterministic)
"""


def printed(ran: Ran) -> str:
    assert ran.code == 0, ran.err
    (line,) = [line for line in ran.out.splitlines() if line.startswith("total")]
    return line


@pytest.mark.parametrize("workers", ["0", "2"])
def test_two_runs_are_the_same_and_another_seed_is_not(tmp_path: Path, workers: str) -> None:
    lines = {}
    for name, seed in (("a", "5"), ("b", "5"), ("c", "6")):
        ran = run(tmp_path / name, SCRIPT, workers, options=("--active", "0", "--seed", seed))
        lines[name] = printed(ran)
    assert lines["a"] == lines["b"] != lines["c"]


def test_the_record_says_what_was_set_and_what_was_not(tmp_path: Path) -> None:
    ran = run(tmp_path, SCRIPT, "0", options=("--active", "0", "--seed", "5", "--deterministic"))
    assert printed(ran).endswith("True True")
    fields = dict(json.loads((ran.folder / "run.json").read_text())["environment"])
    assert fields["seed"] == "5"
    assert fields["seed.deterministic"] == "yes"
    assert fields["seed.python random"] == "5 (set)"
    assert fields["seed.numpy random (legacy, global)"] == "5 (set)"
    assert fields["seed.torch random (CPU and accelerators)"] == "5 (set)"
    assert fields["seed.torch.use_deterministic_algorithms"] == "True (set)"
    assert fields["seed.PYTHONHASHSEED"] == "5 (as it was)"  # of the process, started with it
    assert os.environ.get("PYTHONHASHSEED") != "5"


def test_without_a_seed_nothing_is_set(tmp_path: Path) -> None:
    ran = run(
        tmp_path,
        SCRIPT,
        "0",
        options=(
            "--active",
            "0",
        ),
    )
    assert printed(ran).endswith("False False")
    fields = dict(json.loads((ran.folder / "run.json").read_text())["environment"])
    assert not [name for name in fields if name.startswith("seed")]


@pytest.mark.parametrize("options", [("--deterministic",), ("--seed", "-1"), ("--seed", "x")])
def test_what_cannot_be_is_refused(tmp_path: Path, options: tuple[str, ...]) -> None:
    with pytest.raises(Exception, match="job"):  # no record: nothing ran
        run(tmp_path, SCRIPT, "0", options=options)
    assert not (tmp_path / "timesink_runs").exists()
