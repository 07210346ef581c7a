"""The cache of decoded traces: Parquet parts in one folder per file, found by its identity.

A folder is written under a temporary name and renamed when it is complete, so readers never see
half a trace. Folders that have not been used longest are removed when all of them exceed
``LIMIT_BYTES``. ``TIMESINK_CACHE`` moves the cache; a folder that cannot be written is no error.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import tempfile
from pathlib import Path

from timesink.store.schema import SCHEMA_VERSION

#: All cached traces together, in bytes.
LIMIT_BYTES = 8 * 1024**3
_SAMPLE = 1 << 16
_META = "meta.json"


def root() -> Path:
    """The folder of the cache."""
    given = os.environ.get("TIMESINK_CACHE")
    if given:
        return Path(given)
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "timesink" / "traces"


def key(path: Path) -> str:
    """The identity of a file: place, size, time and the bytes of both its ends."""
    path = path.resolve()
    stat = path.stat()
    digest = hashlib.blake2b(digest_size=16)
    digest.update(f"{SCHEMA_VERSION}\0{stat.st_size}\0{stat.st_mtime_ns}\0".encode())
    digest.update(os.fsencode(path))
    with path.open("rb") as file:
        digest.update(file.read(_SAMPLE))
        file.seek(max(0, stat.st_size - _SAMPLE))
        digest.update(file.read(_SAMPLE))
    return digest.hexdigest()


def lookup(path: Path) -> Path | None:
    """The complete folder of a file, or None."""
    try:
        folder = root() / key(path)
        if not (folder / _META).exists():
            return None
        os.utime(folder)
    except OSError:
        return None
    return folder


def begin() -> Path | None:
    """A fresh temporary folder inside the cache, or None where nothing can be written."""
    try:
        root().mkdir(parents=True, exist_ok=True)
        return Path(tempfile.mkdtemp(prefix=".new-", dir=root()))
    except OSError:
        return None


def commit(temporary: Path, path: Path) -> Path:
    """Give a complete folder its name; another process may have been faster, which is as good."""
    final = root() / key(path)
    try:
        temporary.rename(final)
    except OSError:
        if not (final / _META).exists():
            return temporary
        shutil.rmtree(temporary, ignore_errors=True)
    _prune(final)
    return final


def discard(folder: Path) -> None:
    """Remove a folder that will not be completed or that turned out damaged."""
    shutil.rmtree(folder, ignore_errors=True)


def _prune(keep: Path) -> None:
    folders = []
    with contextlib.suppress(OSError):
        for folder in root().iterdir():
            with contextlib.suppress(OSError):
                size = sum(f.stat().st_size for f in folder.iterdir())
                folders.append((folder.stat().st_mtime, size, folder))
    total = sum(size for _, size, _ in folders)
    for _, size, folder in sorted(folders):
        if total <= LIMIT_BYTES:
            return
        if folder != keep:
            discard(folder)
            total -= size
