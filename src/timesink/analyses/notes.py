"""What has to be said about the data of a trace: counted, in one sentence each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from timesink.analyses.classify import UNCLASSIFIED
from timesink.analyses.intervals import overlapping
from timesink.analyses.link import lost_launches
from timesink.analyses.steps import Marks
from timesink.model.trace import QualityNote
from timesink.store.schema import Kind, Tables


@dataclass(frozen=True, slots=True)
class Facts:
    """What ``prepare`` found on its way. ``clipped``/``timeless`` are counts of rows."""

    tables: Tables
    host: pl.DataFrame
    device: pl.DataFrame
    launches: npt.NDArray[np.bool_]
    marks: Marks
    empty: npt.NDArray[np.bool_]
    clipped: int
    timeless: int


def notes(facts: Facts) -> tuple[QualityNote, ...]:
    """All notes that apply, none of count 0."""
    found = [*_device(facts), *_links(facts), *_steps(facts), *_rows(facts)]
    return tuple(n for n in found if n.count)


def _device(facts: Facts) -> list[QualityNote]:
    """Device rows missing altogether: the device's time is unknown, not zero (C1, C3, C4)."""
    count = int(facts.launches.sum())
    if facts.device.height or not count:
        return []
    why = "The profiler recorded the host only: a longer window after a warm-up, and a synchronise"
    why += " before its end, usually bring them."
    cats = facts.tables.strings.gather(facts.tables.events["cat"].unique())
    if (cats == "cuda_profiler_range").any():
        why = "The CUPTI range profiler (hardware metrics) was on, which shuts out kernel records."
    text = f"{count} launches, 0 device rows: device time is unknown. {why}"
    return [QualityNote("no-device-rows", text, count, "warning")]


def _links(facts: Facts) -> list[QualityNote]:
    device, host = facts.device, facts.host
    if not device.height:
        return []
    launch = device["launch"].to_numpy()
    linked = launch >= 0
    early = linked & (device["ts"].to_numpy() < np.append(host["ts"].to_numpy(), 0)[launch])
    no_op = int((linked & (device["op"].to_numpy() < 0)).sum())
    alone = int((~linked).sum())
    return [
        *_lost(facts),
        QualityNote(
            "unlaunched-rows",
            f"{alone} device rows have no launch in the trace: their time counts, their "
            "operator is unknown.",
            alone,
        ),
        QualityNote(
            "no-op",
            f"{no_op} device rows were launched outside every operator (another thread?).",
            no_op,
        ),
        QualityNote(
            "early-rows",
            f"{int(early.sum())} device rows start before their launch: the device's clock and "
            "the host's differ. Launch delays are floored at 0.",
            int(early.sum()),
        ),
    ]


def _lost(facts: Facts) -> list[QualityNote]:
    """Launches that led to no device row, in all and for the worst step (C5)."""
    rows = facts.host.select("corr", "step").filter(
        pl.Series(facts.launches) & (pl.col("corr") >= 0)
    )
    if not rows.height:
        return []
    lost = lost_launches(rows["corr"].to_numpy(), facts.device["corr"].to_numpy())
    count = int(lost.sum())
    text = f"{count} of {rows.height} launches ({count / rows.height:.1%}) have no device row"
    step = rows["step"].to_numpy()
    size = len(facts.marks.numbers)
    every = np.bincount(step[step >= 0], minlength=size)
    missing = np.bincount(step[lost & (step >= 0)], minlength=size)
    if size > 1 and missing.any():
        worst = int(np.argmax(missing))
        number = facts.marks.numbers[worst]
        text += f", most in step {number}: {missing[worst]} of {every[worst]}"
    severe = count > 0.01 * rows.height
    return [QualityNote("lost-launches", text + ".", count, "warning" if severe else "info")]


def _steps(facts: Facts) -> list[QualityNote]:
    marks, device = facts.marks, facts.device
    found = []
    if marks.source == "window":
        text = "No step marks: the whole window is taken as one step."
        found.append(QualityNote("no-step-marks", text, 1))
    if marks.elsewhere:
        text = f"{marks.elsewhere} step marks on other threads are not used."
        found.append(QualityNote("step-marks-elsewhere", text, marks.elsewhere))
    if facts.empty.any():
        text = "The last step holds no work (the loop ended there): it is left out of verdicts."
        found.append(QualityNote("empty-step", text, 1))
    outside = facts.host.select("step", "kind").filter(
        (pl.col("step") < 0) & (pl.col("kind") != int(Kind.PYTHON))
    )
    if outside.height:
        text = f"{outside.height} host rows lie outside every step"
        found.append(QualityNote("host-outside-steps", text + ".", outside.height))
    strays = device.filter(pl.col("step") < 0)
    if strays.height:
        total = int(strays["dur"].sum()) / 1e6
        text = f"{strays.height} device rows ({total:.3f} ms) were launched outside every step."
        found.append(QualityNote("device-outside-steps", text, strays.height))
    return found


def _rows(facts: Facts) -> list[QualityNote]:
    device = facts.device
    overlaps = int(
        overlapping(
            device["device"].to_numpy(),
            device["stream"].to_numpy(),
            device["ts"].to_numpy(),
            device["end"].to_numpy(),
        ).sum()
    )
    unclear = int((device["klass"] == UNCLASSIFIED).sum())
    return [
        *_outside(facts),
        QualityNote(
            "clipped-rows",
            f"{facts.clipped} host rows crossed the end of the row around them and were clipped.",
            facts.clipped,
        ),
        QualityNote(
            "timeless-rows",
            f"{facts.timeless} device rows carry no time and are left out.",
            facts.timeless,
            "warning",
        ),
        QualityNote(
            "overlapping-rows",
            f"{overlaps} device rows start before the one before them on their stream ends: sums "
            "of durations exceed busy time, which is a union.",
            overlaps,
        ),
        QualityNote(
            "unclassified-rows",
            f"{unclear} device rows do not say what they are; they count as compute.",
            unclear,
        ),
    ]


def _outside(facts: Facts) -> list[QualityNote]:
    """Device rows outside the profiler's own span (C6)."""
    events, device = facts.tables.events, facts.device
    spans = events.filter(pl.col("kind") == int(Kind.SPAN))
    names = facts.tables.strings.gather(spans["name"])
    spans = spans.filter(names.str.contains("Profiler"))
    if not spans.height or not device.height:
        return []
    start = int(spans["ts"].min())  # type: ignore[arg-type]
    end = int((spans["ts"] + spans["dur"]).max())  # type: ignore[arg-type]
    count = device.filter((pl.col("end") < start) | (pl.col("ts") > end)).height
    text = (
        f"{count} device rows lie outside the profiler's window: its clock and the host's differ."
    )
    return [QualityNote("outside-window", text, count, "warning")]
