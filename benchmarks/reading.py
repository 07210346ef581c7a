"""Reading: MB/s against a plain typed msgspec decode, the cache, and memory against file size."""

from __future__ import annotations

import gzip
import os
import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.measure import measured
from benchmarks.synth import multiply

_READ = """
import sys, time
from timesink.store.read import read_trace
start = time.perf_counter()
trace = read_trace(sys.argv[1], cache=sys.argv[3] == "cache", workers=int(sys.argv[2]))
rows = trace.tables.events.height
print(time.perf_counter() - start, rows)
"""


def _reading(trace: Path, workers: int, cache: str, env: dict[str, str]) -> tuple[float, float]:
    runs = [
        measured([sys.executable, "-c", _READ, str(trace), str(workers), cache], env)
        for _ in range(3 if cache == "none" else 1)
    ]
    return min(float(r.stdout.split()[0]) for r in runs), max(r.peak_mb for r in runs)


def main(traces: Path, work: Path) -> None:
    source = traces / "hta" / "df_index_resolver" / "df_index_resolver.json.gz"
    if not source.exists():
        print(f"reading: skipped, {source} is not there (set TIMESINK_TRACES)")
        return
    plain = work / "df_index.json"
    plain.write_bytes(gzip.decompress(source.read_bytes()))
    size = plain.stat().st_size / 1e6
    limit = min(
        float(
            measured([sys.executable, "-m", "benchmarks.decode_limit", str(plain)]).stdout.split()[
                0
            ]
        )
        for _ in range(3)
    )
    with TemporaryDirectory(dir=work) as folder:
        env = {"TIMESINK_CACHE": folder}
        one, _ = _reading(plain, 1, "none", env)
        print(f"msgspec decode only: {size / limit:.0f} MB/s")
        print(f"timesink, one core:  {size / one:.0f} MB/s ({limit / one:.2f} of the limit)")
        _big(source, work, env)


def _big(source: Path, work: Path, env: dict[str, str]) -> None:
    big = work / "synthetic_x11.json"
    if not big.exists():
        multiply(source, big, 11)
    size = big.stat().st_size / 1e6
    cores = len(os.sched_getaffinity(0))
    one, _ = _reading(big, 1, "none", env)
    both, peak = _reading(big, cores, "none", env)
    print(f"{size:.0f} MB, one core: {size / one:.0f} MB/s; {cores} cores: {size / both:.0f} MB/s")
    first, peak_first = _reading(big, cores, "cache", env)
    second, _ = _reading(big, cores, "cache", env)
    print(f"cache: first {first:.2f} s, second {second:.3f} s ({second / first:.3f})")
    print(f"peak RSS with all tables loaded: {max(peak, peak_first):.0f} MB")
    _flat(source, work, env)


def _flat(source: Path, work: Path, env: dict[str, str]) -> None:
    """Peak RSS for aggregates alone, on growing files."""
    for copies in (2, 5, 10, 20):
        trace = work / f"synthetic_flat_{copies}.json"
        if not trace.exists():
            multiply(source, trace, copies)
        shutil.rmtree(env["TIMESINK_CACHE"], ignore_errors=True)
        run = measured([sys.executable, "-m", "benchmarks.aggregate", str(trace)], env)
        size = trace.stat().st_size / 1e6
        print(f"aggregates only: {size:.0f} MB file, peak RSS {run.peak_mb:.0f} MB", flush=True)
