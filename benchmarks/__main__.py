"""``python -m benchmarks [reading] [peers] [overhead] [aa] [fingerprint]``: all by default."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from benchmarks import aa, fingerprint, overhead, peers, reading, snapshots

TRACES = Path(
    os.environ.get("TIMESINK_TRACES", Path(__file__).parents[2] / "shared" / "traces")
).resolve()
WORK = Path(os.environ.get("TIMESINK_BENCH", Path.home() / ".cache" / "timesink-benchmarks"))


def main(names: list[str]) -> None:
    WORK.mkdir(parents=True, exist_ok=True)
    chosen = names or ["reading", "peers", "overhead", "aa", "fingerprint", "snapshots"]
    print(f"{os.cpu_count()} cores, Python {sys.version.split()[0]}", flush=True)
    for name in chosen:
        print(f"\n== {name}", flush=True)
        if name == "reading":
            reading.main(TRACES, WORK)
        elif name == "peers":
            peers.main(TRACES, WORK)
        elif name == "overhead":
            overhead.main()
        elif name == "aa":
            aa.main()
        elif name == "fingerprint":
            fingerprint.main()
        elif name == "snapshots":
            snapshots.main(WORK)
        else:
            sys.exit(f"no benchmark {name}: reading, peers, overhead, aa, fingerprint, snapshots")


main(sys.argv[1:])
