"""E10: torchrun in front of timesink or behind it, both work."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.capture import loops
from timesink.capture.folder import read_record
from timesink.capture.launcher import inside_out, is_launcher
from timesink.errors import BadUsage

pytest.importorskip("torch", reason="torchrun is torch's")
pytestmark = pytest.mark.torch


def test_what_is_a_launcher() -> None:
    assert is_launcher("torchrun", False)
    assert is_launcher("/x/bin/torchrun", False)
    assert is_launcher("torch.distributed.run", True)
    assert not is_launcher("train.py", False)


@pytest.mark.parametrize(
    ("given", "ends"),
    [
        (["--nproc-per-node=2", "train.py", "-m", "--lr", "1"],
         ["--nproc-per-node=2", "-m", "timesink", "run", "-q", "train.py", "-m", "--lr", "1"]),
        (["--nproc-per-node", "2", "-m", "pkg.train", "x"],
         ["--nproc-per-node", "2", "-m", "timesink", "run", "-q", "-m", "pkg.train", "x"]),
    ],
)  # fmt: skip
def test_inside_out(given: list[str], ends: list[str]) -> None:
    assert inside_out(given, ["-q"])[3:] == ends


def test_programs_that_are_not_python_are_refused() -> None:
    with pytest.raises(BadUsage, match="not Python"):
        inside_out(["--no-python", "./train"], [])


def test_timesink_run_torchrun(tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text(loops.PLAIN)
    command = [
        sys.executable, "-m", "timesink", "run", "--name", "job", "-q", "torchrun",
        "--nproc-per-node=2", "--rdzv-backend=c10d", "--rdzv-endpoint=localhost:0", "job.py",
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=300)
    assert done.returncode == 0, done.stderr
    folder = tmp_path / "timesink_runs" / "job"
    assert [read_record(folder, r).recorded_steps for r in (0, 1)] == [5, 5]
