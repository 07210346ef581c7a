"""Every number inside nested containers, with the path to it.

A leaf is a tensor or a text that says all there is about a plain value. Dictionaries, lists,
dataclasses, modules, optimizers, NumPy arrays, generators and objects with attributes are opened;
hooks (``state_dict`` runs some) are never run. Lists and tuples count alike, and neither a
dictionary's order nor a set's is part of its value.
"""

from __future__ import annotations

import dataclasses
import enum
import random
import struct
import sys
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from types import ModuleType
from typing import Any

OPAQUE = "opaque"
_DEPTH = 32
_PLAIN = (bool, int, str, bytes, type(None), type(...), range, slice, bytearray)
Leaf = tuple[str, Any]


def leaves(value: Any, path: str = "") -> Iterator[Leaf]:
    """(path, tensor or text) of everything in ``value``: "batch.image", "layers[0].weight"."""
    yield from _open(value, path, (), set())


def _open(value: Any, path: str, above: tuple[int, ...], objects: set[int]) -> Iterator[Leaf]:
    """``above``: the containers around it; ``objects``: those of the program's own classes that
    were opened before, which are opened once (they may refer to each other without end)."""
    torch: Any = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        yield path, value
        return
    text = _plain(value)
    if text is not None:
        yield path, text
        return
    members = next(m for test, m in _OPENERS if test(value))
    if id(value) in above or id(value) in objects or len(above) > _DEPTH:
        yield path, "seen before"
        return
    if members is _attributes:
        objects.add(id(value))
    empty = True
    for name, inside in members(value):
        empty = False
        inner = path + name if path else name.lstrip(".")
        yield from _open(inside, inner, (*above, id(value)), objects)
    if empty:
        sized = isinstance(value, (Mapping, list, tuple, deque, AbstractSet))
        yield path, "empty" if sized else f"{OPAQUE} {_type(value)}"


def _plain(value: Any) -> str | None:
    """The whole value as text, or None if it is not plain. Floats by their bits."""
    if isinstance(value, enum.Enum):
        return f"{_type(value)}.{value.name}"
    if isinstance(value, float):
        return f"float {struct.pack('>d', value).hex()}"
    if isinstance(value, complex):
        return f"complex {struct.pack('>dd', value.real, value.imag).hex()}"
    if isinstance(value, random.Random):
        return f"random.Random {value.getstate()}"
    if isinstance(value, ModuleType):
        return f"module {value.__name__}"
    if isinstance(value, _PLAIN):
        return f"{type(value).__name__} {value!r}"
    if isinstance(value, type) or (callable(value) and hasattr(value, "__qualname__")):
        return f"{getattr(value, '__module__', '')}.{value.__qualname__}"
    if type(value).__module__ in ("torch", "pathlib", "datetime", "decimal", "fractions", "uuid"):
        return _repr_of_torch(value)
    return None


def _repr_of_torch(value: Any) -> str | None:
    torch: Any = sys.modules.get("torch")
    if torch is not None and isinstance(value, (torch.Generator, torch.Size)):
        return None
    return f"{_type(value)} {value!r}"


def _items(value: Mapping[Any, Any]) -> Iterator[tuple[str, Any]]:
    for key, member in value.items():
        yield (f".{key}" if isinstance(key, (str, int)) else f"[{key!r}]"), member


def _elements(value: Any) -> Iterator[tuple[str, Any]]:
    yield from ((f"[{i}]", member) for i, member in enumerate(value))


def _set(value: AbstractSet[Any]) -> Iterator[tuple[str, Any]]:
    texts = [_plain(member) for member in value]
    yield ".set", "\n".join(sorted(t if t is not None else OPAQUE for t in texts))


def _module(value: Any) -> Iterator[tuple[str, Any]]:
    yield from ((f".{n}", p) for n, p in value.named_parameters())
    yield from ((f".{n}", b) for n, b in value.named_buffers())


def _optimizer(value: Any) -> Iterator[tuple[str, Any]]:
    """State by the position of its parameter and the settings of each group, without the
    parameters. ``state_dict()`` would run the program's hooks."""
    for g, group in enumerate(value.param_groups):
        settings = {k: v for k, v in group.items() if k not in ("params", "param_names")}
        yield f".group{g}", settings
        for p, parameter in enumerate(group["params"]):
            if parameter in value.state:
                yield f".group{g}.{p}", value.state[parameter]


def _array(value: Any) -> Iterator[tuple[str, Any]]:
    import numpy as np

    array = np.asarray(value)
    if array.dtype.hasobject:
        yield from _elements(array.reshape(-1).tolist())
    else:
        yield "", _Bytes(f"numpy {array.dtype.str}{array.shape} ".encode() + array.tobytes())


class _Bytes(bytes):
    """Bytes of an array: a leaf that need not be turned into text."""


def _fields(value: Any) -> Iterator[tuple[str, Any]]:
    for field in dataclasses.fields(value):
        if hasattr(value, field.name):
            yield f".{field.name}", getattr(value, field.name)


def _attributes(value: Any) -> Iterator[tuple[str, Any]]:
    """What an object of the program's own holds in itself."""
    names = dict.fromkeys(getattr(value, "__dict__", ()))
    for kind in type(value).__mro__:
        slots = kind.__dict__.get("__slots__", ())
        names.update(dict.fromkeys([slots] if isinstance(slots, str) else slots))
    for name in names:
        if not name.startswith("__") and hasattr(value, name):
            yield f".{name}", getattr(value, name)


def _is_torch(name: str) -> Callable[[Any], bool]:
    """Whether a value is of a class of torch, without importing torch."""

    def test(value: Any) -> bool:
        found: Any = sys.modules.get("torch")
        for part in name.split("."):
            found = getattr(found, part, None)
        return found is not None and isinstance(value, found)

    return test


def _is_numpy_generator(value: Any) -> bool:
    return type(value).__module__.startswith("numpy.random") and hasattr(value, "bit_generator")


#: (test, members): members yields (name with its separator, member) in a fixed order.
_OPENERS: tuple[tuple[Callable[[Any], bool], Callable[[Any], Iterator[tuple[str, Any]]]], ...] = (
    (_is_torch("nn.Module"), _module),
    (_is_torch("optim.Optimizer"), _optimizer),
    (_is_torch("Generator"), lambda g: iter([(".state", g.get_state())])),
    (_is_numpy_generator, lambda g: iter([(".state", g.bit_generator.state)])),
    (lambda v: hasattr(v, "__array_interface__"), _array),
    (lambda v: isinstance(v, Mapping), _items),
    (lambda v: hasattr(v, "_fields") and isinstance(v, tuple), lambda v: _items(v._asdict())),
    (lambda v: isinstance(v, (list, tuple, deque)), _elements),
    (lambda v: isinstance(v, AbstractSet), _set),
    (dataclasses.is_dataclass, _fields),
    (lambda v: True, _attributes),
)


def _type(value: Any) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}"
