"""``flush-denormal``: numbers too small for full precision become 0; CPUs compute them slowly."""

from __future__ import annotations

from timesink.experiments.interventions.base import Kind, Recorder


def install(value: str, recorder: Recorder) -> None:
    """Switch it on for this thread and those that it will start."""
    import torch

    if torch.set_flush_denormal(True):
        recorder.changed("switch")
    else:
        recorder.left("this CPU cannot flush denormal numbers")


KIND = Kind(
    name="flush-denormal",
    takes="",
    summary="denormal numbers become 0 on the CPU",
    nothing="there was nothing to change",
    may_change="Values below 1e-38 (float32) become 0.",
    numerics="rounding",
    code="torch.set_flush_denormal(True)",
    install=install,
)
