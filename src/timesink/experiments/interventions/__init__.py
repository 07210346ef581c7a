"""All interventions, and how they are written on the command line."""

from __future__ import annotations

from collections.abc import Iterable

from timesink.errors import BadUsage
from timesink.experiments.interventions import (
    autocast,
    batch_size,
    channels_last,
    compile_,
    cudnn_benchmark,
    deterministic,
    env,
    flush_denormal,
    foreach_optimizer,
    fused_optimizer,
    gc_freeze,
    no_anomaly,
    num_workers,
    persistent_workers,
    pin_memory,
    prefetch_factor,
    set_to_none,
    tf32,
    threads,
)
from timesink.experiments.interventions.base import Intervention, Kind

KINDS: tuple[Kind, ...] = tuple(
    module.KIND
    for module in (
        num_workers, pin_memory, persistent_workers, prefetch_factor, batch_size, compile_,
        channels_last, autocast, tf32, cudnn_benchmark, fused_optimizer, foreach_optimizer,
        threads, flush_denormal, gc_freeze, set_to_none, no_anomaly, deterministic, env,
    )
)  # fmt: skip
_BY_NAME = {kind.name: kind for kind in KINDS}


def parse(text: str) -> Intervention:
    """``num-workers=2`` or ``env:NAME=VALUE``. Raises ``BadUsage`` with what is possible."""
    name, _, value = text.partition("=")
    if text.startswith("env:"):
        name, value = "env", text.removeprefix("env:")
    kind = _BY_NAME.get(name.strip())
    if kind is None:
        raise BadUsage(f"There is no intervention {name!r}.", f"There are {', '.join(_BY_NAME)}.")
    try:
        return Intervention(kind, kind.check(value.strip()))
    except BadUsage as error:
        usage = f"{kind.name}={kind.takes}" if kind.takes else kind.name
        raise BadUsage(
            f"{kind.name}: {error.message}", error.remedy or f"Write {usage}."
        ) from error


def parse_all(texts: Iterable[str]) -> tuple[Intervention, ...]:
    """Several that are tried as one, each text one or more joined by `` + ``; twice the same kind
    is an error, but for ``env``."""
    found = [parse(part) for text in texts for part in text.split(" + ")]
    names = [i.kind.name for i in found if i.kind.name != "env"]
    for name in names:
        if names.count(name) > 1:
            raise BadUsage(f"{name} is given twice.", "Use --each to try values one by one.")
    return tuple(found)
