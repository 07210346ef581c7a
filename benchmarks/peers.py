"""timesink against Holistic Trace Analysis 0.5.0 (pandas < 3) on the same traces, in one run."""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.measure import Measured, measured
from benchmarks.synth import multiply

HERE = Path(__file__).parent


def peer_python(folder: Path) -> Path:
    """A Python with the peer installed, made on first use."""
    python = folder / "bin" / "python"
    if not python.exists():
        venv.create(folder, with_pip=True)
        packages = ["HolisticTraceAnalysis==0.5.0", "pandas<3"]
        subprocess.run([python, "-m", "pip", "install", "-q", *packages], check=True)
    return python


def compare(label: str, trace: Path, peer: Path, cache: Path) -> None:
    env = {"TIMESINK_CACHE": str(cache)}
    own = [sys.executable, "-m", "benchmarks.own", str(trace)]
    ours = measured(own, env)
    ours_again = measured(own, env)
    theirs = measured([str(peer), str(HERE / "peer_hta.py"), str(trace)])
    best = min(ours, ours_again, key=lambda m: m.wall_s)
    _line(f"{label}: HTA 0.5.0", theirs)
    _line(f"{label}: timesink, no cache", best)
    if theirs.returncode == 0:
        print(
            f"{label}: {theirs.wall_s / best.wall_s:.1f} times faster, "
            f"{best.peak_mb / theirs.peak_mb:.2f} of the memory"
        )
    first = measured([*own, "--cache"], env)
    second = measured([*own, "--cache"], env)
    print(
        f"{label}: with cache, whole process: first {first.wall_s:.2f} s, second "
        f"{second.wall_s:.2f} s ({second.wall_s / first.wall_s:.2f})"
    )


def _line(label: str, m: Measured) -> None:
    failed = "" if m.returncode == 0 else f"  FAILED with {m.returncode}"
    print(f"{label}: {m.wall_s:.2f} s, {m.peak_mb:.0f} MB{failed}", flush=True)


def main(traces: Path, work: Path) -> None:
    source = traces / "hta" / "df_index_resolver" / "df_index_resolver.json.gz"
    if not source.exists():
        print(f"peers: skipped, {source} is not there (set TIMESINK_TRACES)")
        return
    big = work / "synthetic_x11.json"
    if not big.exists():
        events = multiply(source, big, 11)
        print(f"synthetic: {events:,} events, {big.stat().st_size / 1e6:.0f} MB")
    peer = peer_python(work / "hta")
    with TemporaryDirectory(dir=work) as cache:
        compare("df_index_resolver", source, peer, Path(cache))
        compare("synthetic x11", big, peer, Path(cache))
