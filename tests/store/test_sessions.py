"""Folders of traces: what is a trace, which traces are one run, who is missing."""

from __future__ import annotations

import itertools
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.realdata import real_trace
from timesink.errors import BadUsage, MixedSessions
from timesink.model.trace import TraceInfo
from timesink.store.read import read_trace
from timesink.store.sessions import Session, find_traces, group, only

SECOND = 10**9
BASE = 1_700_000_000 * SECOND


def info(path: str = "t.json", start_s: float = 0, **fields: Any) -> TraceInfo:
    fields.setdefault("base_ns", BASE)
    if fields.get("rank") is not None:
        fields.setdefault("rank_source", "distributedInfo")
    return TraceInfo(path, "K3b", start_ns=int(start_s * SECOND), **fields)


def ranks(session: Session) -> list[int | None]:
    return [i.rank for i in session.infos]


def test_finding(tmp_path: Path) -> None:
    for name in (
        "b.json", "a.pt.trace.json.gz", "sub/c.json.gz",
        "run.json", "run.rank1.json", "functions.json", "steps.parquet", "report.html", ".hid.json",
        "note.txt", "left.json.tmp",
    ):  # fmt: skip
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("{}")
    (tmp_path / "empty.json").write_text("")
    found = find_traces(tmp_path)
    names = [str(p.relative_to(tmp_path)) for p in found.traces]
    assert names == ["a.pt.trace.json.gz", "b.json", "sub/c.json.gz"]
    reasons = {p.name: reason for p, reason in found.ignored}
    assert set(reasons) == {"left.json.tmp", "empty.json"}
    assert "name it to read it" in reasons["left.json.tmp"]


def test_one_run_by_rank_with_the_missing_named() -> None:
    session = only(group([info(f"{r}.json", r, rank=r, world_size=4) for r in (3, 0, 1)]))
    assert ranks(session) == [0, 1, 3]
    assert session.missing == (2,)
    assert session.world_size == 4
    assert session.rank_source == "distributedInfo"


def test_sources_of_ranks_are_said() -> None:
    named = [info("rank0.json", rank=0, rank_source="file name")]
    known = [info("b.json", rank=1, world_size=2)]
    assert only(group(named + known)).rank_source == "distributedInfo and file name"
    assert only(group(named)).rank_source == "file name"


def test_without_any_rank_the_order_of_names_counts() -> None:
    session = only(group([info(n, 5 - i) for i, n in enumerate(["a.json", "b.json", "c.json"])]))
    assert [(i.path, i.rank) for i in session.infos] == [
        ("a.json", 0), ("b.json", 1), ("c.json", 2),
    ]  # fmt: skip
    assert session.rank_source == "order"
    assert session.missing == ()


def test_windows_of_one_process_are_not_ranks() -> None:
    """Two windows that ``tensorboard_trace_handler`` wrote a few seconds apart."""
    names = [
        "host_47.1700000000000000000.pt.trace.json",
        "host_47.1700000005000000000.pt.trace.json",
    ]
    sessions = group([info(n, 5 * i) for i, n in enumerate(names)])
    assert [len(s.infos) for s in sessions] == [1, 1]
    other = group([info(n.replace("_47", f"_4{i}"), 5 * i) for i, n in enumerate(names)])
    assert [len(s.infos) for s in other] == [2]


@pytest.mark.parametrize("rank", [True, False])
def test_far_apart_in_time_is_another_run(rank: bool) -> None:
    infos = [info(f"{i}.json", 3600 * i, rank=i if rank else None) for i in range(3)]
    assert [len(s.infos) for s in group(infos)] == [1, 1, 1]


def test_old_traces_count_since_1970_and_are_compared_with_new_ones() -> None:
    old = info("old.json", BASE / SECOND - 86400, rank=1, world_size=2, base_ns=None)
    assert len(group([old, info("new.json", rank=0, world_size=2)])) == 2


def test_c08_some_without_a_base_time() -> None:
    infos = [info("a.json", rank=0, world_size=2), info("b.json", rank=1, base_ns=None)]
    session = only(group(infos))
    assert session.notes == ("only 1 of 2 traces have a base time: no common clock",)


def test_c14_a_truncated_rank_lost_its_world_size_and_still_belongs() -> None:
    infos = [info("a.json", rank=0, world_size=2), info("rank1.json", 1, rank=1, truncated=True)]
    session = only(group(infos))
    assert ranks(session) == [0, 1]
    assert session.world_size == 2
    assert session.missing == ()


def test_a_trace_without_rank_does_not_spoil_a_run_with_ranks() -> None:
    infos = [info(f"{r}.json", rank=r, world_size=2) for r in (0, 1)] + [info("other.json", 1)]
    sessions = sorted(group(infos), key=lambda s: -len(s.infos))
    assert [len(s.infos) for s in sessions] == [2, 1]
    assert sessions[0].rank_source == "distributedInfo"


def test_c19_a_rank_twice_is_two_runs() -> None:
    infos = [info(f"run{n}_{r}.json", 10 * n + r / 10, rank=r, world_size=2)
             for n in (0, 1) for r in (0, 1)]  # fmt: skip
    sessions = group(infos)
    assert [[i.path for i in s.infos] for s in sessions] == [
        ["run0_0.json", "run0_1.json"], ["run1_0.json", "run1_1.json"],
    ]  # fmt: skip
    with pytest.raises(MixedSessions, match="2 runs") as caught:
        only(sessions)
    for trace in infos:
        assert trace.path in caught.value.message
    assert "--session" in caught.value.remedy


def test_c19_different_sizes_are_different_runs() -> None:
    infos = [info("a.json", rank=0, world_size=2), info("b.json", rank=1, world_size=8)]
    assert [s.world_size for s in group(infos)] == [2, 8]


def test_names_of_sessions_can_be_told_apart() -> None:
    same = [info(f"x/{n}/rank0.json", 100 * n, rank=0, world_size=1) for n in range(3)]
    assert [s.name for s in group(same)] == ["0", "1", "2"]
    endings = [info(f"x/rank0.{n}.json", 100 * n, rank=0, world_size=1) for n in range(3)]
    assert [s.name for s in group(endings)] == ["rank0", "rank0-2", "rank0-3"]


def test_a_long_list_of_files_is_cut() -> None:
    infos = [
        info(f"{n}-{r}.json", 900 * n, rank=r, world_size=64) for n in (0, 1) for r in range(64)
    ]
    with pytest.raises(MixedSessions, match="and 60 more") as caught:
        only(group(infos))
    assert len(caught.value.message) < 600


def test_nothing_to_choose_from() -> None:
    assert group([]) == ()
    with pytest.raises(BadUsage):
        only(())


@given(st.integers(1, 4), st.integers(1, 5), st.randoms(use_true_random=False))
def test_runs_one_after_the_other_are_found_in_any_order(
    runs: int, world: int, shuffled: random.Random
) -> None:
    infos = [
        info(f"{n}.{r}.json", 100 * n + r, rank=r, world_size=world)
        for n, r in itertools.product(range(runs), range(world))
    ]
    shuffled.shuffle(infos)
    sessions = group(infos)
    assert len(sessions) == runs
    for n, session in enumerate(sessions):
        assert [i.path for i in session.infos] == [f"{n}.{r}.json" for r in range(world)]
        assert session.missing == ()


@pytest.mark.real
def test_two_real_runs_in_one_folder() -> None:
    folder = real_trace("pytorch__torchrec/sst_long_a2a_optimizer_2")
    sessions = group([read_trace(p).info for p in find_traces(folder).traces])
    assert [ranks(s) for s in sessions] == [[0, 1, 2, 3], [0, 1, 2, 3]]
    with pytest.raises(MixedSessions, match=r"worker_24049.*worker_26699"):
        only(sessions)
