"""Numbers for people: times, counts, bytes, shares; and text that cannot harm a terminal."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

UNKNOWN = "unknown"


def time(ns: float | None) -> str:
    """``1.23 ms``; three significant digits; None is unknown."""
    if ns is None:
        return UNKNOWN
    for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if abs(ns) >= size:
            return f"{_three(ns / size)} {unit}"
    return f"{ns:.0f} ns"


def _three(value: float) -> str:
    digits = 2 if abs(value) < 9.995 else 1 if abs(value) < 99.95 else 0
    return f"{value:,.{digits}f}"


def size(count: float | None) -> str:
    """Bytes in binary units: ``1.50 GiB``."""
    if count is None:
        return UNKNOWN
    for unit, power in (("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10)):
        if abs(count) >= 1 << power:
            return f"{_three(count / (1 << power))} {unit}"
    return f"{count:.0f} B"


def share(value: float | None) -> str:
    """A share in percent: never ``0 %`` or ``100 %`` unless it is exactly that."""
    if value is None:
        return UNKNOWN
    percent = 100 * value
    if 0 < percent < 0.1:
        return "<0.1 %"
    if 99.9 < percent < 100:
        return ">99.9 %"
    return f"{percent:.1f} %" if percent < 99.95 or percent > 100 else "100 %"


def number(value: float | None) -> str:
    """A count with thousands separated."""
    if value is None:
        return UNKNOWN
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.1f}"


def clean(text: str) -> str:
    """Text without control characters, terminal escapes, bidi tricks and lone surrogates.

    They are shown escaped (``\\x1b``), so that a damaged name stays visible but does nothing.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(c if _harmless(c) else _escaped(c) for c in text)


def _harmless(c: str) -> bool:
    return c == " " or unicodedata.category(c) not in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")


def _escaped(c: str) -> str:
    code = ord(c)
    return (
        f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}" if code < 65536 else f"\\U{code:08x}"
    )


def middle(text: str, width: int) -> str:
    """A long name shortened in the middle: C++ kernels differ at both ends."""
    if len(text) <= width:
        return text
    if width < 5:
        return text[:width]
    tail = (width - 1) // 3
    return f"{text[: width - 1 - tail]}…{text[-tail:]}"


def distinct(texts: Sequence[str], width: int) -> list[str]:
    """Texts shortened to ``width`` so that different ones stay different.

    Where two would look alike, the part from their first difference on is shown instead.
    """
    short = [middle(t, width) for t in texts]
    groups: dict[str, set[str]] = {}
    for text, cut in zip(texts, short, strict=True):
        groups.setdefault(cut, set()).add(text)
    return [
        cut if len(groups[cut]) == 1 else _from_difference(text, groups[cut], width)
        for text, cut in zip(texts, short, strict=True)
    ]


def _from_difference(text: str, group: set[str], width: int) -> str:
    """The head of the text, then what follows the part that all of the group share."""
    columns = enumerate(zip(*group, strict=False))
    common = next((i for i, column in columns if len(set(column)) > 1), min(map(len, group)))
    lead = max(1, min(width // 3, common))
    room = max(1, width - lead - 1)
    tail = text[max(lead, common - 2) :]
    return f"{text[:lead]}…{middle(tail, room)}"


def shares(values: Sequence[float]) -> list[str]:
    """Shares of one whole, rounded to tenths of a percent so that they add up to 100 %.

    The largest remainders are rounded up. As with one share, ``0 %`` and ``100 %`` are only said
    where they are exact: a small part reads ``<0.1 %`` and a part beside it at most ``>99.9 %``.
    """
    if abs(sum(values) - 1) > 1e-6:
        return [share(v) for v in values]
    tenths = [int(1000 * v) for v in values]
    order = sorted(range(len(values)), key=lambda i: tenths[i] - 1000 * values[i])
    for i in order[: 1000 - sum(tenths)]:
        tenths[i] += 1
    return [_tenths(t, v) for t, v in zip(tenths, values, strict=True)]


def _tenths(tenths: int, value: float) -> str:
    if tenths == 0 and value > 0:
        return "<0.1 %"
    if tenths == 1000:
        return "100 %" if value >= 1 else ">99.9 %"
    return f"{tenths / 10:.1f} %"


#: What stands for characters that a terminal without UTF-8 cannot show.
_ASCII = {"µ": "u", "…": "...", "·": "|", "×": "x", "–": "-", "—": "-", "±": "+-", "≥": ">=",
          "≤": "<=", "→": "->", "’": "'", "“": '"', "”": '"', "\xa0": " "}  # fmt: skip


def ascii_only(text: str) -> str:
    """Text in ASCII: near letters where there are some, else the code point."""
    return "".join(c if c.isascii() else _ASCII.get(c) or _escaped(c) for c in text)
