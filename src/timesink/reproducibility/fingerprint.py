"""Exact fingerprints of tensors and of anything that holds some.

Equal fingerprints mean equal bits: of NaNs and zeros too, in any memory layout and on any device.
Taking one never changes the value, its graph, a generator or the layout. A text that starts with
"shape" stands for something whose bits could not be read (meta, fake, lazy, freed tensors), one
that starts with "opaque" for an object that could not be opened: equality then says little.
"""

from __future__ import annotations

import sys
from typing import Any

from timesink.reproducibility.compress import digest, digests
from timesink.reproducibility.leaves import OPAQUE, leaves

SHAPE = "shape"


def fingerprint(value: Any) -> str:
    """One text for all of ``value``; 32 hexadecimal digits where everything could be read."""
    every = fingerprints(value)
    if set(every) == {""}:
        return every[""]
    parts = sorted(every.items())
    worst = next((p for p in (SHAPE, OPAQUE) if any(not is_exact(t, p) for _, t in parts)), "")
    return f"{worst} {_digest_of(repr(parts))}".lstrip()


def is_exact(text: str, prefix: str = "") -> bool:
    """Whether a fingerprint stands for every bit of what it was taken of."""
    return not text.startswith(prefix or (SHAPE, OPAQUE))


def fingerprints(value: Any, name: str = "") -> dict[str, str]:
    """Path → fingerprint of every tensor and plain value inside, in order of appearance.

    Tensors of at least 64 KiB are reduced where they are, the rest is copied to the host at once
    per device. A path that occurs twice gets " (2)" and so on.
    """
    found = list(leaves(value, name))
    if "torch" in sys.modules and any(not isinstance(leaf, (str, bytes)) for _, leaf in found):
        from timesink.reproducibility.quiet import quiet

        with quiet():
            texts = _texts([leaf for _, leaf in found])
    else:
        texts = [_text(leaf) for _, leaf in found]
    out: dict[str, str] = {}
    for (path, _), text in zip(found, texts, strict=True):
        unique, n = path, 1
        while unique in out:
            n += 1
            unique = f"{path} ({n})"
        out[unique] = text
    return out


def _text(leaf: str | bytes) -> str:
    if isinstance(leaf, bytes):
        return digest(leaf)
    return leaf if leaf.startswith(OPAQUE) else _digest_of(leaf)


def _digest_of(text: str) -> str:
    return digest(text.encode("utf-8", "surrogatepass"))


def _texts(found: list[Any]) -> list[str]:
    """The fingerprints of leaves, tensors among them."""
    from timesink.reproducibility.bits import bits

    known: list[Any] = [_text(f) if isinstance(f, (str, bytes)) else bits(f) for f in found]
    tensors = [b for b in known if not isinstance(b, str)]
    done = iter(digests([b.text for b in tensors], [b.runs for b in tensors]))
    out = []
    for item in known:
        if isinstance(item, str):
            out.append(item)
        else:
            exact = next(done)
            out.append(exact if item.readable else f"{SHAPE} {item.text}")
    return out
