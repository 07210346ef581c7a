"""A process that decodes chunks: frames in on stdin, frames out on stdout, until stdin ends.

Started as ``python -m timesink.store.worker`` and not through ``multiprocessing``, which would
import the user's ``__main__`` again (spawn) or copy polars' threads (fork). Imports no polars.
"""

from __future__ import annotations

import struct
import sys
from typing import IO

from timesink.store.work import pack, work

HEADER = struct.Struct("<QQI")  # bytes of data, offset in the stream, bytes of key
SIZE = struct.Struct("<Q")


def read_exactly(stream: IO[bytes], size: int) -> bytes:
    """``size`` bytes, or fewer at the end of the stream."""
    parts = []
    while size:
        data = stream.read(size)
        if not data:
            break
        parts.append(data)
        size -= len(data)
    return b"".join(parts)


def main() -> None:
    """Serve until stdin is closed."""
    source, sink = sys.stdin.buffer, sys.stdout.buffer
    while True:
        head = read_exactly(source, HEADER.size)
        if len(head) < HEADER.size:
            return
        size, offset, key_size = HEADER.unpack(head)
        key = read_exactly(source, key_size)
        data = read_exactly(source, size)
        if len(data) < size:
            return
        out = pack(work(data, offset, key))
        sink.write(SIZE.pack(len(out)))
        sink.write(out)
        sink.flush()


if __name__ == "__main__":
    main()
