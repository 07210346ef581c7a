"""Run folder, record and step log: nothing overwritten, nothing half, torn tails tolerated."""

from __future__ import annotations

import errno
import json
import os
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from timesink.capture import folder
from timesink.capture.steplog import MAGIC, StepLog, StepRow, read_steps
from timesink.errors import BadUsage, UnreadableFile
from timesink.model.run import Environment, LoaderInfo, RunRecord, Schedule

RECORD = RunRecord(
    name="job",
    command=("train.py", "--x"),
    started="2026-01-01T00:00:00+00:00",
    environment=Environment((("os", "Linux"), ("cpu.usable", "2"))),
    schedule=Schedule(1, 2, 3),
    rank=1,
    world_size=2,
    notes=("a note",),
    loaders=(LoaderInfo(2, 8, True, False, 4, "Images", 3),),
    optimizers=("Adam",),
)


def test_a_record_comes_back_as_it_was(tmp_path: Path) -> None:
    folder.write_record(tmp_path, RECORD)
    assert folder.read_record(tmp_path, 1) == RECORD
    assert folder.ranks_in(tmp_path) == (1,)
    assert folder.is_run_folder(tmp_path)


def test_a_record_of_another_version_is_read(tmp_path: Path) -> None:
    folder.write_record(tmp_path, RECORD, rank=0)
    plain = json.loads((tmp_path / "run.json").read_text())
    plain["from_the_future"] = {"x": 1}
    plain["schedule"]["new"] = True
    del plain["optimizers"]
    (tmp_path / "run.json").write_text(json.dumps(plain))
    assert folder.read_record(tmp_path).loaders == RECORD.loaders


@pytest.mark.parametrize("content", ["", "[]", "{", '{"name": 1}', '"x"'])
def test_a_damaged_record_is_said_to_be_so(tmp_path: Path, content: str) -> None:
    (tmp_path / "run.json").write_text(content)
    with pytest.raises(UnreadableFile):
        folder.read_record(tmp_path)


def test_folders_are_never_shared(tmp_path: Path) -> None:
    made: list[Path] = []
    threads = [
        threading.Thread(target=lambda: made.append(folder.create_run_folder(tmp_path, "x")))
        for _ in range(16)
    ]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(set(made)) == 16


def test_a_base_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(BadUsage, match="--out"):
        folder.create_run_folder(tmp_path / "file" / "runs", "x")


def test_a_full_disk_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "f"
    folder.write_atomic(target, b"old")

    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        folder.write_atomic(target, b"new")
    assert target.read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["f"]


rows = st.builds(
    StepRow,
    kind=st.sampled_from(["train", "eval", "other"]),
    start_ns=st.integers(0, 2**60),
    wall_ns=st.integers(0, 2**60),
    data_ns=st.integers(0, 2**60),
    rss=st.integers(0, 2**60),
    profiled=st.booleans(),
    compiled=st.booleans(),
    boundary=st.booleans(),
)


@given(st.lists(rows, max_size=200), st.integers(0, 60))
def test_whatever_was_flushed_is_read_back(written: list[StepRow], torn: int) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "s.bin"
        log = StepLog(path)
        for row in written:
            log.append(row)
        log.flush()
        size = path.stat().st_size
        os.truncate(path, max(len(MAGIC), size - torn))
        steps = read_steps(path)
    lost = len(written) - len(steps)
    assert lost <= 1 if torn else lost == 0
    for i in range(len(steps)):
        assert steps.kind[i] == written[i].kind
        assert steps.wall_ns[i] == written[i].wall_ns
        assert steps.profiled[i] == written[i].profiled
        assert steps.boundary[i] == written[i].boundary


@pytest.mark.parametrize("content", [b"", b"timesink-steps-9\n", b"garbage" * 9])
def test_other_files_give_no_steps(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "s").write_bytes(content)
    assert len(read_steps(tmp_path / "s")) == 0
    assert len(read_steps(tmp_path / "missing")) == 0
