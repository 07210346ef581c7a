"""What a tensor consists of, as a text and plain runs of bytes that do not depend on its layout.

Strides, storage offset, device, ``requires_grad``, lazy conjugation and negation do not count;
the kind of number, the shape and every bit do: NaN payloads and −0.0. Sparse tensors are what they
store (indices and values as they lie, so a coalesced and an uncoalesced form differ), quantised
ones their integers with scale and zero point, wrapper subclasses the tensors inside them. What has
no readable bits (meta, fake, lazy and freed tensors) is known by its shape only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Bits:
    """``text``: kind, shape and the small facts; ``runs``: one-dimensional uint8 tensors on the
    tensor's own device; ``readable`` False: ``text`` is all that could be seen."""

    text: str
    runs: tuple[Any, ...] = ()
    readable: bool = True


def bits(tensor: Any) -> Bits:
    """The bits of any tensor. Call it inside :func:`timesink.reproducibility.quiet.quiet`."""
    import torch

    if torch.nn.parameter.is_lazy(tensor):
        return Bits("lazy parameter", readable=False)
    text = f"{str(tensor.dtype).removeprefix('torch.')}{tuple(_sizes(tensor))}"
    if _without_data(tensor):
        return Bits(text, readable=False)
    if hasattr(type(tensor), "__tensor_flatten__"):
        return _wrapper(tensor, text)
    if tensor.is_nested:
        return _joined(f"nested {text}", {str(i): t for i, t in enumerate(tensor.unbind())})
    if tensor.is_quantized:
        return _quantized(tensor, text)
    if tensor.layout is not torch.strided:
        return _sparse(tensor, text)
    if _is_opaque_subclass(tensor):
        return Bits(f"{type(tensor).__name__} {text}", readable=False)
    return Bits(text, (_run(tensor),))


def _sizes(tensor: Any) -> list[Any]:
    """The shape; a ragged dimension of a nested tensor is written as -1."""
    if tensor.is_nested and not hasattr(type(tensor), "__tensor_flatten__"):
        return [tensor.size(0), *[-1] * (tensor.dim() - 1)]
    return [s if type(s) is int else -1 for s in tensor.shape]


def _without_data(tensor: Any) -> bool:
    import torch

    if tensor.device.type == "meta" or "fake_tensor" in type(tensor).__module__:
        return True
    functional = getattr(torch, "_is_functional_tensor", None)
    if functional is not None and functional(tensor):
        return True
    if tensor.device.type == "cuda" and torch.cuda.is_current_stream_capturing():
        return True  # a copy to the host would break the capture
    if type(tensor) in (torch.Tensor, torch.nn.Parameter) and tensor.layout is torch.strided:
        if torch._C._functorch.is_functorch_wrapped_tensor(tensor):
            return True
        return bool(
            tensor.numel() and not tensor.is_nested and not tensor.untyped_storage().nbytes()
        )
    return False


def _is_opaque_subclass(tensor: Any) -> bool:
    """A subclass that answers operators itself and does not say what it is made of."""
    import torch

    own: Any = type(tensor).__torch_dispatch__
    return own is not torch.Tensor.__torch_dispatch__ and not _has_storage(tensor)


def _has_storage(tensor: Any) -> bool:
    try:
        return bool(tensor.data_ptr()) or not tensor.numel()
    except RuntimeError:
        return False


def _run(tensor: Any) -> Any:
    """All bytes in logical order. What has to be copied is viewed as integers of its size first:
    copying floats could quiet a signalling NaN."""
    import torch

    plain = tensor if type(tensor) is torch.Tensor else tensor.detach().as_subclass(torch.Tensor)
    if plain.is_complex():
        plain = torch.view_as_real(plain.resolve_conj().resolve_neg())
    elif plain.is_neg():
        plain = plain.resolve_neg()
    if not plain.is_contiguous():
        same = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
        plain = plain.view(same[plain.element_size()]).contiguous()
    flat = plain.reshape(-1)
    if flat.numel() < 2:  # its stride may be anything
        flat = flat.as_strided(flat.shape, (1,))
    return flat.view(torch.uint8)


def _joined(text: str, inside: dict[str, Any]) -> Bits:
    parts = {name: bits(tensor) for name, tensor in inside.items()}
    return Bits(
        "; ".join([text, *(f"{name}: {part.text}" for name, part in parts.items())]),
        tuple(run for part in parts.values() for run in part.runs),
        all(part.readable for part in parts.values()),
    )


def _wrapper(tensor: Any, text: str) -> Bits:
    """``__tensor_flatten__`` is torch's own protocol for what a subclass is made of (DTensor,
    jagged nested tensors, torchao)."""
    import torch

    names, _ = tensor.__tensor_flatten__()
    inside = {n: getattr(tensor, n) for n in names}
    tensors = {n: t for n, t in inside.items() if isinstance(t, torch.Tensor)}
    return _joined(f"{type(tensor).__name__} {text}", tensors)


def _quantized(tensor: Any, text: str) -> Bits:
    import torch

    if tensor.qscheme() in (torch.per_tensor_affine, torch.per_tensor_symmetric):
        scale = f"{tensor.q_scale().hex()} {tensor.q_zero_point()}"
        return Bits(f"{text} {tensor.qscheme()} {scale}", (_run(tensor.int_repr()),))
    inside = {
        "integers": tensor.int_repr(),
        "scales": tensor.q_per_channel_scales(),
        "zero points": tensor.q_per_channel_zero_points(),
    }
    return _joined(f"{text} {tensor.qscheme()} axis {tensor.q_per_channel_axis()}", inside)


def _sparse(tensor: Any, text: str) -> Bits:
    import torch

    kind = str(tensor.layout).removeprefix("torch.")
    plain = tensor.detach()
    if tensor.layout is torch.sparse_coo:
        inside = {"indices": plain._indices(), "values": plain._values()}
    elif tensor.layout in (torch.sparse_csr, torch.sparse_bsr):
        inside = {
            "crow": plain.crow_indices(),
            "col": plain.col_indices(),
            "values": plain.values(),
        }
    elif tensor.layout in (torch.sparse_csc, torch.sparse_bsc):
        inside = {
            "ccol": plain.ccol_indices(),
            "row": plain.row_indices(),
            "values": plain.values(),
        }
    elif tensor.is_mkldnn:
        return Bits(text, (_run(plain.to_dense()),))  # another memory layout of a dense tensor
    else:
        return Bits(f"{kind} {text}", readable=False)
    return _joined(f"{kind} {text}", inside)
