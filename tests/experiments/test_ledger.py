"""The record: everything comes back as it was, torn lines cost themselves only."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from timesink.errors import BadUsage, UnreadableFile
from timesink.experiments import ledger
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

DESIGN = Design(
    Command(("pkg.train", "--lr", "0.1"), module=True), Command(("b.py",)),
    Change("compile + é", ("compile",), may_change=("Rounding.",), code=("x",)),
    base=("threads=1",),
)  # fmt: skip
RUN = Observation(
    "01-A-check", "A", "check", 30, 3, 1.5, 1.25, 1.75, 0.0, (1.0, 2.0), (1, 2, 3),
    (2.3, 1e-300), (0.5,), ("ab",), (Effect("compile", 1, "1 module changed", 2.0),), 5, 6, 7, 1.0,
    0, "", ("note",),
)  # fmt: skip
E = Experiment(
    "try-1", "2026-12-01T10:00:00+00:00", DESIGN, (RUN,),
    Speed("faster", "1.3× faster", Interval(1.3, 1.2, 1.4), None, 4, 2.0, 1.5),
    Equivalence("diverges", "at step 3", 30, 3, 0.1, 0.0, False),
    (("git.commit", "abc"), ("torch.version", "2.13.0")), "diff --git", ("title", 0.4), "done",
    60.0,
)  # fmt: skip


def test_an_experiment_comes_back_as_it_was(tmp_path: Path) -> None:
    ledger.save(E, tmp_path)
    assert ledger.load(tmp_path) == E


@given(losses=st.lists(st.floats(allow_nan=False), max_size=5), text=st.text(max_size=30))
def test_any_numbers_and_text_come_back(
    losses: list[float], text: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("e")
    text = text.encode("utf-8", "backslashreplace").decode()
    e = replace(E, observations=(replace(RUN, losses=tuple(losses), error=text),), diff=text)
    ledger.save(e, folder)
    assert ledger.load(folder) == e


def test_not_a_number_comes_back(tmp_path: Path) -> None:
    ledger.save(replace(E, observations=(replace(RUN, losses=(math.nan, math.inf)),)), tmp_path)
    losses = ledger.load(tmp_path).observations[0].losses
    assert math.isnan(losses[0])
    assert losses[1] == math.inf


def test_fields_of_another_version_do_not_matter(tmp_path: Path) -> None:
    ledger.save(E, tmp_path)
    path = tmp_path / ledger.FILE
    plain = json.loads(path.read_text())
    plain["new"] = plain["design"]["new"] = plain["observations"][0]["new"] = [1]
    del plain["spent_s"]
    path.write_text(json.dumps(plain))
    assert ledger.load(tmp_path) == replace(E, spent_s=0.0)


@pytest.mark.parametrize("text", ["", "{}", "[]", "nonsense", '{"design": 3}', "null"])
def test_what_is_no_record_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / ledger.FILE).write_text(text)
    with pytest.raises(UnreadableFile, match="not the record of an experiment"):
        ledger.load(tmp_path)


def test_the_ledger_keeps_the_last_line_of_each(tmp_path: Path) -> None:
    ledger.append(replace(E, status="interrupted"), tmp_path / "one", tmp_path)
    ledger.append(E, tmp_path / "two", tmp_path)
    ledger.append(E, tmp_path / "tune" / "one", tmp_path)
    ledger.append(E, tmp_path / "one", tmp_path)
    entries, damaged = ledger.history(tmp_path)
    assert [e["name"] for e in entries] == ["two", "tune/one", "one"]
    assert entries[-1]["status"] == "done"
    assert damaged == 0


def test_a_torn_line_costs_itself_only(tmp_path: Path) -> None:
    ledger.append(E, tmp_path / "one", tmp_path)
    path = tmp_path / ledger.LEDGER
    path.write_bytes(path.read_bytes() + b'{"name": "half')
    ledger.append(E, tmp_path / "two", tmp_path)
    entries, damaged = ledger.history(tmp_path)
    assert [e["name"] for e in entries] == ["one", "two"]
    assert damaged == 1


def test_without_a_ledger_it_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(BadUsage, match="timesink try"):
        ledger.history(tmp_path)
