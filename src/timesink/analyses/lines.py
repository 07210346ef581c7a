"""The Python line, stack and module behind host rows, where the trace has them.

Two sources: ``python_function`` rows (``with_stack=True`` since torch 1.12) and the older
"Call stack" text of an operator (frames innermost first, joined by ``;``). A frame reads
``path/file.py(31): function``; torch strips the prefixes of ``sys.path`` and site-packages from
the path, so that a library is recognised by the first part of its path.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from timesink.analyses.scope import Bools, Ints, column, combine, per_name
from timesink.analyses.tree import nearest
from timesink.store.schema import Kind

if TYPE_CHECKING:
    from timesink.analyses.prepare import Prepared

#: How many user frames the stack of an operator shows.
STACK_FRAMES = 5
_FRAME = re.compile(r"(?P<path>.+?)\((?P<line>\d+)\): .")
_FOREIGN = re.compile(r"[/\\](site-packages|dist-packages|lib[/\\]python\d[\d.]*)[/\\]")
_LIBRARIES = frozenset({
    "torch", "torchvision", "torchaudio", "torchtext", "torchmetrics", "torchdata",
    "functorch", "triton", "numpy", "scipy", "pandas", "sklearn", "PIL", "cv2",
    "matplotlib", "transformers", "accelerate", "datasets", "tokenizers", "peft", "trl",
    "diffusers", "lightning", "lightning_fabric", "lightning_utilities",
    "pytorch_lightning", "deepspeed", "fairscale", "timm", "tqdm", "einops", "tensorboard",
    "wandb", "mlflow", "ray", "apex", "xformers", "flash_attn", "fsspec", "requests",
    "urllib3", "ignite", "fastai", "hydra", "omegaconf", "IPython", "ipykernel",
    "traitlets", "tornado", "debugpy", "safetensors", "huggingface_hub", "sympy",
    "networkx", "click", "typer", "rich", "psutil", "msgspec", "timesink",
})  # fmt: skip
#: Modules of the standard library that scripts are often named after.
_SCRIPT_NAMES = frozenset({"profile", "trace", "code", "cmd", "timeit", "main", "test", "this"})
_STDLIB = frozenset(sys.stdlib_module_names) - _SCRIPT_NAMES
_MODULE = "nn.Module: "


def is_user_frame(name: str) -> bool:
    """Whether a frame is the user's own code: not torch, a known library, Python or a builtin."""
    match = _FRAME.match(name)
    if match is None or name.startswith("<"):
        return False
    path = match["path"].replace("\\", "/")
    if _FOREIGN.search(path):
        return False
    top = path.split("/")[0].removesuffix(".py")
    return top not in _LIBRARIES and top not in _STDLIB and "/timesink/" not in path


def line_of_stack(stack: str) -> str:
    """The innermost user frame of an old "Call stack" text, "" if there is none."""
    frames = (frame.strip() for frame in re.split(r";|\n", stack))
    return next((frame for frame in frames if is_user_frame(frame)), "")


@dataclass(frozen=True, slots=True)
class Texts:
    """A text per host row: ``texts[codes[row]]``; code 0 is "" (not known)."""

    codes: Ints
    texts: tuple[str, ...]

    def __getitem__(self, row: int) -> str:
        return self.texts[self.codes[row]] if row >= 0 else ""


def user_line(p: Prepared, row: int) -> str:
    """The innermost line of user code around one host row ("train.py(31): step"), "" if unknown."""
    if row < 0:
        return ""
    host, text = p.host, p.tables.text
    frame = row if host["kind"][row] == Kind.PYTHON else int(host["py"][row])
    while frame >= 0:
        name = text(host["name"][frame])
        if is_user_frame(name):
            return name
        frame = int(host["parent"][frame])
    op = int(host["op"][row])
    stack = host["stack"][row] or (host["stack"][op] if op >= 0 else 0)
    return line_of_stack(text(stack)) if stack else ""


def line_at(p: Prepared, track: int, start: int, end: int, row: int = -1) -> str:
    """The line of user code that a thread was in during ``[start, end)`` ns, "" if unknown.

    The innermost frame that was open for at least half of that time, else the line around ``row``.
    """
    tracks, ts = (p.host[c].to_numpy() for c in ("track", "ts"))
    low, high = (int(i) for i in np.searchsorted(tracks, [track, track + 1]))
    high = low + int(np.searchsorted(ts[low:high], end))
    ends = p.host["end"].to_numpy()[low:high]
    shared = np.minimum(ends, end) - np.maximum(ts[low:high], start)
    python = p.host["kind"].to_numpy()[low:high] == Kind.PYTHON
    found = low + np.flatnonzero(python & (2 * shared >= end - start) & (shared > 0))
    for frame in found[::-1].tolist():  # the later a frame began, the further in it is
        name = p.tables.text(p.host["name"][frame])
        if is_user_frame(name):
            return name
    return user_line(p, row)


def user_lines(p: Prepared) -> Texts:
    """The innermost line of user code around every host row."""
    frame = _around(p, _frames_like(p, is_user_frame))
    names = np.where(frame >= 0, column(p.host, "name")[frame], 0) if p.host.height else frame
    old = np.where(names == 0, _stack_codes(p), 0)
    new_codes, new_texts = _recode(p, names)
    old_codes, old_texts = _recode(p, old, line_of_stack)
    codes = np.where(old_codes > 0, old_codes + len(new_texts) - 1, new_codes)
    return Texts(codes, new_texts + old_texts[1:])


def stacks(p: Prepared) -> Texts:
    """Up to ``STACK_FRAMES`` user frames around each host row, innermost first, joined by ``;``."""
    wanted = _frames_like(p, is_user_frame)
    if not wanted.any():
        return Texts(*_recode(p, _stack_codes(p)))
    name, parent = column(p.host, "name"), column(p.host, "parent")
    above = nearest(wanted, np.where(column(p.host, "kind") == Kind.PYTHON, parent, -1))
    frame, frames = _around(p, wanted), []
    for _ in range(STACK_FRAMES):
        frames.append(np.where(frame >= 0, name[frame], 0))
        outer = np.where(frame >= 0, parent[frame], -1)
        frame = np.where(outer >= 0, above[outer], -1)
    _, first, codes = np.unique(combine(*frames), return_index=True, return_inverse=True)
    paths = np.stack(frames, axis=1)[first]
    texts = (";".join(p.tables.text(int(c)) for c in path if c) for path in paths)
    return Texts(codes.reshape(-1) + 1, ("", *texts))


def modules(p: Prepared) -> Texts:
    """The innermost ``nn.Module`` around every host row, or its "Module Hierarchy" text."""
    frame = _around(p, _frames_like(p, lambda name: name.startswith(_MODULE)))
    if not (frame >= 0).any():
        return Texts(*_recode(p, column(p.host, "module")))
    names = np.where(frame >= 0, column(p.host, "name")[frame], 0)
    return Texts(*_recode(p, names, lambda name: name.removeprefix(_MODULE)))


def _frames_like(p: Prepared, accept: Callable[[str], bool]) -> Bools:
    """Per host row: is it a PYTHON row whose name is accepted?"""
    python = column(p.host, "kind") == Kind.PYTHON
    wanted = np.zeros(len(python), bool)
    wanted[python] = per_name(p, column(p.host, "name")[python], accept)
    return wanted


def _around(p: Prepared, wanted: Bools) -> Ints:
    """Per host row: the innermost wanted PYTHON row around it (or itself), -1 if there is none."""
    none = np.full(len(wanted), -1)
    if not wanted.any():
        return none
    python = column(p.host, "kind") == Kind.PYTHON
    found = nearest(wanted, np.where(python, column(p.host, "parent"), -1))
    start = np.where(python, np.arange(len(python)), column(p.host, "py"))
    return np.where(start >= 0, found[start], none)


def _stack_codes(p: Prepared) -> Ints:
    """The "Call stack" code of each row, or that of the operator around it."""
    own, op = column(p.host, "stack"), column(p.host, "op")
    return np.where((own == 0) & (op >= 0), own[op], own) if len(own) else own


def _recode(
    p: Prepared, codes: Ints, change: Callable[[str], str] = lambda text: text
) -> tuple[Ints, tuple[str, ...]]:
    """Dense codes for changed texts, 0 staying ""."""
    known: dict[str, int] = {"": 0}
    dense = per_name(p, codes, lambda text: known.setdefault(change(text), len(known)))
    return dense.astype(np.int64), tuple(known)
