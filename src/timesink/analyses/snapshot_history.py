"""A snapshot's history as :class:`Allocations`, one per device."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import polars as pl

from timesink.analyses.allocations import ALIVE, PHASES, Allocations, Ints, lifetimes
from timesink.analyses.lines import is_user_frame
from timesink.model.memory import Category, Site
from timesink.model.owners import Phase
from timesink.store.snapshot_schema import Action, Snapshot, State

#: User frames shown of a stack.
_SHOWN = 6
_OPTIMIZER = re.compile(r"[/\\]torch[/\\]optim[/\\]|[/\\](apex|bitsandbytes)[/\\].*optim")
_BACKWARD = re.compile(r"[/\\]torch[/\\](_tensor|autograd[/\\](__init__|graph))\.py$")
_BACKWARD_NAMES = ("backward", "run_backward", "_engine_run_backward", "grad")
_CPP_BACKWARD = re.compile(r"torch::autograd::(Engine|Node)\b|autograd::Engine::")
_MODULE = re.compile(r"[/\\]torch[/\\]nn[/\\](modules[/\\]|parameter\.py)")
_DATA = re.compile(r"[/\\]torch[/\\]utils[/\\]data[/\\]")
_STEP_MARK = re.compile(r"ProfilerStep#(\d+)")


@dataclass(frozen=True, slots=True)
class History:
    """One device: its allocations, what it reserved after each event, and whether what is live at
    the end equals the blocks' own sum. ``missing``: bytes by which it does not."""

    allocations: Allocations
    reserved: Ints
    missing: int
    ooms: tuple[int, ...]  #: rows of the device's events
    events: pl.DataFrame


def histories(snapshot: Snapshot) -> tuple[History, ...]:
    """Every device that reserved memory or has a history."""
    sites = _sites(snapshot)
    with_blocks = snapshot.blocks.with_columns(
        device=snapshot.segments["device"].gather(snapshot.blocks["segment"])
    )
    seen = {*snapshot.segments["device"].to_list(), *snapshot.events["device"].to_list()}
    return tuple(
        _history(
            snapshot,
            snapshot.events.filter(pl.col("device") == device),
            with_blocks.filter(
                (pl.col("device") == device) & (pl.col("state") != int(State.INACTIVE))
            ),
            device,
            sites,
        )
        for device in sorted(seen)
    )


def _history(
    snapshot: Snapshot, events: pl.DataFrame, held: pl.DataFrame, device: int,
    sites: tuple[Site, ...],
) -> History:  # fmt: skip
    action = events["action"].to_numpy()
    rows = np.flatnonzero((action == Action.ALLOC) | (action == Action.FREE_COMPLETED))
    addr = events["addr"].to_numpy()[rows]
    comes = action[rows] == Action.ALLOC
    start, end = lifetimes(addr, comes)
    size_of, stack_of = (events[c].to_numpy()[rows] for c in ("size", "stack"))
    known = np.where(start >= 0, start, end)  # the event that tells of a block
    # A free's stack is where it was freed, which says nothing of where it was made.
    stack = np.where(start >= 0, stack_of[known] if len(rows) else known, -1)
    size = size_of[known] if len(rows) else np.zeros(0, np.int64)
    where = addr[known] if len(rows) else addr
    old = ~held["address"].is_in(pl.Series(where[end == ALIVE], dtype=pl.UInt64).implode())
    added = held.filter(old)  # alive, and older than the history
    place = np.append(rows, ALIVE)  # from alloc and free events to all events
    start = np.where(start >= 0, place[start], -1)
    end = np.where(end < ALIVE, place[np.minimum(end, len(rows))], ALIVE)
    extra = added.height
    size = np.concatenate([size, added["requested"].to_numpy()])
    stack = np.concatenate([stack, added["stack"].to_numpy()])
    start = np.concatenate([start, np.full(extra, -1)])
    end = np.concatenate([end, np.full(extra, ALIVE)])
    phases = np.array([_index(s.phase) for s in sites] or [0])
    at = phases[events["stack"].to_numpy()] if len(sites) else np.zeros(len(action), np.int64)
    at = np.where((events["stack"].to_numpy() >= 0) & (action == Action.ALLOC), at, -1)
    at = _carried(at)
    step, ends = _steps(snapshot, events, at, device)
    allocations = Allocations(
        device=f"cuda:{device}", size=size, start=start, end=end, site=stack, sites=sites,
        phase=np.where(stack >= 0, phases[stack], PHASES.index(Phase.OTHER)),
        count=len(action), ns=_since(events["time_us"].to_numpy()), event_phase=at,
        event_step=step, ends=ends,
    )  # fmt: skip
    live = int(size[end == ALIVE].sum())
    missing = int(held["requested"].sum()) - live
    reserved = _reserved(snapshot, events, device)
    ooms = tuple(np.flatnonzero(action == Action.OOM).tolist())
    return History(allocations, reserved, missing, ooms, events)


def _since(time_us: Ints) -> Ints:
    known = time_us >= 0
    first = time_us[known].min() if known.any() else 0
    return np.where(known, (time_us - first) * 1000, 0)


def _reserved(snapshot: Snapshot, events: pl.DataFrame, device: int) -> Ints:
    """Bytes of segments after each event; counted back from those of the end."""
    sign = np.zeros(max(Action) + 1, np.int64)
    sign[[Action.SEGMENT_ALLOC, Action.SEGMENT_MAP]] = 1
    sign[[Action.SEGMENT_FREE, Action.SEGMENT_UNMAP]] = -1
    change = sign[events["action"].to_numpy()] * events["size"].to_numpy()
    total = np.cumsum(change)
    last = int(snapshot.segments.filter(pl.col("device") == device)["size"].sum())
    return total + (last - int(total[-1]) if len(total) else 0)


def _index(phase: str) -> int:
    return next((i for i, p in enumerate(PHASES) if p.value == phase), PHASES.index(Phase.OTHER))


def _carried(at: Ints) -> Ints:
    """Phases of events that allocate nothing: as before."""
    known = np.maximum.accumulate(np.where(at >= 0, np.arange(len(at)), -1)) if len(at) else at
    return np.where(known >= 0, at[np.maximum(known, 0)], PHASES.index(Phase.OTHER))


def _steps(snapshot: Snapshot, events: pl.DataFrame, at: Ints, device: int) -> tuple[Ints, Ints]:
    """The step of every event, and the last events of whole steps.

    By the profiler's marks where they were recorded; else a step begins where forward follows on
    backward or on the optimizer.
    """
    marks = snapshot.annotations.filter(
        (pl.col("device") == device) & (pl.col("stage") == "START")
        & pl.col("name").str.contains(_STEP_MARK.pattern)
    )  # fmt: skip
    if marks.height >= 2:
        begins = np.searchsorted(events["time_us"].to_numpy(), marks["time_us"].sort().to_numpy())
    else:
        late = np.isin(at, [PHASES.index(Phase.BACKWARD), PHASES.index(Phase.OPTIMIZER)])
        forward = at == PHASES.index(Phase.FORWARD)
        # OTHER and DATA between belong to the step that begins: look at forward after late only.
        marked = np.where(late, 1, np.where(forward, 2, 0))
        some = np.flatnonzero(marked)
        turns = some[1:][(marked[some[1:]] == 2) & (marked[some[:-1]] == 1)]
        first = some[:1] if len(some) and late.any() else some[:0]
        begins = np.concatenate([first, turns])
    step = np.searchsorted(begins, np.arange(len(at)), side="right") - 1
    return step, begins[1:] - 1


def _sites(snapshot: Snapshot) -> tuple[Site, ...]:
    """One site per stack."""
    frames = snapshot.frames
    parts = list(zip(frames["file"], frames["line"], frames["name"], strict=True))
    texts = [f"{_short(file)}({line}): {name}" for file, line, name in parts]
    user = [is_user_frame(f"{file}({line}): {name}") and not file.endswith((".cpp", ".h", "??"))
            for file, line, name in parts]  # fmt: skip
    return tuple(_site(codes, parts, texts, user) for codes in snapshot.stacks["frames"].to_list())


def _site(
    codes: list[int], parts: list[tuple[str, int, str]], texts: list[str], user: list[bool]
) -> Site:
    own = [texts[c] for c in codes if user[c]]
    shown = own or [texts[c] for c in codes if parts[c][0].endswith(".py")] or [
        texts[c] for c in codes
    ]  # fmt: skip
    operator = next((parts[c][2] for c in codes if parts[c][2].startswith("at::")), "")
    return Site(shown[0] if shown else "", operator.removesuffix("()")[:80], "",
                ";".join(shown[:_SHOWN]), _phase([parts[c] for c in codes]))  # fmt: skip


def _phase(frames: list[tuple[str, int, str]]) -> str:
    """The outermost frame that torch is known by; parameters are made or moved by modules."""
    for file, _, name in reversed(frames):
        if _DATA.search(file):
            return Phase.DATA.value
        if _OPTIMIZER.search(file):
            return Phase.OPTIMIZER.value
        if (_BACKWARD.search(file) and name in _BACKWARD_NAMES) or _CPP_BACKWARD.search(name):
            return Phase.BACKWARD.value
        if _MODULE.search(file):
            if name in ("_apply", "to", "cuda", "__init__", "reset_parameters", "__new__"):
                return Category.PARAMETERS.value
            return Phase.FORWARD.value
    return Phase.OTHER.value


def _short(file: str) -> str:
    return file.replace("\\", "/").rsplit("/", 1)[-1] or file
