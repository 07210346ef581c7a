"""Decodes chunks on several cores, in order, with at most a few chunks in memory.

Each worker process has one thread here that talks to it, so the pipe's blocking never stops the
others. A worker that dies costs nothing: its chunk is decoded in this process.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path
from queue import SimpleQueue

from timesink.store.columns import Columns
from timesink.store.cut import Chunk
from timesink.store.work import unpack, work
from timesink.store.worker import HEADER, SIZE, read_exactly


def decoded(chunks: Iterator[Chunk], key: bytes, workers: int) -> Iterator[tuple[Chunk, Columns]]:
    """Every chunk with its columns, in the order of the file.

    ``workers`` 0 decodes in this process. At most two chunks per worker are in flight.
    """
    if workers <= 0:
        for chunk in chunks:
            yield chunk, work(chunk.data, chunk.offset, key)
        return
    tasks: SimpleQueue[tuple[Chunk, Future[Columns]] | None] = SimpleQueue()
    threads = [
        threading.Thread(target=_serve, args=(tasks, key), daemon=True) for _ in range(workers)
    ]
    for thread in threads:
        thread.start()
    waiting: deque[tuple[Chunk, Future[Columns]]] = deque()
    try:
        for chunk in chunks:
            future: Future[Columns] = Future()
            tasks.put((chunk, future))
            waiting.append((chunk, future))
            if len(waiting) >= 2 * workers:
                done, result = waiting.popleft()
                yield done, result.result()
        while waiting:
            done, result = waiting.popleft()
            yield done, result.result()
    finally:
        for _ in threads:
            tasks.put(None)
        for thread in threads:
            thread.join()


def _serve(tasks: SimpleQueue[tuple[Chunk, Future[Columns]] | None], key: bytes) -> None:
    process = _start()
    try:
        while (task := tasks.get()) is not None:
            chunk, future = task
            try:
                future.set_result(_either(process, chunk, key))
            except BaseException as error:  # raised where the result is awaited: never lost
                future.set_exception(error)
    finally:
        if process is not None:
            for pipe in (process.stdin, process.stdout):
                with contextlib.suppress(OSError):
                    if pipe:
                        pipe.close()
            process.wait()


def worker_environment() -> dict[str, str]:
    """What a process of ours needs to find this package, wherever it is imported from."""
    root = str(Path(__file__).resolve().parents[2])
    path = os.pathsep.join(p for p in (root, os.environ.get("PYTHONPATH", "")) if p)
    return {**os.environ, "PYTHONPATH": path}


def _start() -> subprocess.Popen[bytes] | None:
    command = [sys.executable, "-m", "timesink.store.worker"]
    try:
        return subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=worker_environment(),
        )
    except OSError:
        return None


def _either(process: subprocess.Popen[bytes] | None, chunk: Chunk, key: bytes) -> Columns:
    try:
        return _remote(process, chunk, key)
    except (OSError, ValueError, EOFError):
        return work(chunk.data, chunk.offset, key)


def _remote(process: subprocess.Popen[bytes] | None, chunk: Chunk, key: bytes) -> Columns:
    if process is None or process.stdin is None or process.stdout is None:
        raise EOFError
    process.stdin.write(HEADER.pack(len(chunk.data), chunk.offset, len(key)) + key)
    process.stdin.write(chunk.data)
    process.stdin.flush()
    head = read_exactly(process.stdout, SIZE.size)
    if len(head) < SIZE.size:
        raise EOFError
    size = SIZE.unpack(head)[0]
    data = read_exactly(process.stdout, size)
    if len(data) < size:
        raise EOFError
    return unpack(data)
