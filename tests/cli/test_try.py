"""``timesink try``, ``history`` and ``tune`` as a person runs them, on small unmodified scripts."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

SCRIPT = """
import sys, time, torch
from torch.utils.data import DataLoader, TensorDataset

data = TensorDataset(torch.randn(400, 8), torch.randint(0, 3, (400,)))
model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Dropout(0.1), torch.nn.Linear(16, 3))
optimizer = torch.optim.Adam(model.parameters(), foreach=False)
for epoch in range(10):
    for x, y in DataLoader(data, batch_size=4, shuffle=True):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
        if "--slow" in sys.argv:
            time.sleep(0.02)
print("done")
"""
#: Few and short processes: what is tested here is not the statistics.
SHORT = ("--runs", "2", "--steps", "12", "--no-profile", "--seed", "3")


def timesink(*words: str, cwd: Path, **more: Any) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "timesink", *words]
    return subprocess.run(
        command, cwd=cwd, capture_output=True, text=True, timeout=240, check=False, **more
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "train.py").write_text(SCRIPT)
    return tmp_path


def record(folder: Path) -> dict[str, Any]:
    (path,) = folder.glob("timesink_runs/*/experiment.json")
    found: dict[str, Any] = json.loads(path.read_text())
    return found


def test_a_change_is_measured_recorded_and_listed(folder: Path) -> None:
    done = timesink("try", *SHORT, "--with", "foreach-optimizer", "train.py", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "foreach-optimizer: " in done.stdout
    e = record(folder)
    assert e["status"] == "done"
    timed = [o["arm"] for o in e["observations"] if o["purpose"] == "timed"]
    assert sorted(timed) == ["A", "A", "B", "B"]
    assert timed[:2] == timed[:1:-1]
    assert e["equivalence"]["verdict"] in ("bit-identical", "within tolerance")
    effects = [o["effects"] for o in e["observations"] if o["arm"] == "B"]
    assert all(found[0]["count"] == 1 for found in effects)
    assert all(not o["effects"] for o in e["observations"] if o["arm"] == "A")
    (place,) = folder.glob("timesink_runs/try-*")
    assert (place / "experiment.html").exists()
    assert "foreach-optimizer" in (place / "experiment.md").read_text()
    listed = timesink("history", "--json", cwd=folder)
    (entry,) = json.loads(listed.stdout)["experiments"]
    assert entry["name"] == place.name
    assert entry["before_ns"] > 0
    assert entry["torch"].startswith(torch.__version__.partition("+")[0])
    assert place.name in timesink("history", cwd=folder, env=wide()).stdout


def wide() -> dict[str, str]:
    return {**os.environ, "COLUMNS": "200"}


def test_a_change_that_does_not_apply_is_said_and_exits_with_2(folder: Path) -> None:
    words = ("try", "train.py", "--with", "persistent-workers")
    done = timesink(*words, cwd=folder)
    assert done.returncode == 2
    said = " ".join(done.stdout.split())
    assert "persistent-workers did not take effect: a DataLoader has no workers" in said
    assert record(folder)["speed"]["outcome"] == "not applied"


def test_a_script_that_fails_unchanged_is_not_measured(folder: Path) -> None:
    (folder / "train.py").write_text("import torch\nraise ValueError('broken on purpose')\n")
    done = timesink("try", "--with", "compile", "train.py", cwd=folder)
    assert done.returncode == 2
    assert "broken on purpose" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_candidate_that_crashes_is_a_result(folder: Path) -> None:
    (folder / "change.py").write_text("def patch():\n    raise MemoryError('no room')\n")
    done = timesink("try", *SHORT, "--patch", "change.py", "train.py", cwd=folder)
    assert done.returncode == 0
    assert "no room" in done.stdout
    assert record(folder)["speed"]["outcome"] == "failed"


def test_skipping_every_other_batch_is_caught(folder: Path) -> None:
    """Wrong on purpose: twice as fast an epoch, and another training."""
    (folder / "change.py").write_text(
        "from torch.utils.data import dataloader\n"
        "def patch():\n"
        "    base = dataloader._SingleProcessDataLoaderIter\n"
        "    fetch = base._next_data\n"
        "    def skipping(self):\n"
        "        fetch(self)\n"
        "        return fetch(self)\n"
        "    base._next_data = skipping\n"
        "    return 'every other batch'\n"
    )
    done = timesink("try", *SHORT, "--patch", "change.py", "train.py", cwd=folder)
    assert done.returncode == 0, done.stderr
    same = record(folder)["equivalence"]
    assert same["verdict"] == "diverges"
    assert not same["expected"]
    assert "skipped" in same["text"]
    assert "Diverges" in done.stdout


def test_two_commands_are_compared(folder: Path) -> None:
    words = ("--before", "train.py --slow", "--after", "python train.py")
    done = timesink("try", *SHORT, *words, cwd=folder)
    assert done.returncode == 0, done.stderr
    e = record(folder)
    assert e["speed"]["before_ns"] > e["speed"]["after_ns"] + 15e6
    assert e["equivalence"]["verdict"] == "bit-identical"


def test_ctrl_c_leaves_a_record_no_orphans_and_can_be_resumed(folder: Path) -> None:
    words = ("try", *SHORT, "--with", "num-workers=1", "train.py", "--slow")
    started = subprocess.Popen(
        [sys.executable, "-m", "timesink", *words],
        cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    deadline = time.monotonic() + 120
    while len(list(folder.glob("timesink_runs/try-*/0[34]-*/rank0.steps.bin"))) < 1:
        assert started.poll() is None, started.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.05)
    started.send_signal(signal.SIGINT)
    out, err = started.communicate(timeout=60)
    assert started.returncode == 130, (out, err)
    assert "Traceback" not in err
    assert "timesink try --resume timesink_runs/try-" in " ".join(err.split())
    assert children_of(folder) == []
    before = record(folder)
    assert before["status"] == "interrupted"
    assert len(before["observations"]) >= 2
    name = before["name"]
    done = timesink("try", "--resume", name, cwd=folder)
    assert done.returncode == 0, done.stderr
    after = record(folder)
    assert after["status"] == "done"
    kept = len(before["observations"])
    assert after["observations"][:kept] == before["observations"]
    assert len([o for o in after["observations"] if o["purpose"] == "timed"]) == 4


def children_of(folder: Path) -> list[str]:
    """Command lines of processes that still run in the folder."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if (process / "cwd").readlink() == folder.resolve():
                found.append((process / "cmdline").read_text())
        except OSError:
            continue
    return found


def test_options_behind_the_script_are_the_scripts(folder: Path) -> None:
    parsed = "import argparse\nargparse.ArgumentParser().parse_args()\n"
    (folder / "strict.py").write_text(parsed + SCRIPT)
    for command in (["try", "--with", "foreach-optimizer"], ["tune"], ["repro"]):
        done = timesink(*command, "strict.py", "--budget", "2m", cwd=folder)
        assert done.returncode == 2
        said = " ".join(done.stderr.split())
        assert "unrecognized arguments: --budget 2m" in said
        assert "Options of timesink itself are written before the script." in said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("try", "train.py"), "--with"),
        (("try", "--with", "turbo", "train.py"), "There are num-workers"),
        (("try", "--with", "num-workers=many", "train.py"), "whole number"),
        (("try", "--with", "compile", "--with", "compile", "train.py"), "twice"),
        (("try", "--with", "compile"), "no script"),
        (("try", "--with", "compile", "gone.py"), "no script gone.py"),
        (("try", "--before", "train.py"), "belong together"),
        (("try", "--before", "train.py", "--after", "train.py", "x.py"), "whole commands"),
        (("try", "--budget", "soon", "--with", "compile", "train.py"), "length of time"),
        (("try", "--precision", "0", "--with", "compile", "train.py"), "share"),
        (("try", "--patch", "gone.py", "train.py"), "no file gone.py"),
        (("try", "--resume", "gone"), "not the record"),
        (("history",), "no ledger"),
        (("tune", "gone.py"), "no script gone.py"),
    ],
)
def test_bad_usage_is_one_sentence(words: tuple[str, ...], said: str, folder: Path) -> None:
    done = timesink(*words, cwd=folder)
    assert done.returncode == 2
    assert said in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr
    assert not list(folder.glob("timesink_runs/*"))
