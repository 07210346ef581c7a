"""What measuring costs: plain against ``timesink run``, interleaved, outside the window.

The script prints the wall time of each of its steps, so the ratio needs no clock of ours; runs
alternate (ABBA) because a machine drifts. Start-up is compared on a script that only imports torch.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.measure import measured

_TRAIN = """
import time, json, torch
torch.manual_seed(0); torch.set_num_threads(1)
inputs, targets = torch.randn(96 * 64, 512), torch.randint(0, 10, (96 * 64,))
data = torch.utils.data.TensorDataset(inputs, targets)
loader = torch.utils.data.DataLoader(data, batch_size=64)
model = torch.nn.Sequential(
    torch.nn.Linear(512, 1024), torch.nn.ReLU(),
    torch.nn.Linear(1024, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
times = []
for epoch in range(4):
    last = time.perf_counter()
    for x, y in loader:
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
        now = time.perf_counter(); times.append(now - last); last = now
print("STEPS" + json.dumps(times))
"""


def _steps(stdout: str) -> list[float]:
    line = next(x for x in stdout.splitlines() if x.startswith("STEPS"))
    times: list[float] = json.loads(line[5:])
    return times


def main(pairs: int = 8) -> None:
    with TemporaryDirectory() as folder:
        script = Path(folder) / "train.py"
        script.write_text(_TRAIN)
        run = [sys.executable, "-m", "timesink", "run", "-q", "-o", folder]
        arms = {"plain": [sys.executable], "light": [*run, "--active", "0"], "window": run}
        medians: dict[str, list[float]] = {name: [] for name in arms}
        window: list[float] = []
        for pair in range(pairs):
            order = list(arms) if pair % 2 == 0 else list(reversed(arms))
            for name in order:
                times = _steps(measured([*arms[name], str(script)]).stdout)
                medians[name].append(statistics.median(times[20:]))
                if name == "window":
                    window.append(statistics.median(times[4:9]))
        plain = statistics.median(medians["plain"])
        print(f"plain step: {plain * 1e3:.2f} ms (median of {pairs} interleaved runs)")
        for name in ("light", "window"):
            ratios = [b / a for a, b in zip(medians["plain"], medians[name], strict=True)]
            low, high = min(ratios), max(ratios)
            label = "light recorder only" if name == "light" else "after the window"
            print(f"{label}: {statistics.median(ratios):.4f} of plain [{low:.3f}, {high:.3f}]")
        print(f"inside the window: {statistics.median(window) / plain:.2f} times plain")
        _start_up(Path(folder))


def _start_up(folder: Path) -> None:
    script = folder / "empty.py"
    script.write_text("import torch\n")
    plain, ours = [], []
    for _ in range(5):
        start = time.perf_counter()
        measured([sys.executable, str(script)])
        plain.append(time.perf_counter() - start)
        start = time.perf_counter()
        measured([sys.executable, "-m", "timesink", "run", "-q", "-o", str(folder), str(script)])
        ours.append(time.perf_counter() - start)
    extra = statistics.median(ours) - statistics.median(plain)
    print(f"start-up and report: {extra:.2f} s over plain Python + torch import")
