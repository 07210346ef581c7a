"""A process that decodes one snapshot: ``python -m timesink.store.snapshot_worker FILE FOLDER``.

Whatever a hostile pickle does happens here, under limits on memory and CPU time. The tables are
written to FOLDER as Arrow files; the last line on stdout is JSON: ``{"refused": …}`` or
``{"settings": …, "notes": …}``.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from timesink.store.unpickle import Refused, load

_GB = 10**9
#: Python objects of a snapshot take 3 to 7 times the bytes of its pickle (measured).
_TIMES = 12
_SECONDS, _SECONDS_PER_GB = 30, 300


def main(file: Path, folder: Path) -> dict[str, Any]:
    """Decode; what to print."""
    restore = _limit(file.stat().st_size)
    from timesink.store.snapshot_work import columns

    try:
        found = columns(load(file))
    except Refused as refusal:
        return {"refused": str(refusal)}
    except MemoryError:
        return {"refused": "it asks for more memory than its size can explain"}
    except RecursionError:
        return {"refused": "it is nested too deeply"}
    except Exception as error:
        return {"refused": f"it is damaged ({type(error).__name__}: {error})"[:300]}
    restore()
    rest = {"settings": found.pop("settings"), "notes": found.pop("notes")}
    _write(found, folder)
    return rest


def _limit(size: int) -> Any:
    """Limit this process; returns a function that lifts the limit on memory again."""
    try:
        import resource
    except ImportError:  # Windows
        return lambda: None
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    wanted = 1 * _GB + _TIMES * size
    if hard != resource.RLIM_INFINITY:
        wanted = min(wanted, hard)
    resource.setrlimit(resource.RLIMIT_AS, (wanted, hard))
    seconds = _SECONDS + _SECONDS_PER_GB * size // _GB
    _, most = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    return lambda: resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def _write(found: dict[str, Any], folder: Path) -> None:
    import numpy as np
    import polars as pl

    from timesink.store.snapshot_schema import TABLES

    for name, schema in TABLES.items():
        table = found.pop(name)
        series = []
        for column, dtype in schema.items():
            values = table.pop(column)
            plain = np.asarray(values) if hasattr(values, "typecode") else values
            series.append(pl.Series(column, plain, dtype=dtype))
        pl.DataFrame(series).write_ipc(folder / f"{name}.arrow")


if __name__ == "__main__":
    answer = main(Path(sys.argv[1]), Path(sys.argv[2]))
    print(json.dumps(answer), flush=True)
    os._exit(0)  # millions of objects need not be freed one by one
