"""Bytes on any device → a short digest, without bringing large tensors to the host.

Large runs of bytes are first compressed 16-fold, as often as needed, by one integer matrix product:
each row of 1,024 bytes, as signed numbers, is multiplied with 16 fixed columns of pseudo-random
numbers from -64 to 63 and gives 16 exact 32-bit sums. That is a universal hash (Carter and Wegman
1979): for rows that differ in byte j, a column's sums agree only if its number in place j takes one
value out of 128, so all 16 agree with probability 2**-112 over the choice of columns. The rest goes
through SHA-256. So equal bytes have equal digests, whatever the device or the number of threads,
and different ones differ but for a chance that is far below that of a memory error. It is no
defence against someone who constructs a collision.

Numbers of 7 bits: the 8-bit instructions of processors without VNNI saturate beyond them.
"""

from __future__ import annotations

import functools
import hashlib
import time
from collections.abc import Callable, Iterable
from typing import Any

ROW, COLUMNS = 1024, 16
SMALL = 128 * ROW  #: bytes; below it SHA-256 alone is as fast
_GROUP = 32  # rows; what is left over a multiple of it is passed on as it is
_AT_ONCE = {"cpu": 1024}  # rows: stays in the cache; elsewhere everything at once
_HEX = 32  # digits kept of SHA-256: 128 bits


def compressed(run: Any) -> Any:
    """A uint8 tensor shorter than ``SMALL`` that stands for ``run`` (uint8, one dimension)."""
    import torch

    while run.numel() >= SMALL:
        rows = run.numel() // (ROW * _GROUP) * _GROUP
        head, tail = run[: rows * ROW], run[rows * ROW :]
        sums = _product(head.view(torch.int8).view(rows, ROW))
        run = torch.cat([sums.reshape(-1).view(torch.uint8), tail])
    return run


def _product(rows: Any) -> Any:
    """``rows @ columns`` exactly, as int32; on the host where the device has no such product."""
    import torch

    kind = rows.device.type
    if kind in _without_product:
        return _product(rows.cpu()).to(rows.device)
    columns = _columns(str(rows.device))
    multiply = _faster_on_cpu() if kind == "cpu" else torch._int_mm
    try:
        parts = [multiply(part, columns) for part in rows.split(_AT_ONCE.get(kind, len(rows)))]
    except (RuntimeError, NotImplementedError):
        if kind == "cpu":
            raise
        _without_product.add(kind)
        return _product(rows)
    return torch.cat(parts)


def _in_floats(rows: Any, columns: Any) -> Any:
    """The same product in float32, and as exact: every partial sum is a whole number of at most
    1024 · 128 · 64 = 2**23, and the factors are exact in bfloat16 and TF32, too."""
    import torch

    return (rows.to(torch.float32) @ columns.to(torch.float32)).to(torch.int32)


@functools.cache
def _faster_on_cpu() -> Callable[[Any, Any], Any]:
    """Integer products are fast where the processor has instructions for them, else 5 times slower
    than those of floats (measured): tried once."""
    import torch

    rows, columns = torch.zeros(_AT_ONCE["cpu"], ROW, dtype=torch.int8), _columns("cpu")
    took = {}
    for multiply in (torch._int_mm, _in_floats):
        multiply(rows, columns)
        began = time.perf_counter()
        multiply(rows, columns)
        took[multiply] = time.perf_counter() - began
    return min(took, key=took.__getitem__)


_without_product: set[str] = set()


@functools.cache
def _columns(device: str) -> Any:
    """The fixed columns: from SHAKE-128 and not from a generator, whose state is the program's."""
    import torch

    raw = hashlib.shake_128(b"timesink fingerprint 1").digest(ROW * COLUMNS)
    numbers = torch.frombuffer(bytearray(b % 128 for b in raw), dtype=torch.int8) - 64
    return numbers.view(ROW, COLUMNS).to(device)


def digest(*contents: bytes | memoryview) -> str:
    """32 hexadecimal digits of SHA-256 of these bytes, each with its length."""
    state = hashlib.sha256(usedforsecurity=False)
    for content in contents:
        state.update(len(content).to_bytes(8, "little"))
        state.update(content)
    return state.hexdigest()[:_HEX]


def digests(texts: Iterable[str], runs: Iterable[tuple[Any, ...]]) -> list[str]:
    """One digest for each text with its runs of bytes; one copy per device for all of them."""
    every = [[compressed(run) for run in group] for group in runs]
    host = iter(_to_host([run for group in every for run in group]))
    return [
        digest(text.encode(), *(next(host) for _ in group))
        for text, group in zip(texts, every, strict=True)
    ]


def _to_host(runs: list[Any]) -> list[memoryview]:
    """The bytes of each run, in order."""
    out: dict[int, memoryview] = {}
    elsewhere: dict[str, list[int]] = {}
    for i, run in enumerate(runs):
        if run.device.type == "cpu":
            out[i] = memoryview(run.numpy())
        else:
            elsewhere.setdefault(str(run.device), []).append(i)
    for members in elsewhere.values():
        import torch

        whole, start = memoryview(torch.cat([runs[i] for i in members]).cpu().numpy()), 0
        for i in members:
            out[i] = whole[start : start + runs[i].numel()]
            start += runs[i].numel()
    return [out[i] for i in range(len(runs))]
