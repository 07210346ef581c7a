"""The run folder: made without overwriting another, written atomically, read back tolerantly."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import re
import tempfile
import time
from pathlib import Path
from typing import Any

from timesink.errors import BadUsage, UnreadableFile
from timesink.model.run import Environment, LoaderInfo, RunRecord, Schedule

_RANK_FILE = re.compile(r"run\.rank(\d+)\.json$")


def default_name(script: str) -> str:
    """``train-20261201-1330`` for ``path/train.py``."""
    stem = re.sub(r"[^A-Za-z0-9_.-]+", "-", Path(script).stem or "run").strip("-.") or "run"
    return f"{stem}-{time.strftime('%Y%m%d-%H%M%S')}"


def create_run_folder(base: Path, name: str) -> Path:
    """Make ``base/name``, or ``name-2`` and so on where that exists; never reuses a folder."""
    if name in ("", ".", "..") or Path(name).name != name:
        raise BadUsage(f"{name!r} cannot be the name of a run.", "Choose a --name without slashes.")
    try:
        base.mkdir(parents=True, exist_ok=True)
        for number in range(1, 10_000):
            folder = base / (name if number == 1 else f"{name}-{number}")
            with contextlib.suppress(FileExistsError):
                folder.mkdir()
                return folder
    except OSError as error:
        reason = error.strerror or str(error)
        raise BadUsage(
            f"The run folder {base / name} cannot be made: {reason}.", "Choose another with --out."
        ) from error
    raise BadUsage(f"{base} holds too many runs named {name}.", "Choose another --name.")


def write_atomic(path: Path, data: bytes) -> None:
    """Replace ``path`` as a whole or, on an error such as a full disk, leave it as it was."""
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(0o644)
        temporary.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise


def record_path(folder: Path, rank: int) -> Path:
    """``run.json`` for rank 0, ``run.rank3.json`` for others."""
    return folder / ("run.json" if rank == 0 else f"run.rank{rank}.json")


def write_record(folder: Path, record: RunRecord, rank: int | None = None) -> None:
    """Write the record of one rank."""
    plain = dataclasses.asdict(record)
    plain["environment"] = dict(record.environment.fields)
    text = json.dumps(plain, indent=1, ensure_ascii=False)
    write_atomic(record_path(folder, record.rank if rank is None else rank), text.encode())


def read_record(folder: Path, rank: int = 0) -> RunRecord:
    """The record of one rank; fields that are unknown or missing do not matter."""
    path = record_path(folder, rank)
    try:
        plain = json.loads(path.read_text(encoding="utf-8"))
        return _record(plain)
    except (OSError, ValueError, TypeError, AttributeError, KeyError) as error:
        raise UnreadableFile(f"{path} is not a record of a run ({error}).") from error


def _record(plain: dict[str, Any]) -> RunRecord:
    values = _known(RunRecord, plain)
    values["environment"] = Environment(
        tuple((str(k), str(v)) for k, v in plain.get("environment", {}).items())
    )
    if plain.get("schedule"):
        values["schedule"] = Schedule(**_known(Schedule, plain["schedule"]))
    values["loaders"] = tuple(
        LoaderInfo(**_known(LoaderInfo, entry)) for entry in plain.get("loaders", ())
    )
    for name in ("command", "notes", "optimizers"):
        values[name] = tuple(str(v) for v in plain.get(name, ()))
    return RunRecord(**values)


def _known(kind: Any, plain: dict[str, Any]) -> dict[str, Any]:
    names = {f.name for f in dataclasses.fields(kind)}
    return {k: v for k, v in plain.items() if k in names}


def is_run_folder(path: Path) -> bool:
    """Whether a folder was made by ``timesink run``."""
    return (path / "run.json").is_file() or bool(ranks_in(path))


def ranks_in(folder: Path) -> tuple[int, ...]:
    """The ranks that have a record."""
    ranks = [0] if (folder / "run.json").is_file() else []
    for path in folder.glob("run.rank*.json"):
        match = _RANK_FILE.search(path.name)
        if match:
            ranks.append(int(match[1]))
    return tuple(sorted(ranks))
