"""The reader of snapshots: torch's layouts, and pickles that want more than to be read."""

from __future__ import annotations

import os
import pickle
import pickletools
import struct
import time
from pathlib import Path
from typing import Any

import pytest

from tests.snapshots import FORWARD, MIB, Allocator, main
from timesink.errors import NotASnapshot, UnreadableFile
from timesink.store.snapshot import read_snapshot
from timesink.store.snapshot_schema import Action, State


def written(folder: Path, value: Any, protocol: int = 4) -> Path:
    path = folder / "memory.pickle"
    path.write_bytes(pickle.dumps(value, protocol=protocol))
    return path


def small() -> Allocator:
    device = Allocator()
    kept = device.alloc(3 * MIB, main(10, FORWARD))
    gone = device.alloc(1000, main(12))
    device.free(gone, main(14))
    assert kept
    return device


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_reads_what_was_written(tmp_path: Path, protocol: int) -> None:
    found = read_snapshot(written(tmp_path, small().snapshot(), protocol))
    assert found.segments["size"].to_list() == [20 * MIB, 2 * MIB]
    assert found.segments["kind"].to_list() == ["large", "small"]
    held = found.blocks.filter(found.blocks["state"] == State.ALLOCATED)
    assert held["requested"].to_list() == [3 * MIB]
    actions = [Action(a).name.lower() for a in found.events["action"].to_list()]
    assert actions == [
        "segment_alloc", "alloc", "segment_alloc", "alloc", "free_requested", "free_completed",
        "snapshot",
    ]  # fmt: skip
    frames = found.stacks["frames"][held["stack"][0]].to_list()
    names = [found.frames["name"][f] for f in frames]
    assert names == ["forward", "_call_impl", "main", "<module>"]
    assert dict(found.settings)["expandable_segments"] == "False"


def test_equal_frames_are_one_row(tmp_path: Path) -> None:
    found = read_snapshot(written(tmp_path, small().snapshot()))
    assert found.frames.unique().height == found.frames.height
    assert found.stacks.height == 3


def test_torch_2_0_has_a_history_of_owners(tmp_path: Path) -> None:
    value = {
        "segments": [{
            "device": 0, "address": 4096, "total_size": 2 * MIB, "stream": 0,
            "segment_type": "small", "allocated_size": 512, "active_size": 512,
            "blocks": [
                {"size": 512, "state": "active_allocated",
                 "history": [{"addr": 4096, "real_size": 400, "frames": main(3)}]},
                {"size": 1024, "state": "active_pending_free", "requested_size": 1000},
                {"size": 2 * MIB - 1536, "state": "inactive"},
            ],
        }],
        "device_traces": [],
    }  # fmt: skip
    found = read_snapshot(written(tmp_path, value))
    assert found.blocks["requested"].to_list() == [400, 1000, 0]
    assert found.blocks["address"].to_list() == [4096, 4608, 5632]
    assert found.blocks["state"].to_list() == [1, 2, 0]
    assert found.events.height == 0


def test_the_list_of_segments_alone(tmp_path: Path) -> None:
    found = read_snapshot(written(tmp_path, small().snapshot()["segments"]))
    assert found.segments.height == 2


def test_several_devices(tmp_path: Path) -> None:
    value = small().snapshot()
    value["device_traces"] = [[], value["device_traces"][0]]
    found = read_snapshot(written(tmp_path, value))
    assert set(found.events["device"].to_list()) == {1}


class Evil:
    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> Any:
        return os.system, (f"touch {self.marker}",)


def nested(depth: int) -> bytes:
    """A tuple in a tuple …, as the key of a dict: hashing it recurses in C."""
    return b"\x80\x04}" + b")" + b"\x85" * depth + b"K\x01s."


_HOSTILE = {
    "calls os.system": None,
    "memo of 2^31 entries": b"\x80\x04K\x01r\xf0\xff\xff\x7f.",
    "text of 2^40 bytes": b"\x80\x04\x8d" + struct.pack("<Q", 2**40) + b"abc.",
    "bytes of 2^40": b"\x80\x04\x8e" + struct.pack("<Q", 2**40) + b"abc.",
    "bytearray of 2^40": b"\x80\x05\x96" + struct.pack("<Q", 2**40) + b"abc.",
    "frame of 2^40": b"\x80\x04\x95" + struct.pack("<Q", 2**40) + b"K\x01.",
    "integer of 2^31 bytes": b"\x80\x04\x8b\xff\xff\xff\x7f\x01.",
    "deep tuples as a key": nested(3_000_000),
    "deep lists": b"\x80\x04" + b"]" * 2_000_000 + b"a" * 1_999_999 + b".",
    "a million marks": b"\x80\x04" + b"(" * 1_000_000 + b".",
    "nothing": b"\x80\x04.",
    "cut off": pickle.dumps({"segments": [1, 2, 3]})[:-4],
    "an extension": b"\x80\x04\x82\x01.",
    "a persistent id": b"\x80\x04K\x01Q.",
    "a class": b"\x80\x04cbuiltins\neval\n.",
    "an instance": b"\x80\x04(ios\nsystem\n.",
    "a decimal of a million digits": b"\x80\x02I" + b"9" * 1_000_000 + b"\n.",
}


@pytest.mark.parametrize("name", list(_HOSTILE))
def test_hostile_pickles_are_refused_quickly_and_without_harm(tmp_path: Path, name: str) -> None:
    path, marker = tmp_path / "evil.pickle", tmp_path / "ran"
    path.write_bytes(_HOSTILE[name] or pickle.dumps({"segments": [Evil(marker)]}))
    began = time.monotonic()
    with pytest.raises(NotASnapshot) as caught:
        read_snapshot(path)
    assert time.monotonic() - began < 60  # a hang, not a benchmark
    assert not marker.exists()
    assert "\n" not in caught.value.message
    assert len(caught.value.message) < 600


def test_what_it_asks_for_is_named(tmp_path: Path) -> None:
    path = tmp_path / "evil.pickle"
    path.write_bytes(pickle.dumps({"segments": [Evil(tmp_path / "ran")]}))
    assert any(o.name == "STACK_GLOBAL" for o, _, _ in pickletools.genops(path.read_bytes()))
    with pytest.raises(NotASnapshot, match=r"posix\.system"):
        read_snapshot(path)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({"weights": [1.0]}, "keys weights"),
        ([1, 2], "list"),
        ({"segments": [{"blocks": 3}]}, "not as torch writes it"),
        ({"segments": [{"blocks": [{"size": "x", "state": "inactive"}]}]}, "not as torch"),
        ({"segments": [], "device_traces": [[{"action": "alloc", "size": 2**80}]]}, "not as torch"),
        ({"segments": [], "device_traces": [[{"size": 1}]]}, "not as torch"),
        ({"segments": [], "device_traces": [[1]]}, "not as torch"),
    ],
)
def test_other_pickles_are_refused(tmp_path: Path, value: Any, said: str) -> None:
    with pytest.raises(NotASnapshot, match=said):
        read_snapshot(written(tmp_path, value))


def test_other_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFile):
        read_snapshot(tmp_path / "gone.pickle")
    for content, said in ((b"", "empty"), (b"{}", "not a pickle"), (b"\x1f\x8bxx", "compressed")):
        (tmp_path / "x").write_bytes(content)
        with pytest.raises(NotASnapshot, match=said):
            read_snapshot(tmp_path / "x")
