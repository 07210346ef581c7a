"""The only reader of the caching allocator's snapshots (``torch.cuda.memory._dump_snapshot``)."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import polars as pl

from timesink.errors import NotASnapshot, UnreadableFile
from timesink.model.trace import QualityNote
from timesink.store.pool import worker_environment
from timesink.store.snapshot_schema import TABLES, Snapshot

_REMEDY = (
    "Record one with `timesink run --memory train.py`, or with "
    'torch.cuda.memory._record_memory_history() and ._dump_snapshot("memory.pickle").'
)


def read_snapshot(path: str | Path) -> Snapshot:
    """Read a snapshot of torch 2.0 or later, in a process of its own.

    Raises ``UnreadableFile`` for a file that is not there and ``NotASnapshot`` for one that is
    something else, damaged or hostile: a pickle that asks for any class or function is refused.
    """
    file = Path(path)
    _present(file)
    with tempfile.TemporaryDirectory(prefix="timesink-") as folder:
        answer = _decoded(file, Path(folder))
        tables = {
            name: pl.read_ipc((Path(folder) / f"{name}.arrow").read_bytes()) for name in TABLES
        }
    notes = tuple(QualityNote(slug, text, count) for slug, text, count in answer["notes"])
    settings = tuple((key, value) for key, value in answer["settings"])
    return Snapshot(**tables, settings=settings, notes=notes)


def is_pickle(path: Path) -> bool:
    """Whether a file begins as a pickle of protocol 2 or later does."""
    try:
        with path.open("rb") as file:
            head = file.read(2)
    except OSError:
        return False
    return len(head) == 2 and head[0] == 0x80 and 2 <= head[1] <= 5


def _present(file: Path) -> None:
    try:
        with file.open("rb") as stream:
            head = stream.read(2)
    except OSError as error:
        raise UnreadableFile(
            f"{file} cannot be read: {error.strerror or error}.", "Check the path."
        ) from error
    if not head:
        raise NotASnapshot(f"{file} is empty.", _REMEDY)
    if head == b"\x1f\x8b":
        raise NotASnapshot(f"{file} is compressed.", f"Unpack it first: gunzip {file.name}.")
    if not is_pickle(file):
        raise NotASnapshot(f"{file} is not a snapshot: it is not a pickle.", _REMEDY)


def _decoded(file: Path, folder: Path) -> dict[str, Any]:
    command = [sys.executable, "-m", "timesink.store.snapshot_worker", str(file), str(folder)]
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, env=worker_environment()
    )
    lines = done.stdout.decode(errors="replace").strip().splitlines()
    if done.returncode or not lines:
        raise NotASnapshot(f"{file} is not a snapshot: {_death(done)}.", _REMEDY)
    answer = json.loads(lines[-1])
    if "refused" in answer:
        raise NotASnapshot(f"{file} is not a snapshot: {answer['refused']}.", _REMEDY)
    return dict(answer)


def _death(done: subprocess.CompletedProcess[bytes]) -> str:
    """Why the reading process ended."""
    if done.returncode < 0:
        return f"reading it crashed the process that tried (signal {-done.returncode})"
    lines = done.stderr.decode(errors="replace").strip().splitlines()
    return f"reading it failed ({lines[-1][:200] if lines else 'no reason given'})"
