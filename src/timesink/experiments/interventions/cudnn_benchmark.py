"""``cudnn-benchmark``: cuDNN measures its algorithms for each new shape and keeps the fastest."""

from __future__ import annotations

from timesink.experiments.interventions.base import Kind, Recorder


def install(value: str, recorder: Recorder) -> None:
    """Switch it on."""
    import torch

    if not torch.backends.cudnn.is_available():
        recorder.left("there is no cuDNN")
    elif torch.backends.cudnn.benchmark:
        recorder.left("it is on already")
    else:
        torch.backends.cudnn.benchmark = True
        recorder.switched(lambda: bool(torch.backends.cudnn.benchmark))


KIND = Kind(
    name="cudnn-benchmark",
    takes="",
    summary="cuDNN measures its algorithms and keeps the fastest",
    nothing="there was nothing to change",
    may_change="Rounding, also from run to run; slow first steps for every new shape.",
    numerics="rounding",
    code="torch.backends.cudnn.benchmark = True",
    install=install,
)
