"""What differs from run to run is seen where the program takes it, and nothing else is."""

from __future__ import annotations

import cProfile
import datetime
import gc
import os
import random
import sys
import threading
import time
import uuid
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from timesink.model.reproducibility import OperatorCall, OperatorDifference, SourceUse
from timesink.reproducibility.sources import SourceWatch, suspects


def uses(call: Callable[[], object]) -> set[tuple[str, str]]:
    gc.disable()  # hypothesis reads a clock in each collection
    try:
        with SourceWatch() as watch:
            call()
    finally:
        gc.enable()
    assert all("test_sources.py" in use.line for use in watch.uses())
    return {(use.kind, use.name) for use in watch.uses()}


@pytest.mark.parametrize(
    ("call", "kind", "name"),
    [
        (lambda: time.time(), "clock", "time.time()"),
        (lambda: datetime.datetime.now(), "clock", "datetime.now()"),
        (lambda: os.getpid(), "process id", "os.getpid()"),
        (lambda: os.urandom(3), "entropy", "os.urandom()"),
        (lambda: uuid.uuid4(), "entropy", "os.urandom()"),
        (lambda: random.random(), "generator", "Python's global random"),
        (lambda: random.shuffle([1, 2, 3]), "generator", "Python's global random"),
        (lambda: random.Random(), "generator", "random.Random() without a seed"),
        (lambda: random.seed(), "generator", "Python's global random"),
        (lambda: random.SystemRandom().random(), "entropy", "os.urandom()"),
        (lambda: list(Path().iterdir()), "file order", "os.listdir()"),
        (lambda: os.listdir(), "file order", "os.listdir()"),  # noqa: PTH208
        (lambda: hash("a"), "hash", "hash()"),
        (lambda: np.random.default_rng(), "generator",
         "numpy.random.default_rng() without a seed"),
    ],
)  # fmt: skip
def test_sees(call: Callable[[], object], kind: str, name: str) -> None:
    seen = uses(call)
    if name == "os.listdir()":  # newer Pythons iterate with scandir
        assert {k for k, _ in seen} == {kind}
    else:
        assert (kind, name) in seen


def test_sees_nothing_where_there_is_nothing() -> None:
    assert uses(lambda: sorted([3, 1], key=abs)) == set()
    assert uses(lambda: np.random.default_rng(1).random()) == set()
    assert uses(lambda: random.Random(1).random()) == set()
    assert uses(lambda: random.seed(1)) == set()


def test_sees_threads_and_forked_processes(tmp_path: Path) -> None:
    told = tmp_path / "told"

    def first(use: SourceUse) -> None:
        with told.open("a") as file:
            file.write(f"{use.kind} {use.in_worker}\n")

    with SourceWatch(first) as watch:
        thread = threading.Thread(target=lambda: os.urandom(1))
        thread.start()
        thread.join()
        pid = os.fork()
        if pid == 0:
            time.time()
            os._exit(0)
        os.waitpid(pid, 0)
    assert told.read_text().splitlines() == ["entropy False", "clock True"]
    assert [u.kind for u in watch.uses()] == ["entropy"]
    assert threading.getprofile() is None


def test_counts_by_line_and_leaves_no_trace() -> None:
    original = np.random.default_rng
    with SourceWatch() as watch:
        for _ in range(3):
            time.time_ns()
    assert [(use.name, use.count) for use in watch.uses()] == [("time.time_ns()", 3)]
    assert sys.getprofile() is None
    assert np.random.default_rng is original


def test_the_numbers_stay_the_same() -> None:
    def draw() -> list[float]:
        random.seed(1)
        return [random.random(), random.gauss(0, 1), *np.random.default_rng(2).random(2)]

    plain = draw()
    with SourceWatch():
        assert draw() == plain


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="cProfile does not use the hook there")
def test_steps_aside_for_a_profiler() -> None:
    profiler = cProfile.Profile()
    profiler.enable()
    try:
        with SourceWatch() as watch:
            time.time()
        assert sys.getprofile() is profiler
    finally:
        profiler.disable()
    assert (watch.on, watch.uses()) == (False, ())


def test_suspects_by_closeness() -> None:
    call = OperatorCall(0, 0, "aten.lift_fresh.default", line="a.py:9 (augment)")
    far = SourceUse("generator", "far", "b.py:9 (augment)")
    same_file = SourceUse("generator", "file", "a.py:90 (other)")
    same_function = SourceUse("clock", "function", "a.py:8 (augment)")
    same_line = SourceUse("clock", "line", "a.py:9 (augment)")
    every = (far, same_file, same_function, same_line)
    found = OperatorDifference(call, call, ("self",), "data", "")
    assert [u.name for u in suspects(found, every)] == ["line", "function", "file", "far"]
    clock = OperatorDifference(call, call, ("self",), "clock", "")
    assert [u.name for u in suspects(clock, every)] == ["line", "function"]
    kernel = OperatorDifference(call, call, (), "kernel", "")
    assert suspects(kernel, every) == ()
