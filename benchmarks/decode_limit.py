"""The limit: a plain typed ``msgspec`` decode of the same file into structs, nothing kept."""

import sys
import time
from pathlib import Path

import msgspec


class Args(msgspec.Struct):
    external: int | None = msgspec.field(default=None, name="External id")
    correlation: int | None = None
    stream: msgspec.Raw = msgspec.Raw(b"")
    device: msgspec.Raw = msgspec.Raw(b"")
    bytes: int | None = None
    dims: msgspec.Raw = msgspec.field(default=msgspec.Raw(b""), name="Input Dims")


class Event(msgspec.Struct):
    ph: str = ""
    name: str = ""
    cat: str = ""
    ts: float = 0.0
    dur: float = 0.0
    pid: int | str = 0
    tid: int | str = 0
    id: int | str = 0
    args: Args = msgspec.field(default_factory=Args)


class Document(msgspec.Struct):
    events: list[Event] = msgspec.field(name="traceEvents")


data = Path(sys.argv[1]).read_bytes()
decoder = msgspec.json.Decoder(Document, strict=False)
start = time.perf_counter()
document = decoder.decode(data)
print(time.perf_counter() - start, len(document.events))
