"""What measuring costs: plain against ``timesink run``, interleaved, outside the window.

Two scripts print the wall time of each of their steps; runs alternate (ABBA) because a machine
drifts. The small one's steps are so short that the hooks' own time can be seen: that many µs are
added to a step of any length. Start-up is compared on a script that only imports torch.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.measure import measured

_SCRIPT = """
import time, json, torch
torch.manual_seed(0); torch.set_num_threads(1)
inputs, targets = torch.randn({rows}, {width}), torch.randint(0, 10, ({rows},))
data = torch.utils.data.TensorDataset(inputs, targets)
loader = torch.utils.data.DataLoader(data, batch_size={batch})
model = torch.nn.Sequential(
    torch.nn.Linear({width}, {hidden}), torch.nn.ReLU(),
    torch.nn.Linear({hidden}, {hidden}), torch.nn.ReLU(), torch.nn.Linear({hidden}, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
times = []
for epoch in range({epochs}):
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


_LARGE = {"rows": 96 * 64, "width": 512, "hidden": 1024, "batch": 64, "epochs": 2}
_SMALL = {"rows": 2000, "width": 8, "hidden": 8, "batch": 4, "epochs": 4}


def main() -> None:
    with TemporaryDirectory() as folder:
        large = _arms(Path(folder), _LARGE, 6)
        plain = statistics.median(large["plain"])
        print(f"plain step: {plain * 1e3:.2f} ms (median of interleaved runs)")
        for name in ("light", "after"):
            ratios = [b / a for a, b in zip(large["plain"], large[name], strict=True)]
            low, high = min(ratios), max(ratios)
            print(
                f"{_LABELS[name]}: {statistics.median(ratios):.4f} of plain [{low:.3f}, {high:.3f}]"
            )
        inside = statistics.median(large["inside"])
        print(f"inside the window: {inside / plain:.2f} times plain")
        small = _arms(Path(folder), _SMALL, 6)
        plain = min(small["plain"])
        print(f"small step: {plain * 1e6:.0f} µs (best median)")
        for name in ("light", "after"):
            added = (min(small[name]) - plain) * 1e6
            print(f"{_LABELS[name]}: {added:.1f} µs added, {added / 5000:.2%} of a 5 ms step")
        _start_up(Path(folder))


_LABELS = {"light": "light recorder only", "after": "after the window"}


def _arms(folder: Path, sizes: dict[str, int], pairs: int) -> dict[str, list[float]]:
    """Median step of each run, by arm; "inside" is that of the recorded steps."""
    script = folder / "train.py"
    script.write_text(_SCRIPT.format(**sizes))
    run = [sys.executable, "-m", "timesink", "run", "-q", "-o", str(folder)]
    arms = {"plain": [sys.executable], "light": [*run, "--active", "0"], "after": run}
    out: dict[str, list[float]] = {name: [] for name in (*arms, "inside")}
    for pair in range(pairs):
        for name in list(arms) if pair % 2 == 0 else list(reversed(arms)):
            times = _steps(measured([*arms[name], str(script)]).stdout)
            out[name].append(statistics.median(times[20:]))
            if name == "after":
                out["inside"].append(statistics.median(times[4:9]))
    return out


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
