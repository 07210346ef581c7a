"""``timesink repro`` as a person runs it: hidden causes are found with their line and what fixes
them is checked; scripts that are reproducible pass."""

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

from timesink.reproducibility.lines import statement  # noqa: E402

SCRIPTS = Path(__file__).parents[1] / "reproducibility" / "scripts"
#: Script → the switch that makes it reproducible, "" if only the program can.
BROKEN = {
    "augment_random": "seed",
    "augment_numpy": "seed",
    "augment_torch": "seed",
    "set_order": "PYTHONHASHSEED",
    "python_hash": "PYTHONHASHSEED",
    "clock": "",
    "worker_seed": "",
    "shared_generator": "",
    "scatter": "deterministic",
    "uninitialised": "deterministic",
    "dropout_late": "seed",
    "listdir": "",
}


def timesink(*words: str, cwd: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    plain = {k: v for k, v in os.environ.items() if k != "PYTHONHASHSEED"}
    return subprocess.run(
        [sys.executable, "-m", "timesink", *words],
        cwd=cwd, capture_output=True, text=True, timeout=240, check=False,
        env={**plain, **variables},
    )  # fmt: skip


def answer(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def adds_in_any_order() -> bool:
    """Whether this machine's threads add in an order of their own at all."""
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    values, places = torch.randn(3000, 64), torch.randint(0, 3, (3000,))
    sums = {
        torch.zeros(3, 64).index_put((places,), values, accumulate=True).numpy().tobytes()
        for _ in range(20)
    }
    torch.set_num_threads(before)
    return len(sums) > 2


@pytest.mark.parametrize(("name", "switch"), BROKEN.items())
def test_a_hidden_cause_is_found_at_its_line_and_its_remedy_checked(
    name: str, switch: str, tmp_path: Path
) -> None:
    if name == "scatter" and not adds_in_any_order():
        pytest.skip("the threads of this machine add in the same order each time")
    script = SCRIPTS / "broken" / f"{name}.py"
    done = timesink("repro", "--json", "--steps", "3", str(script), cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    found = answer(done)
    assert not found["reproducible"]
    operator = found["rounds"][0]["located"]["operator"]
    assert operator is not None
    file, first, last = statement(operator["a"]["line"])
    assert file == str(script)
    lines = script.read_text().splitlines()
    assert f"# cause: {operator['cause']}" in "\n".join(lines[first - 1 : last])
    assert operator["dial"] == switch
    agree = [r["switches"] for r in found["rounds"] if r["difference"] is None and not r["error"]]
    assert agree == ([[switch]] if switch else [])


@pytest.mark.parametrize("name", sorted(p.stem for p in (SCRIPTS / "sound").glob("*.py")))
def test_its_reproducible_twin_passes(name: str, tmp_path: Path) -> None:
    script = SCRIPTS / "sound" / f"{name}.py"
    done = timesink("repro", "--json", "--steps", "3", str(script), cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    found = answer(done)
    assert found["reproducible"]
    (only,) = found["rounds"]
    assert only["steps"] >= 2
    assert len(found["processes"]) == 2


LATE = """
import numpy as np, torch
torch.manual_seed(0)
late = torch.from_numpy(np.random.default_rng().normal(size=3).astype("f4"))  # here
model = torch.nn.Linear(3, 2)
for step, x in enumerate(torch.utils.data.DataLoader(torch.randn(8, 3), batch_size=2)):
    if step == 2:
        x = x + late
    model(x)
"""


def test_what_shows_late_is_traced_to_where_it_came_in(tmp_path: Path) -> None:
    (tmp_path / "late.py").write_text(LATE)
    done = timesink("repro", "late.py", cwd=tmp_path, COLUMNS="80")
    assert done.returncode == 1, done.stderr
    (folder,) = tmp_path.glob("timesink_runs/repro-late")
    found = json.loads((folder / "repro.json").read_text())
    assert found["rounds"][0]["difference"]["step"] == 2
    assert found["rounds"][0]["difference"]["where"][0][0] == "inputs"
    operator = found["rounds"][0]["located"]["operator"]
    assert "# here" in LATE.splitlines()[int(operator["a"]["line"].split(":")[1].split()[0]) - 1]
    assert operator["cause"] == "generator"
    said = " ".join(done.stdout.split())
    assert "2 runs part in step 2, at data that enters torch in step 0." in said
    assert "default_rng() without a seed" in said
    prose = [line for line in done.stdout.splitlines() if not line.startswith("    ")]
    assert max(map(len, prose)) <= 80
    assert (folder / "repro.html").exists()
    assert "late.py:4" in (folder / "repro.md").read_text()


SOUND = LATE.replace("default_rng()", "default_rng(5)")


def test_a_saved_fingerprint_is_compared_with(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(SOUND)
    words = ("repro", "--json", "--steps", "0")
    done = timesink(*words, "--save", "fp.json", "train.py", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    again = timesink(*words, "--against", "fp.json", "train.py", cwd=tmp_path, OMP_NUM_THREADS="1")
    assert again.returncode == 0, again.stderr
    against = answer(again)["against"]
    assert (against["steps"], against["difference"]) == (4, None)
    assert "env.OMP_NUM_THREADS" in [name for name, _, _ in against["environment"]]
    script.write_text(SOUND.replace("step == 2", "step == 1"))
    other = timesink(*words, "--against", "fp.json", "train.py", cwd=tmp_path)
    assert other.returncode == 1
    difference = answer(other)["against"]["difference"]
    assert (difference["step"], difference["where"][0][0]) == (1, "inputs")
    assert answer(other)["rounds"][0]["difference"] is None


TRAINING = """
import numpy as np, random, torch
random.seed(0)
np.random.seed(0)
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(3, 9), torch.nn.Dropout(0.3), torch.nn.Linear(9, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
for step in range(4):
    x = torch.randn(5, 3) * random.random() + torch.from_numpy(np.random.rand(3)).float()
    loss = model(x).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
"""


def test_a_script_prints_what_it_prints_without_us(tmp_path: Path) -> None:
    """Fingerprints change nothing: every loss is the same, to its last digit."""
    (tmp_path / "train.py").write_text(TRAINING)
    plain = subprocess.run(
        [sys.executable, "train.py"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    done = timesink("repro", "--steps", "0", "train.py", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    printed = [p.read_text() for p in tmp_path.glob("timesink_runs/*/*/output.txt")]
    assert printed == [plain.stdout] * 2
    assert "Reproducible: 2 runs of 4 steps agree bit for bit." in done.stdout


def test_a_script_that_fails_or_has_no_steps_is_bad_input(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("raise ValueError('broken on purpose')\n")
    done = timesink("repro", "train.py", cwd=tmp_path)
    assert done.returncode == 2
    assert "broken on purpose" in done.stderr
    (tmp_path / "train.py").write_text("print('hello')\n")
    done = timesink("repro", "train.py", cwd=tmp_path)
    assert done.returncode == 2
    assert "No training step" in done.stderr
    assert "Traceback" not in done.stderr


def test_ctrl_c_leaves_a_record(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("import time\ntime.sleep(100)\n")
    started = subprocess.Popen(
        [sys.executable, "-m", "timesink", "repro", "train.py"],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    deadline = time.monotonic() + 60
    while not list(tmp_path.glob("timesink_runs/*/01-*/run.json")):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    started.send_signal(signal.SIGINT)
    _, err = started.communicate(timeout=60)
    assert started.returncode == 130
    assert "Traceback" not in err
    assert "interrupted" in err
    (record,) = tmp_path.glob("timesink_runs/*/repro.json")
    assert json.loads(record.read_text())["status"] == "interrupted"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("gone.py",), "no script gone.py"),
        (("--against", "gone.json", "train.py"), "gone.json cannot be read"),
        (("--against", "train.py", "train.py"), "not a saved fingerprint"),
        (("--seed", "4294967296", "train.py"), "out of range"),
        (("--timeout", "soon", "train.py"), "length of time"),
    ],
)
def test_bad_usage_is_one_sentence(words: tuple[str, ...], said: str, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("import torch\n")
    done = timesink("repro", *words, cwd=tmp_path)
    assert done.returncode == 2
    assert said in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr
    assert not list(tmp_path.glob("timesink_runs/*"))
