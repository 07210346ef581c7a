"""Live bytes rebuilt from a history equal the blocks' own sum, exactly, whatever happened."""

from __future__ import annotations

import pickle
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.snapshots import BACKWARD, FORWARD, MIB, MOVE, OPTIMIZER, Allocator, main
from timesink.analyses.allocations import CATEGORIES, categories, lifetimes
from timesink.analyses.snapshot_history import History, histories
from timesink.model.memory import Category
from timesink.store.snapshot import read_snapshot
from timesink.store.snapshot_schema import BLOCKS, EVENTS, TABLES, Snapshot
from timesink.store.snapshot_work import columns


def tables(value: Any) -> Snapshot:
    """What ``read_snapshot`` gives, without a process for each example."""
    import polars as pl

    found = columns(value)
    frames = {
        name: pl.DataFrame({c: list(found[name][c]) for c in schema}, schema=schema)
        for name, schema in TABLES.items()
    }
    return Snapshot(**frames)


def only(value: Any) -> History:
    (history,) = histories(tables(value))
    return history


_SIZES = st.sampled_from([1, 100, 512, 513, 4096, MIB - 1, MIB, 3 * MIB, 11 * MIB])
_ACTS = st.lists(st.tuples(st.sampled_from("aaaffe"), _SIZES, st.integers(0, 99)), max_size=60)


@settings(max_examples=150, deadline=None)
@given(_ACTS, st.integers(0, 59), st.integers(0, 250))
def test_live_bytes_are_the_blocks_sum(acts: list[Any], begin: int, entries: int) -> None:
    """Recording begins after some actions, and the ring keeps the newest entries only."""
    device = Allocator(record=False)
    held: list[tuple[int, int]] = []
    levels: list[int] = []
    for i, (act, size, pick) in enumerate(acts):
        device.record = i >= begin
        before = len(device.trace)
        if act == "a":
            held.append((device.alloc(size), size))
        elif act == "f" and held:
            device.free(held.pop(pick % len(held))[0])
        elif act == "e":
            device.empty_cache()
        new = len(device.trace) - before
        level = sum(s for _, s in held)
        # All entries of one action but its last stand before the block comes or goes.
        was = levels[-1] if levels else level_before(acts, begin)
        levels += [was] * (new - 1) + [level] if new else []
    device.record = True
    kept = max(1, entries)
    value = device.snapshot(kept)
    levels.append(sum(s for _, s in held))  # the entry of the snapshot itself
    history = only(value)
    live = history.allocations.live()
    assert history.missing == 0
    assert live[-1] == sum(b["requested_size"] for s in value["segments"] for b in s["blocks"])
    assert live.tolist() == levels[-kept:]
    assert history.reserved[-1] == device.reserved
    assert (history.reserved >= live).all()


def level_before(acts: list[Any], begin: int) -> int:
    """Bytes held when recording began, counted once more and apart."""
    held: list[int] = []
    for act, size, pick in acts[:begin]:
        if act == "a":
            held.append(size)
        elif act == "f" and held:
            held.pop(pick % len(held))
    return sum(held)


@given(st.lists(st.tuples(st.integers(0, 3), st.booleans()), max_size=40))
def test_lifetimes_as_a_plain_loop_finds_them(entries: list[tuple[int, bool]]) -> None:
    open_at: dict[int, int] = {}
    expected = []
    for i, (address, comes) in enumerate(entries):
        if address in open_at:
            expected.append((open_at.pop(address), i))
        elif not comes:
            expected.append((-1, i))
        if comes:
            open_at[address] = i
    expected += [(i, np.iinfo(np.int64).max) for i in open_at.values()]
    addresses = np.array([a for a, _ in entries], np.uint64)
    start, end = lifetimes(addresses, np.array([c for _, c in entries], bool))
    assert sorted(zip(start.tolist(), end.tolist(), strict=True)) == sorted(expected)


def trained(steps: int, device: Allocator | None = None) -> Allocator:
    """A plain loop: parameters, and per step activation, gradient, temporary, optimizer state."""
    device = device or Allocator()
    device.alloc(4 * MIB, main(5, MOVE))
    state, gradient = None, None
    for _ in range(steps):
        brief = device.alloc(2 * MIB, main(9, FORWARD))
        device.free(brief)
        activation = device.alloc(6 * MIB, main(9, FORWARD))
        if gradient is not None:
            device.free(gradient)
        gradient = device.alloc(4 * MIB, main(10, BACKWARD))
        device.free(activation)
        if state is None:
            state = device.alloc(8 * MIB, main(11, OPTIMIZER))
    return device


def test_categories_by_where_and_how_long() -> None:
    a = only(trained(4).snapshot()).allocations
    kinds = [CATEGORIES[k] for k in categories(a)]
    found = {(k, int(s)) for k, s in zip(kinds, a.size, strict=True)}
    assert found == {
        (Category.PARAMETERS, 4 * MIB), (Category.TEMPORARIES, 2 * MIB),
        (Category.ACTIVATIONS, 6 * MIB), (Category.GRADIENTS, 4 * MIB),
        (Category.OPTIMIZER, 8 * MIB),
    }  # fmt: skip


def test_steps_begin_where_forward_follows() -> None:
    a = only(trained(5).snapshot()).allocations
    assert len(a.ends) == 4  # the last one is not whole
    assert a.event_step.max() == 4


def test_the_file_and_the_value_give_the_same() -> None:
    value = trained(3).snapshot()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "memory.pickle"
        path.write_bytes(pickle.dumps(value))
        read = read_snapshot(path)
    plain = tables(value)
    for name, schema in (("events", EVENTS), ("blocks", BLOCKS)):
        for column in schema:
            assert getattr(read, name)[column].to_list() == getattr(plain, name)[column].to_list()
