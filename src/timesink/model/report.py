"""Everything one report is made of: the input of every renderer."""

from __future__ import annotations

from dataclasses import dataclass

from timesink.model.findings import Diagnosis
from timesink.model.results import Analysis
from timesink.model.run import LightSteps, RunRecord
from timesink.model.timeline import Timeline


@dataclass(frozen=True, slots=True)
class Report:
    """One run or one trace, measured and judged. ``title`` is the run's name or the file's.

    ``artifacts``: (label, path) of files beside it ("Chrome trace", "/…/rank0.trace.json.gz").
    """

    title: str
    diagnosis: Diagnosis
    analysis: Analysis | None = None
    run: RunRecord | None = None
    light: LightSteps | None = None
    timeline: Timeline | None = None
    artifacts: tuple[tuple[str, str], ...] = ()
    other_ranks: tuple[Analysis, ...] = ()
