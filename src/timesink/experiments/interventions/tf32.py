"""``tf32``: float32 matrix products on tensor cores with 10 bits of mantissa."""

from __future__ import annotations

from timesink.experiments.interventions.base import Kind, Recorder


def install(value: str, recorder: Recorder) -> None:
    """Allow TensorFloat-32 in matrix products and convolutions."""
    import torch

    if not torch.cuda.is_available():
        recorder.left("there is no CUDA device")
    elif torch.cuda.get_device_capability() < (8, 0):
        recorder.left("the device has no TensorFloat-32 (it needs compute capability 8.0)")
    else:
        torch.set_float32_matmul_precision("high")
        torch.backends.cudnn.allow_tf32 = True
        recorder.switched(lambda: torch.get_float32_matmul_precision() == "high")


KIND = Kind(
    name="tf32",
    takes="",
    summary="float32 matrix products with TensorFloat-32",
    nothing="there was nothing to change",
    may_change="Precision: products are rounded to 10 bits of mantissa.",
    numerics="reduced",
    code='torch.set_float32_matmul_precision("high")',
    install=install,
)
