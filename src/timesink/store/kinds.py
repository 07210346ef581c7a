"""What a row is: from the category, for every generation of Kineto and every vendor.

Categories decide; names are looked at only where a writer put several kinds under one category
(Kineto before 2022 put annotations under ``Operator``) or wrote no category at all.
"""

from __future__ import annotations

from timesink.store.schema import Kind

_EXACT = {
    "cpu_op": Kind.CPU_OP,
    "Operator": Kind.CPU_OP,
    "operator": Kind.CPU_OP,
    "user_annotation": Kind.USER_ANNOTATION,
    "gpu_user_annotation": Kind.DEVICE_ANNOTATION,
    "python_function": Kind.PYTHON,
    "kernel": Kind.KERNEL,
    "Kernel": Kind.KERNEL,
    "gpu_memcpy": Kind.MEMCPY,
    "Memcpy": Kind.MEMCPY,
    "mlu_memcpy": Kind.MEMCPY,
    "xpu_memcpy": Kind.MEMCPY,
    "privateuse1_memcpy": Kind.MEMCPY,
    "gpu_memset": Kind.MEMSET,
    "Memset": Kind.MEMSET,
    "mlu_memset": Kind.MEMSET,
    "mtia_ccp_events": Kind.KERNEL,
    "concurrent_kernel": Kind.KERNEL,
    "Runtime": Kind.RUNTIME,
    "enqueue": Kind.RUNTIME,
    "dequeue": Kind.RUNTIME,
    "cuda_driver": Kind.DRIVER,
    "Driver": Kind.DRIVER,
    "cuda_sync": Kind.SYNC,
    "overhead": Kind.OVERHEAD,
    "Trace": Kind.SPAN,
    "Python GC": Kind.GC,
    "python_gc": Kind.GC,
}
_SUFFIXES = (
    ("_runtime", Kind.RUNTIME),
    ("_driver", Kind.DRIVER),
    ("_memcpy", Kind.MEMCPY),
    ("_memset", Kind.MEMSET),
    ("_user_annotation", Kind.DEVICE_ANNOTATION),
)
_ANNOTATIONS = ("ProfilerStep#", "enumerate(DataLoader)#", "Optimizer.step#",
                "Optimizer.zero_grad#", "timesink::")  # fmt: skip


def kind_of_category(category: str) -> Kind:
    """The kind of a category as spelt in the file; ``OTHER`` for one that is not known."""
    known = _EXACT.get(category)
    if known is not None:
        return known
    for suffix, kind in _SUFFIXES:
        if category.endswith(suffix):
            return kind
    return Kind.OTHER


def is_annotation(name: str) -> bool:
    """Whether a row under an operator category is one of torch's own annotations."""
    return name.startswith(_ANNOTATIONS)


def kind_of_device_row(name: str) -> Kind:
    """Kernel, copy or set, for rows on a device track that carry no category."""
    lowered = name.lower()
    if "memcpy" in lowered:
        return Kind.MEMCPY
    return Kind.MEMSET if "memset" in lowered else Kind.KERNEL
