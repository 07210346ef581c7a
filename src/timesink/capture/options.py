"""What a run was asked to do: made in the parent, handed to the child through one variable."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import time
from dataclasses import dataclass
from pathlib import Path

from timesink.capture.folder import create_run_folder, default_name
from timesink.errors import BadUsage
from timesink.model.run import Schedule

#: Carries the options to the child, which removes it before the script starts.
VARIABLE = "_TIMESINK_CHILD"
_JOIN_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class RunOptions:
    """``script`` is a path, or a module's name where ``module``; ``argv`` its own arguments.

    ``window``: whether this rank records a profiler window. ``quick``: the whole run is profiled
    for ``timesink quick`` instead of a window. ``extension``: "module:function", called in the
    child before the script with its :class:`Session` and ``extension_data`` (experiments use it).
    ``seed``: every generator and the hash of text start from it, None: the script's own business;
    ``deterministic``: torch uses deterministic algorithms only.
    """

    script: str
    argv: tuple[str, ...]
    module: bool
    schedule: Schedule
    folder: str
    rank: int = 0
    world_size: int = 1
    window: bool = True
    quick: bool = False
    extension: str = ""
    extension_data: str = ""
    seed: int | None = None
    deterministic: bool = False

    @staticmethod
    def make(
        script: list[str],
        *,
        module: bool,
        schedule: Schedule,
        out: Path,
        name: str | None = None,
        ranks: tuple[int, ...] = (),
        quick: bool = False,
        seed: int | None = None,
        deterministic: bool = False,
    ) -> RunOptions:
        """Options for this process, with the run folder made (or joined, under torchrun)."""
        if not module and not Path(script[0]).is_file():
            raise BadUsage(
                f"There is no script {script[0]}.", "Name a file, or use -m for a module."
            )
        rank, world = _number("RANK", 0), _number("WORLD_SIZE", 1)
        chosen = name or default_name(script[0].rsplit(".", 1)[-1] if module else script[0])
        folder = create_run_folder(out, chosen) if world == 1 else _joined(out, chosen)
        return RunOptions(
            script=script[0],
            argv=tuple(script[1:]),
            module=module,
            schedule=schedule,
            folder=str(folder.resolve()),
            rank=rank,
            world_size=world,
            window=schedule.active > 0 and (not ranks or rank in ranks),
            quick=quick,
            seed=seed,
            deterministic=deterministic,
        )

    def dump(self) -> str:
        """The options as one line of JSON."""
        return json.dumps(dataclasses.asdict(self))

    @staticmethod
    def load(text: str) -> RunOptions:
        """The inverse of :meth:`dump`."""
        plain = json.loads(text)
        plain["argv"] = tuple(plain["argv"])
        plain["schedule"] = Schedule(**plain["schedule"])
        return RunOptions(**plain)


def _number(variable: str, otherwise: int) -> int:
    value = os.environ.get(variable, "")
    return int(value) if value.isdigit() else otherwise


def _joined(out: Path, name: str) -> Path:
    """One folder for all ranks that a launcher started on this host.

    The first rank to come makes the folder and leaves its name in a marker file, which is named
    after the launcher's process and the job's address, so that no other job can meet it.
    """
    job = [os.environ.get(v, "") for v in ("TORCHELASTIC_RUN_ID", "MASTER_ADDR", "MASTER_PORT")]
    job += [os.environ.get("TORCHELASTIC_RESTART_COUNT", ""), str(os.getppid()), _boot_time()]
    key = hashlib.blake2b("\0".join(job).encode(), digest_size=8).hexdigest()
    try:
        out.mkdir(parents=True, exist_ok=True)
        marker = out / f".job-{key}"
        try:
            handle = os.open(marker, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644)
        except FileExistsError:
            return _await(marker, out)
        folder = create_run_folder(out, name)
        os.write(handle, folder.name.encode())
        os.close(handle)
    except OSError as error:
        reason = error.strerror or str(error)
        raise BadUsage(
            f"The run folder in {out} cannot be made: {reason}.", "Choose another with --out."
        ) from error
    return folder


def _boot_time() -> str:
    """Start time of the launching process: process ids are used again."""
    try:
        return Path(f"/proc/{os.getppid()}/stat").read_text().rsplit(")", 1)[1].split()[19]
    except (OSError, IndexError):
        return ""


def _await(marker: Path, out: Path) -> Path:
    deadline = time.monotonic() + _JOIN_SECONDS
    while time.monotonic() < deadline:
        name = marker.read_text()
        if name and (out / name).is_dir():
            return out / name
        time.sleep(0.05)
    raise BadUsage(f"The first rank did not make a run folder in {out}.", "Look at its output.")
