"""Causes and their healthy siblings in snapshots of an allocator: the answers and the findings."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.snapshots import BACKWARD, FORWARD, MIB, MOVE, OPTIMIZER, Allocator, frame, main
from timesink.api.memory import memory_page, memory_report
from timesink.cli.app import build
from timesink.model.memory import MemoryReport

STEPS = 12
DATA = [frame("__next__", 733, "/site-packages/torch/utils/data/dataloader.py")]


class Job:
    """A training loop on the allocator, with one thing that may be wrong."""

    def __init__(self, capacity: int = 2**40) -> None:
        self.device = Allocator(capacity)
        self.device.alloc(8 * MIB, main(5, MOVE))
        self.state: int | None = None
        self.gradient: int | None = None

    def step(self, keep: bool = False, activation: int = 12 * MIB) -> None:
        batch = self.device.alloc(2 * MIB, main(8, DATA))
        made = self.device.alloc(activation, main(9, FORWARD))
        if self.gradient is not None:
            self.device.free(self.gradient)
        self.gradient = self.device.alloc(8 * MIB, main(10, BACKWARD))
        if not keep:
            self.device.free(made)
        if self.state is None:
            self.state = self.device.alloc(4 * MIB, main(11, OPTIMIZER))
        self.device.free(batch)


def sound(job: Job) -> None:
    for _ in range(STEPS):
        job.step()


def graph_kept(job: Job) -> None:
    for _ in range(STEPS):
        job.step(keep=True)


def cache(job: Job) -> None:
    for _ in range(STEPS):
        job.step()
        job.device.alloc(MIB, main(20))


def hook(job: Job) -> None:
    for _ in range(STEPS):
        job.step()
        job.device.alloc(MIB, main(10, [frame("hook", 30), *BACKWARD]))


def evaluation(job: Job) -> None:
    for _ in range(STEPS):
        job.step()
        held = [job.device.alloc(6 * MIB, main(40, FORWARD)) for _ in range(8)]
        for address in held:
            job.device.free(address)


def evaluation_without_graph(job: Job) -> None:
    for _ in range(STEPS):
        job.step()
        for _ in range(8):
            job.device.free(job.device.alloc(6 * MIB, main(40, FORWARD)))


def optimizer(job: Job) -> None:
    for i in range(STEPS):
        job.step(activation=MIB)
        if not i:
            job.device.alloc(32 * MIB, main(11, OPTIMIZER))


def spike(job: Job) -> None:
    for _ in range(STEPS):
        job.device.free(job.device.alloc(100 * MIB, main(50, FORWARD)))
        job.step()


def spike_in_chunks(job: Job) -> None:
    for _ in range(STEPS):
        for _ in range(20):
            job.device.free(job.device.alloc(5 * MIB, main(50, FORWARD)))
        job.step()


def shapes(job: Job) -> None:
    """Blocks of rising sizes, each with a small one that outlives it: the holes never fit."""
    small: list[int] = []
    for i in range(STEPS):
        job.step()
        big = job.device.alloc((12 + 3 * i) * MIB, main(60))
        job.device.free(big)
        kept = job.device.alloc(2 * MIB, main(61))
        if small:
            job.device.free(small.pop())
        small.append(kept)


CASES: list[tuple[Callable[[Job], None], str, str]] = [
    (graph_kept, "graph-kept", "train.py(9): main"),
    (cache, "kept-each-step", "train.py(20): main"),
    (hook, "kept-each-step", "train.py(30): hook"),
    (evaluation, "eval-with-grad", "train.py(40): main"),
    (optimizer, "optimizer-state", "train.py(11): main"),
    (spike, "temporary-spike", "train.py(50): main"),
    (shapes, "fragmentation", ""),
]


def judged(job: Job, folder: Path) -> MemoryReport:
    return memory_report(job.device.dump(folder / "memory.pickle"))


@pytest.mark.parametrize(("play", "rule", "line"), CASES, ids=[c[0].__name__ for c in CASES])
def test_a_cause_is_named_with_its_line(
    play: Callable[[Job], None], rule: str, line: str, tmp_path: Path
) -> None:
    job = Job()
    play(job)
    report = judged(job, tmp_path)
    assert report.answers[0].agrees
    found = {f.rule: f.line for f in report.findings}
    assert found.get(rule) == line, found
    assert len(found) == 1 or play is spike  # a spike also leaves holes


@pytest.mark.parametrize("play", [sound, evaluation_without_graph, spike_in_chunks])
def test_healthy_ones_raise_no_finding(play: Callable[[Job], None], tmp_path: Path) -> None:
    job = Job()
    play(job)
    report = judged(job, tmp_path)
    assert report.findings == ()
    assert report.answers[0].agrees
    assert "Nothing stands out" in str(memory_page(report))


def test_the_failed_allocation_is_decoded(tmp_path: Path) -> None:
    job = Job(capacity=64 * MIB)
    job.step()
    with pytest.raises(MemoryError):
        job.device.alloc(90 * MIB, main(70, FORWARD))
    report = judged(job, tmp_path)
    oom = report.answers[0].oom
    assert oom is not None
    assert (oom.asked, oom.site.line) == (90 * MIB, "train.py(70): main")
    assert oom.reserved == job.device.reserved
    assert oom.device_free == 64 * MIB - job.device.reserved
    assert oom.live == 20 * MIB
    assert oom.fits == max(oom.device_free, oom.largest_free)
    assert report.headline.startswith("Out of memory on cuda:0: 90 MiB asked for")


def test_what_would_have_fitted_fits(tmp_path: Path) -> None:
    job = Job(capacity=96 * MIB)
    job.step()
    with pytest.raises(MemoryError):
        job.device.alloc(90 * MIB)
    oom = judged(job, tmp_path).answers[0].oom
    assert oom is not None
    job.device.alloc(oom.fits // (2 * MIB) * 2 * MIB)  # raises MemoryError if it does not


def test_the_end_is_foretold(tmp_path: Path) -> None:
    job = Job(capacity=512 * MIB)
    with contextlib.suppress(MemoryError):
        while True:
            job.step(keep=True)
    report = judged(job, tmp_path)
    (grown,) = report.answers[0].growth
    assert grown.per_step == 12 * MIB
    assert grown.left in range(4)


def test_a_ring_that_forgot_the_beginning_says_so(tmp_path: Path) -> None:
    job = Job()
    job.device.alloc(200 * MIB)
    sound(job)
    report = memory_report(job.device.dump(tmp_path / "memory.pickle", entries=40))
    assert report.answers[0].agrees
    assert "history-truncated" in [f.rule for f in report.findings]


def test_command(tmp_path: Path) -> None:
    job = Job()
    graph_kept(job)
    path = job.device.dump(tmp_path / "memory.pickle")
    done = CliRunner().invoke(build(), ["memory", str(path)])
    assert done.exit_code == 0
    assert "Activations of past steps are kept" in done.output
    page = tmp_path / "m.html"
    assert CliRunner().invoke(build(), ["memory", str(path), "--html", str(page)]).exit_code == 0
    assert "live bytes on cuda:0" in page.read_text()
    plain = CliRunner().invoke(build(), ["memory", str(path), "--json"])
    assert '"schema_version"' in plain.output


def test_two_are_compared(tmp_path: Path) -> None:
    paths = []
    for play in (graph_kept, sound):
        job = Job()
        play(job)
        paths.append(str(job.device.dump(tmp_path / f"{play.__name__}.pickle")))
    done = CliRunner().invoke(build(), ["memory", *paths])
    assert done.exit_code == 0, done.output
    lines = {line.split("  ")[0].strip(): line for line in done.output.splitlines()}
    assert "-132 MiB" in lines["activations"]
    assert "gone: Activations of past steps are kept, at train.py(9): main" in done.output
    same = CliRunner().invoke(build(), ["memory", paths[1], paths[1]])
    assert "none in either" in same.output
