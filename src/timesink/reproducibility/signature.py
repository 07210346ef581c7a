"""What an operator's schema says about it, read once per operator. Importing this imports torch."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch

Named = list[tuple[str, Any]]

#: In-place operators that do not read what they write to.
_OVERWRITING = {
    "copy_", "fill_", "zero_", "normal_", "uniform_", "bernoulli_", "random_", "exponential_",
    "cauchy_", "geometric_", "log_normal_", "set_", "resize_",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Signature:
    """``computes``: neither a view nor a marker; ``lift_fresh`` counts, data enters torch there.
    ``mutated``: arguments that it writes to, ``overwritten``: without reading them.
    ``returns_argument``: in-place and out= operators. ``random``: draws random numbers.
    ``gives_memory``: ``empty`` and its like. ``in_flight``: a collective that goes on after the
    call, so that its result must not be read yet."""

    name: str
    arguments: tuple[str, ...]
    computes: bool
    mutated: frozenset[str]
    overwritten: frozenset[str]
    returns_argument: bool
    random: bool
    gives_memory: bool
    in_flight: bool


@functools.cache
def signature(func: Any) -> Signature:
    """The signature of an ``OpOverload`` or a higher-order operator."""
    schema = getattr(func, "_schema", None)
    if schema is None:  # a higher-order operator: its body is seen operator by operator
        none: frozenset[str] = frozenset()
        return Signature(str(func), (), False, none, none, False, False, False, False)
    base = func.overloadpacket.__name__
    out = {a.name for a in schema.arguments if a.is_out}
    return Signature(
        name=str(func),
        arguments=tuple(a.name for a in schema.arguments),
        computes=func.namespace not in ("profiler", "prim")
        and (not func.is_view or base == "lift_fresh"),
        mutated=frozenset(a.name for a in schema.arguments if _written(a)),
        overwritten=frozenset(out | {"self"} if base in _OVERWRITING else out),
        returns_argument=bool(schema.returns) and all(map(_written, schema.returns)),
        random=torch.Tag.nondeterministic_seeded in func.tags,
        gives_memory="empty" in base.split("_") or base == "resize_",
        in_flight="c10d" in func.namespace and "wait" not in base,
    )


def _written(argument: Any) -> bool:
    return argument.alias_info is not None and bool(argument.alias_info.is_write)


def arguments(known: Signature, args: Any, kwargs: Any) -> Iterator[tuple[str, Any]]:
    """(name in the schema, tensor or plain value); lists of tensors are opened under one name."""
    for i, value in enumerate(args):
        yield from flat(known.arguments[i] if i < len(known.arguments) else str(i), value)
    for name, value in kwargs.items():
        if not isinstance(value, torch.Generator):
            yield from flat(name, value)


def flat(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """One value, or the members of a list of tensors."""
    if isinstance(value, (list, tuple)) and any(isinstance(v, torch.Tensor) for v in value):
        for member in value:
            yield from flat(name, member)
    else:
        yield name, value
