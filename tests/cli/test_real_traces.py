"""Every real trace is analysed or refused with a reason; nothing ends in a traceback."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.realdata import ROOT
from timesink import api
from timesink.errors import EmptyTrace, NotATrace

FILES = sorted(p for p in ROOT.rglob("*") if p.is_file()) if ROOT.is_dir() else []
pytestmark = pytest.mark.real


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIMESINK_CACHE", str(tmp_path / "cache"))


def test_the_folder_of_real_traces_is_there() -> None:
    if not FILES:
        pytest.skip(f"no folder of real traces at {ROOT} (set TIMESINK_TRACES)")
    assert len(FILES) >= 70


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_analysed_or_refused(path: Path) -> None:
    if "not_torch" in path.parts:
        with pytest.raises((NotATrace, EmptyTrace)) as refusal:
            api.report(path, cache=False)
        assert refusal.value.message.endswith(".")
        return
    report = api.report(path, cache=False)
    assert report.analysis is not None
    for step in report.analysis.breakdown.steps:
        assert sum(step.owner_ns) == step.step.wall_ns
        assert min(step.owner_ns) >= 0
    assert api.to_json(report)
    assert report.diagnosis.verdict.headline
    for finding in report.diagnosis.findings:
        assert 0 <= finding.share <= 1
