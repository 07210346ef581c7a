"""``timesink quick``: what torch.utils.bottleneck answered, in one run and with workers."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.capture import loops

pytest.importorskip("torch", reason="running scripts needs torch")
pytestmark = pytest.mark.torch


def quick(tmp_path: Path, text: str, *args: str) -> subprocess.CompletedProcess[str]:
    (tmp_path / "job.py").write_text(text)
    flags = [a for a in args if a.startswith("--")]
    rest = [a for a in args if not a.startswith("--")]
    command = [sys.executable, "-m", "timesink", "quick", *flags, "job.py", *rest]
    return subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=300)


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_e06_with_loader_workers_in_one_run(tmp_path: Path, method: str) -> None:
    done = quick(tmp_path, loops.WORKERS, method, "--limit=400")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count(f"done {method}") == 1, "the script ran once"
    for title in ("Environment", "Python functions", "Operators"):
        assert title in done.stdout
    assert "torch.version" in done.stdout
    assert "aten::addmm" in done.stdout
    assert "timesink/capture" not in done.stdout


def test_json_and_the_scripts_exit_code(tmp_path: Path) -> None:
    done = quick(tmp_path, loops.EXIT_IN_LOOP, "--json")
    assert done.returncode == 7
    document = json.loads(done.stdout)
    assert document["schema_version"] >= 1
    assert document["exit_code"] == 7
    assert any(o["name"] == "aten::addmm" and o["calls"] == 20 for o in document["operators"])
    assert document["functions"][0]["self_ns"] > 0


def test_a_script_without_torch(tmp_path: Path) -> None:
    done = quick(tmp_path, "print(sum(i * i for i in range(1000)))", "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout.splitlines()[-1] if False else done.stdout.split("\n", 1)[1])
    assert document["operators"] == []
    assert document["functions"]


def test_an_exception_is_shown_and_the_profile_kept(tmp_path: Path) -> None:
    done = quick(tmp_path, loops.RAISES)
    assert done.returncode == 1
    assert "the script's own error" in done.stderr
    assert "aten::" in done.stdout
