"""What is decoded of a trace event, and how its numbers are read exactly.

Only the fields that analyses use are decoded; msgspec skips the rest without building objects.
Fields are decoded as whatever they are and checked when they become a column, so that a value of
an unexpected type means "unknown" (-1) and never an error.
"""

from __future__ import annotations

import contextlib
import math
from decimal import Decimal, InvalidOperation
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

#: From here on a float of µs no longer holds three exact decimals: read the text instead. (Below,
#: the fraction times 1000 is off by less than 0.49; the whole number times 1000 in one go is not
#: good enough: it ties at half a ns from 2**42 on.)
EXACT_FLOAT = 2.0**43
NO_RAW = msgspec.Raw(b"")
_INT64 = 1 << 63
#: Times of 146 years and more are none: the end of an event must fit into 64 bits as well.
_TIME = 1 << 62


class Args(msgspec.Struct, frozen=True, gc=False):
    """The args that some analysis uses. Absent integers are -1 at once: no pass to fill them."""

    ext: Any = msgspec.field(default=-1, name="External id")
    old_ext: Any = msgspec.field(default=-1, name="external id")  # K0, device and runtime rows
    corr: Any = msgspec.field(default=-1, name="correlation")
    stream: Any = -1
    device: Any = -1
    bytes: Any = -1
    seq: Any = msgspec.field(default=-1, name="Sequence number")
    dims: msgspec.Raw = msgspec.field(default=NO_RAW, name="Input Dims")
    types: msgspec.Raw = msgspec.field(default=NO_RAW, name="Input type")
    stack: Any = msgspec.field(default="", name="Call stack")
    module: Any = msgspec.field(default="", name="Module Hierarchy")
    py_id: Any = msgspec.field(default=-1, name="Python id")
    py_parent: Any = msgspec.field(default=-1, name="Python parent id")
    addr: Any = msgspec.field(default=0, name="Addr")
    memory_bytes: Any = msgspec.field(default=0, name="Bytes")
    device_type: Any = msgspec.field(default=-1, name="Device Type")
    device_id: Any = msgspec.field(default=-1, name="Device Id")
    allocated: Any = msgspec.field(default=-1, name="Total Allocated")
    reserved: Any = msgspec.field(default=-1, name="Total Reserved")
    collective: Any = msgspec.field(default=None, name="Collective name")
    nelems_in: Any = msgspec.field(default=None, name="In msg nelems")
    nelems_out: Any = msgspec.field(default=None, name="Out msg nelems")
    group_size: Any = msgspec.field(default=None, name="Group size")
    element: Any = msgspec.field(default=None, name="dtype")
    group: Any = msgspec.field(default=None, name="Process Group Name")
    group_text: Any = msgspec.field(default=None, name="Process Group Description")
    group_ranks: Any = msgspec.field(default=None, name="Process Group Ranks")
    group_seq: Any = msgspec.field(default=None, name="Seq")
    sync_kind: Any = msgspec.field(default=None, name="cuda_sync_kind")
    wait_stream: Any = msgspec.field(default=None, name="wait_on_stream")
    wait_record: Any = msgspec.field(default=None, name="wait_on_cuda_event_record_corr_id")
    label: Any = msgspec.field(default=None, name="name")  # of ph M rows
    labels: Any = None  # of ph M rows


NO_ARGS = Args()
#: What ``details`` holds: the JSON of those that a row has, under these names.
DETAILS = (
    "collective", "nelems_in", "nelems_out", "group_size", "element", "group", "group_text",
    "group_ranks", "group_seq", "sync_kind", "wait_stream", "wait_record",
)  # fmt: skip


def details(args: Args) -> str:
    """The args of a collective or a synchronisation as compact JSON; "" for any other row."""
    if args.collective is None and args.sync_kind is None and args.wait_stream is None:
        return ""
    given = ((name, getattr(args, name)) for name in DETAILS)
    return msgspec.json.encode({k: v for k, v in given if v is not None}).decode()


class Event(msgspec.Struct, gc=False):
    """One trace event; ``ts`` and ``dur`` as JSON numbers."""

    ph: Any = None
    cat: Any = None
    name: Any = None
    pid: Any = None
    tid: Any = None
    ts: Any = None
    dur: Any = None
    id: Any = None
    args: Args = NO_ARGS


class ExactEvent(msgspec.Struct, gc=False):
    """The same with the text of the times, for numbers that a float cannot hold."""

    ph: Any = None
    cat: Any = None
    name: Any = None
    pid: Any = None
    tid: Any = None
    ts: msgspec.Raw = NO_RAW
    dur: msgspec.Raw = NO_RAW
    id: Any = None
    args: Args = NO_ARGS


class NeedsText(Exception):
    """A time is a float too large to hold its decimals; decode again, as ``ExactEvent``."""


def nanoseconds(value: Any) -> int | None:
    """A time in µs (int, float, text or raw JSON) as integer ns; None when it is not a time."""
    kind = value.__class__
    if kind is int:
        ns = value * 1000
    elif kind is float:
        if value != value or value in (float("inf"), float("-inf")):
            return None
        whole = math.floor(value)
        ns = whole * 1000 + round((value - whole) * 1000)
    elif kind is msgspec.Raw:
        return _from_text(bytes(value).decode("ascii", "replace").strip('" \t\r\n'))
    elif kind is str:
        return _from_text(value.strip())
    else:
        return None
    return ns if -_TIME <= ns < _TIME else None


def _from_text(text: str) -> int | None:
    whole, dot, part = text.partition(".")
    if whole.isdigit() and (not dot or (part.isdigit() and len(part) <= 3)) and text.isascii():
        ns = int(whole) * 1000 + int(part.ljust(3, "0") if part else 0)
    else:
        try:
            number = Decimal(text)
            if not number.is_finite() or abs(number) > _INT64:
                return None
            ns = int((number * 1000).to_integral_value())
        except (InvalidOperation, ValueError):
            return None
    return ns if -_TIME <= ns < _TIME else None


def times(values: list[Any], *, last: bool = False) -> tuple[Array, Array]:
    """ns and validity of a list of times; fast when they are all int or all small floats.

    Raises ``NeedsText`` when a float is too large to be exact, unless it is the ``last`` resort.
    """
    valid = np.ones(len(values), bool)
    types = set(map(type, values))
    if types == {int}:
        with contextlib.suppress(OverflowError):
            whole = np.fromiter(values, np.int64, len(values))
            if int(whole.min()) * 1000 >= -_TIME and int(whole.max()) * 1000 < _TIME:
                return whole * 1000, valid
    elif types <= {int, float}:
        small = np.fromiter(values, np.float64, len(values))
        if bool(np.all(np.abs(small) < EXACT_FLOAT)):
            floor = np.floor(small)
            part = np.rint((small - floor) * 1000)
            return floor.astype(np.int64) * 1000 + part.astype(np.int64), valid
    if not last and any(v.__class__ is float and abs(v) >= EXACT_FLOAT for v in values):
        raise NeedsText
    exact = [nanoseconds(v) for v in values]
    valid = np.array([v is not None for v in exact], bool)
    return np.array([v or 0 for v in exact], np.int64), valid


def integers(values: list[Any], absent: int = -1) -> Array:
    """A column of integers; whatever is not an integer (or text of one) is ``absent``."""
    if values.count(absent) == len(values):
        return np.full(len(values), absent, np.int64)
    if set(map(type, values)) == {int}:
        with contextlib.suppress(OverflowError):
            return np.fromiter(values, np.int64, len(values))
    return np.array([_integer(v, absent) for v in values], np.int64)


def _integer(value: Any, absent: int) -> int:
    if value.__class__ is int:
        return value if -_INT64 <= value < _INT64 else _wrapped(value, absent)
    if value.__class__ is str:
        digits = value.removeprefix("-")
        if digits.isascii() and digits.isdigit() and len(digits) < 19:
            return int(value)
    if value.__class__ is float and value.is_integer() and abs(value) < 2**53:
        return int(value)
    return absent


def _wrapped(value: int, absent: int) -> int:
    """An unsigned 64-bit integer (an address) as its signed twin; anything larger is absent."""
    return value - 2 * _INT64 if _INT64 <= value < 2 * _INT64 else absent
