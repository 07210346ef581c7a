"""Steps of the window: where they begin and end, which of them verdicts are made from.

``ProfilerStep#N`` ranges, else the marks of ``timesink run``, else the whole window as one step.
A step's wall time is that of its range as written, also where other rows cross it. Its device work
is what was launched within it, wherever that ran.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import polars as pl

from timesink.model.owners import MARK_STEP
from timesink.model.steps import Step, StepSource
from timesink.store.schema import Kind

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

#: Rows that only exist while a compiler runs: torch wraps all parts of Dynamo, AOTAutograd and
#: Inductor in ``dynamo_timed`` (``torch/_dynamo/utils.py``); with stacks, their Python frames.
#: ``Torch-Compiled Region`` and ``TorchDynamo Cache Lookup`` are the running of compiled code.
COMPILE_NAMES = (
    r"\(dynamo_timed\)$|"
    r"torch[/\\]_dynamo[/\\]convert_frame\.py\(\d+\): _compile|"
    r"torch[/\\]_inductor[/\\]compile_fx\.py\(\d+\): compile_fx"
)
_WORK = (Kind.CPU_OP, Kind.RUNTIME, Kind.DRIVER)
_SOURCES: tuple[tuple[StepSource, str], ...] = (
    ("ProfilerStep", "ProfilerStep#"),
    ("marks", f"{MARK_STEP}#"),
)


@dataclass(frozen=True, slots=True)
class Marks:
    """Step ranges: numbers, starts and ends (ns) by start; ``track`` carries them (-1: window).

    ``elsewhere`` counts the marks on other threads, which are not used.
    """

    source: StepSource
    numbers: tuple[int, ...]
    starts: Ints
    ends: Ints
    track: int
    elsewhere: int = 0


def find_marks(ranges: pl.DataFrame, window: tuple[int, int]) -> Marks:
    """Step marks among annotation rows (columns ``text``, ``ts``, ``dur``, ``track``).

    Marks on several threads describe the same steps, so the thread with the most is taken (the
    first of them in the file). ``window`` is the [start, end) used when there are none.
    """
    for source, prefix in _SOURCES:
        found = ranges.filter(pl.col("text").str.contains("^" + prefix + r"\d+$"))
        if not found.height:
            continue
        tracks = found.group_by("track").len().sort("len", "track", descending=[True, False])
        track = int(tracks["track"][0])
        mine = found.filter(pl.col("track") == track).sort("ts", "dur")
        numbers = mine["text"].str.strip_prefix(prefix).cast(pl.Int64, strict=False).fill_null(-1)
        starts = mine["ts"].to_numpy().astype(np.int64)
        ends = starts + mine["dur"].to_numpy()
        elsewhere = found.height - mine.height
        return Marks(source, tuple(numbers.to_list()), starts, ends, track, elsewhere)
    start, end = window
    return Marks("window", (0,), np.array([start]), np.array([end]), -1)


def containing(marks: Marks, ts: Ints) -> Ints:
    """The step that each time lies in, or -1. Where steps overlap, the later one."""
    place = np.searchsorted(marks.starts, ts, side="right") - 1
    inside = (place >= 0) & (ts < marks.ends[place])
    found: Ints = np.where(inside, place, -1)
    return found


def empty_steps(marks: Marks, host: pl.DataFrame, device: pl.DataFrame) -> Bools:
    """The last step, where it alone holds no operator, no runtime call and no device row: the
    range that a loop which ends with ``profiler.step()`` leaves behind is no training step."""
    rows = host.select("kind", "step").filter(pl.col("kind").is_in([int(k) for k in _WORK]))
    work = np.append(rows["step"].to_numpy(), device["step"].to_numpy())
    busy = np.bincount(work[work >= 0], minlength=len(marks.numbers)) > 0
    empty = np.zeros(len(busy), np.bool_)
    empty[-1:] = busy.any() and not busy[-1]
    return empty


def make_steps(
    marks: Marks,
    empty: Bools,
    compiled: Ints,
    launches: Ints,
    device_step: Ints,
    device_dur: Ints,
    device_known: bool,
) -> tuple[Step, ...]:
    """The steps with their device work; ``compiled`` and ``launches`` are step numbers of rows."""
    count = len(marks.numbers)
    compiling = np.bincount(compiled[compiled >= 0], minlength=count) > 0
    launched = np.bincount(launches[launches >= 0], minlength=count)
    mine = device_step >= 0
    rows = np.bincount(device_step[mine], minlength=count)
    sums = np.zeros(count, np.int64)
    np.add.at(sums, device_step[mine], device_dur[mine])
    return _judged(
        [
            Step(
                number=number,
                start_ns=int(marks.starts[i]),
                end_ns=int(marks.ends[i]),
                first=i == 0 and count > 1,
                compiled=bool(compiling[i]),
                device_ns=int(sums[i]) if device_known else None,
                device_rows=int(rows[i]),
                launches=int(launched[i]),
            )
            for i, number in enumerate(marks.numbers)
        ],
        empty.tolist(),
    )


def _judged(steps: Sequence[Step], empty: Sequence[bool]) -> tuple[Step, ...]:
    """Leave first, compiling and empty steps out of verdicts, unless nothing else is left."""
    both = list(zip(steps, empty, strict=True))
    kept = [not (s.first or s.compiled or e) for s, e in both]
    if not any(kept):
        kept = [not (s.compiled or e) for s, e in both]
    if not any(kept):
        kept = [not e for e in empty]
    if not any(kept):
        kept = [True] * len(steps)
    return tuple(replace(s, in_verdict=k) for s, k in zip(steps, kept, strict=True))


def step_window(host: pl.DataFrame, device: pl.DataFrame) -> tuple[int, int]:
    """[start, end) of all host and device rows; Python frames only where there is nothing else."""
    host = host.select("kind", "ts", "dur")
    rows = host.filter(pl.col("kind") != int(Kind.PYTHON))
    if not rows.height and not device.height:
        rows = host
    ranges = [
        (int(f["ts"].min()), int((f["ts"] + f["dur"]).max()))  # type: ignore[arg-type]
        for f in (rows, device)
        if f.height
    ]
    if not ranges:
        return (0, 0)
    return min(r[0] for r in ranges), max(r[1] for r in ranges)
