"""Decompressed bytes of a trace file, streaming: plain, gzip, and gzip as it is really written.

Compression is recognised by its magic bytes and not by the file's name. Concatenated members are
legal gzip and are read through. A broken or truncated member costs what follows the defect in it:
what inflated up to the defect is kept, and reading goes on at the next member's header, which may
lie inside the broken one where several processes wrote into one file.
"""

from __future__ import annotations

import re
import stat
import zlib
from pathlib import Path
from typing import Any

from timesink.errors import EmptyTrace, UnreadableFile
from timesink.model.trace import QualityNote

_zlib: Any = zlib
try:  # igzip inflates 2-3 times faster; there is no wheel for every platform
    from isal import isal_zlib

    _zlib = isal_zlib
except ImportError:  # pragma: no cover
    pass

MAGIC = b"\x1f\x8b"
#: A member's header as writers make it: method 8, no reserved flag, known level and system.
_HEADER = re.compile(rb"\x1f\x8b\x08[\x00-\x1f].{4}[\x00\x02\x04][\x00-\x0d\xff]", re.S)
_HEADER_BYTES = 10
_BLOCK = 1 << 20
#: Compressed bytes at a time just before a defect: what these hold is lost with it. Not more than a
#: checksum has, so that a wrong one costs no data.
_PIECE = 4
_ERRORS: tuple[type[Exception], ...] = (zlib.error, _zlib.error)


class Stream:
    """A readable stream of decompressed bytes. ``notes`` is complete once ``read`` returns b""."""

    def __init__(self, path: Path) -> None:
        try:
            self._file = path.open("rb")
            self.size = path.stat().st_size
            head = self._file.read(2)
            self._file.seek(0)
        except OSError as error:
            reason = error.strerror or str(error)
            raise UnreadableFile(f"{path} cannot be read: {reason}.", "Check the path.") from error
        self.path = path
        self.compressed = head == MAGIC
        self.notes: list[QualityNote] = []
        self.compressed_read = 0
        self._members = 0
        self._member_at = 0  # file offset of the current member, and the bytes it gave so far
        self._member_out = 0
        self._inflated = 0
        self._object: Any = None
        self._pending = b""
        self._ended = False

    def read(self, size: int) -> bytes:
        """At most about ``size`` decompressed bytes; b"" at the end."""
        if not self.compressed:
            data = self._file.read(size)
            self.compressed_read += len(data)
            return data
        while not self._ended:
            data = self._inflate(size)
            if data:
                self._inflated += len(data)
                return data
        return b""

    def seek(self, offset: int) -> None:
        """Move in a plain file (a compressed one can only be read forward)."""
        self._file.seek(offset)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _feed(self) -> bytes:
        if self._pending:
            data, self._pending = self._pending, b""
            return data
        data = self._file.read(_BLOCK)
        self.compressed_read += len(data)
        return data

    def _inflate(self, size: int) -> bytes:
        if self._object is None and not self._start_member():
            self._finish()
            return b""
        data = self._feed()
        if not data:
            self._note("truncated", "the gzip data ends in the middle: the file is truncated")
            self._object = None
            self._finish()
            return b""
        try:
            out = bytes(self._object.decompress(data, size))
        except _ERRORS as error:
            return self._broken(str(error), size)
        self._member_out += len(out)
        self._pending = self._object.unconsumed_tail
        if self._object.eof:
            self._pending = self._object.unused_data
            self._object = None
        return out

    def _start_member(self) -> bool:
        """Position at the next member; False at the end of the file."""
        data = self._feed()
        while data and not data.strip(b"\0"):
            data = self._feed()  # zero padding after a member is legal
        if not data:
            return False
        at = self.compressed_read - len(data)
        if self._members:
            at, data = at + len(data) - len(data.lstrip(b"\0")), data.lstrip(b"\0")
        if len(data) == 1:
            data += self._feed()
        if data[:2] != MAGIC:
            following = self._next_header(at)
            where = "after the gzip data" if following < 0 else "between gzip members"
            self._note("gzip-garbage", f"bytes {where} are not gzip")
            if following < 0:
                self._go_to(self.size)
                return False
            at, data = following, self._go_to(following)
        self._pending = data
        self._members += 1
        self._member_at, self._member_out = at, 0
        self._object = _zlib.decompressobj(31)
        return True

    def _broken(self, error: str, size: int) -> bytes:
        """A member failed: keep what came out before the defect, go on at the next header."""
        self._note(
            "gzip-broken",
            f"a gzip member is broken ({error}): damaged, or written by more than one process",
        )
        kept = self._before_defect(size)
        self._object = None
        following = self._next_header(self._member_at + 1)
        self._pending = self._go_to(following if following > 0 else self.size)
        return kept

    def _before_defect(self, size: int) -> bytes:
        """What the member still gives after its first ``_member_out`` bytes: inflated again, at the
        end from small pieces, since an inflater that fails keeps back what it had of that call."""
        again, out, skip = _zlib.decompressobj(31), bytearray(), self._member_out
        data = self._go_to(self._member_at)
        try:
            while skip and data:
                skip -= len(again.decompress(data, min(skip, _BLOCK)))
                data = again.unconsumed_tail or self._feed()
            while data and len(out) < size:
                for i in range(0, len(data), _PIECE):
                    out += again.decompress(data[i : i + _PIECE])
                data = self._feed()
        except _ERRORS:
            pass
        return bytes(out)

    def _next_header(self, start: int) -> int:
        """File offset of the next member's header from ``start`` on, or -1."""
        self._file.seek(start)
        begin, data = start, self._file.read(_BLOCK)
        while len(data) >= _HEADER_BYTES:
            match = _HEADER.search(data)
            if match:
                return begin + match.start()
            begin += len(data) - _HEADER_BYTES + 1
            data = data[1 - _HEADER_BYTES :] + self._file.read(_BLOCK)
        return -1

    def _go_to(self, offset: int) -> bytes:
        """The block of the file at an offset, from where reading goes on."""
        self._pending = b""
        self._file.seek(offset)
        self.compressed_read = offset
        return self._feed()

    def _finish(self) -> None:
        self._ended = True
        if self._inflated:
            return
        if any(n.code in ("gzip-broken", "truncated") for n in self.notes):
            raise UnreadableFile(
                f"{self.path} is gzip that is broken from its first bytes.",
                "Copy or download the file again.",
            )
        raise EmptyTrace(
            f"{self.path} is a valid gzip file of 0 bytes.",
            "torch nightlies around November 2025 wrote these: record again with another torch.",
        )

    def _note(self, code: str, message: str) -> None:
        for i, note in enumerate(self.notes):
            if note.code == code:
                self.notes[i] = QualityNote(code, message, note.count + 1, "error")
                return
        self.notes.append(QualityNote(code, message, 1, "error"))


def check_file(path: Path, *, folder: bool = False) -> None:
    """Raise ``UnreadableFile`` unless this is a file whose bytes can be read twice (or, where
    ``folder`` says so, a folder)."""
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError) as error:
        raise UnreadableFile(f"{path} does not exist.", "Check the path.") from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UnreadableFile(f"{path} cannot be read: {reason}.", "Check the path.") from error
    if stat.S_ISDIR(mode) and folder:
        return
    if stat.S_ISDIR(mode):
        raise UnreadableFile(f"{path} is a folder, not a file.", "Name one of the traces in it.")
    if not stat.S_ISREG(mode):
        raise UnreadableFile(f"{path} is a pipe or a device.", "Save the trace to a file first.")


def open_stream(path: Path) -> Stream:
    """Open a trace for streaming. Raises ``UnreadableFile`` when it cannot be opened."""
    return Stream(path)
