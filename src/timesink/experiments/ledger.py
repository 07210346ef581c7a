"""The record of experiments: one file per experiment, rewritten after every process, and a ledger
with one line per experiment, newest last."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from timesink.capture.folder import write_atomic
from timesink.errors import BadUsage, UnreadableFile
from timesink.model.experiments import (
    Change,
    Command,
    Design,
    Effect,
    Equivalence,
    Experiment,
    Interval,
    Observation,
    Speed,
)

FILE = "experiment.json"
LEDGER = "ledger.jsonl"


def save(experiment: Experiment, folder: Path) -> None:
    """Write the whole experiment, atomically."""
    text = json.dumps(dataclasses.asdict(experiment), ensure_ascii=False)
    write_atomic(folder / FILE, text.encode("utf-8", "backslashreplace"))


def load(folder: Path) -> Experiment:
    """Read it back. Raises ``UnreadableFile``."""
    path = folder / FILE
    try:
        return _experiment(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise UnreadableFile(
            f"{path} is not the record of an experiment ({error}).", "Name a folder made by try."
        ) from error


def _experiment(plain: dict[str, Any]) -> Experiment:
    values = _known(Experiment, plain)
    design = _known(Design, plain["design"])
    design["before"] = Command(**_known(Command, design["before"]))
    design["after"] = Command(**_known(Command, design["after"]))
    design["change"] = Change(**_known(Change, design["change"]))
    values["design"] = Design(**design)
    values["observations"] = tuple(_observation(o) for o in plain["observations"])
    if plain.get("speed"):
        speed = _known(Speed, plain["speed"])
        for name in ("ratio", "itself"):
            speed[name] = Interval(**speed[name]) if speed.get(name) else None
        values["speed"] = Speed(**speed)
    if plain.get("equivalence"):
        values["equivalence"] = Equivalence(**_known(Equivalence, plain["equivalence"]))
    return Experiment(**values)


def _observation(plain: dict[str, Any]) -> Observation:
    values = _known(Observation, plain)
    values["effects"] = tuple(Effect(**_known(Effect, e)) for e in plain["effects"])
    return Observation(**values)


def _known(kind: Any, plain: dict[str, Any]) -> dict[str, Any]:
    """The fields that ``kind`` has, lists as tuples."""
    names = {f.name for f in dataclasses.fields(kind)}
    return {k: _tupled(v) for k, v in plain.items() if k in names}


def _tupled(value: Any) -> Any:
    return tuple(map(_tupled, value)) if isinstance(value, list) else value


def append(experiment: Experiment, folder: Path, base: Path) -> None:
    """Add one line about the experiment in ``folder`` to the ledger in ``base``; a later line with
    the same name replaces it."""
    entry = {**summary(experiment), "name": folder.relative_to(base).as_posix()}
    line = json.dumps(entry, ensure_ascii=False) + "\n"
    handle = os.open(base / LEDGER, os.O_CREAT | os.O_RDWR | os.O_APPEND, 0o644)
    try:
        size = os.fstat(handle).st_size
        if size and os.pread(handle, 1, size - 1) != b"\n":
            line = "\n" + line  # a line that was torn by a full disk stays a line of its own
        os.write(handle, line.encode("utf-8", "backslashreplace"))
    finally:
        os.close(handle)


def summary(e: Experiment) -> dict[str, Any]:
    """What the ledger keeps: what, when, where, before, after, interval, equivalence."""
    fields = dict(e.environment)
    speed, same = e.speed, e.equivalence
    return {
        "schema_version": e.schema_version,
        "name": e.name,
        "started": e.started,
        "status": e.status,
        "change": e.design.change.label,
        "base": list(e.design.base),
        "command": list(e.design.before.words),
        "after": list(e.design.after.words),
        "commit": fields.get("git.commit", ""),
        "dirty": fields.get("git.dirty", ""),
        "torch": fields.get("torch.version", ""),
        "cpu": fields.get("cpu.model", ""),
        "gpu": fields.get("gpu.0.name", ""),
        "outcome": speed.outcome if speed else "",
        "text": speed.text if speed else "",
        "before_ns": speed.before_ns if speed else 0.0,
        "after_ns": speed.after_ns if speed else 0.0,
        "ratio": dataclasses.asdict(speed.ratio) if speed and speed.ratio else None,
        "pairs": speed.pairs if speed else 0,
        "equivalence": same.verdict if same else "",
    }


def history(base: Path) -> tuple[list[dict[str, Any]], int]:
    """All experiments of a ledger, oldest first, and how many lines cannot be read."""
    path = base / LEDGER
    if not path.is_file():
        raise BadUsage(f"There is no ledger in {base}.", "Run `timesink try` first, or name --out.")
    found: dict[str, dict[str, Any]] = {}
    damaged = 0
    for entry in _lines(path):
        if entry is None:
            damaged += 1
            continue
        found.pop(entry["name"], None)
        found[entry["name"]] = entry
    return list(found.values()), damaged


def _lines(path: Path) -> Iterator[dict[str, Any] | None]:
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        if not line.strip():
            continue
        entry = None
        with contextlib.suppress(ValueError):
            entry = json.loads(line)
        good = isinstance(entry, dict) and isinstance(entry.get("name"), str)
        yield entry if good else None
