"""Small scripts, one cause each: found at its line. Their sound siblings: nothing is found."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from timesink.api.memory import memory_report
from timesink.model.memory import MemoryReport

pytest.importorskip("torch", reason="running scripts needs torch")
pytestmark = pytest.mark.torch
HERE = Path(__file__).parent
CAUSES = {
    "loss_kept": "graph-kept",
    "outputs_listed": "graph-kept",
    "hook_keeps": "graph-kept",
    "eval_with_grad": "eval-with-grad",
    "cache_grows": "kept-each-step",
    "optimizer_state": "optimizer-state",
    "spike": "temporary-spike",
    "gradients_stay": "gradients-in-forward",
}


def recorded(script: Path, folder: Path) -> MemoryReport:
    command = [
        sys.executable,
        "-m",
        "timesink",
        "run",
        "-q",
        "--memory",
        "--name",
        "r",
        str(script),
    ]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    return memory_report(folder / "timesink_runs" / "r", cache=False)


@pytest.mark.parametrize("name", list(CAUSES))
def test_the_cause_is_found_at_its_line(name: str, tmp_path: Path) -> None:
    script = HERE / "leaking" / f"{name}.py"
    report = recorded(script, tmp_path)
    assert [f.rule for f in report.findings] == [CAUSES[name]], report.findings
    marked = [i for i, t in enumerate(script.read_text().splitlines(), 1) if "# HERE" in t]
    if marked:
        found = re.match(r"(\S+)\((\d+)\): ", report.findings[0].line)
        assert found is not None
        assert (found[1], int(found[2])) == (script.name, marked[0])


@pytest.mark.parametrize("name", list(CAUSES))
def test_sound_scripts_raise_no_finding(name: str, tmp_path: Path) -> None:
    report = recorded(HERE / "sound" / f"{name}.py", tmp_path)
    assert report.findings == ()
    (answer,) = report.answers
    assert answer.growth == ()
    assert answer.peak > 0
