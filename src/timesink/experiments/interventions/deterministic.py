"""``deterministic``: the same bits in every run; what it costs is measured like any change."""

from __future__ import annotations

from timesink.experiments.interventions.base import Kind, Recorder
from timesink.reproducibility.seeding import environment_for
from timesink.reproducibility.torch_dials import determinism


def install(value: str, recorder: Recorder) -> None:
    """Turn every switch that makes torch's kernels give the same bits each time."""
    import torch

    if torch.are_deterministic_algorithms_enabled():
        recorder.left("deterministic algorithms are on already")
        return
    for dial in determinism():
        if dial.state == "set":
            recorder.changed("switch")
        elif dial.state == "not set":
            recorder.left(f"{dial.name} could not be set: {dial.why}")


def variables(value: str) -> dict[str, str]:
    """What cuBLAS and inductor read once, at their start; the seed's own stays as it is."""
    needed = environment_for(0, deterministic=True)
    return {name: text for name, text in needed.items() if name != "PYTHONHASHSEED"}


KIND = Kind(
    name="deterministic",
    takes="",
    summary="deterministic algorithms only: the same bits in every run",
    nothing="there was nothing to change",
    may_change="Rounding (other kernels); an operator without a deterministic form raises.",
    numerics="rounding",
    code="timesink.seed_everything(seed, deterministic=True)",
    install=install,
    variables=variables,
)
