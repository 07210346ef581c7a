"""One colour per owner, shared by all charts: told apart with any common colour blindness.

Based on the palette of Okabe and Ito (2008); related owners are shades of one hue.
"""

from __future__ import annotations

#: (light background, dark background)
COLOURS: dict[str, tuple[str, str]] = {
    "device compute": ("#00795c", "#2fbf98"),
    "exposed communication": ("#cc6799", "#e39ac0"),
    "exposed copies": ("#8a4a72", "#bb7fa6"),
    "data loading": ("#d55e00", "#ff8a3d"),
    "synchronisation wait": ("#b58900", "#e8c547"),
    "runtime/launch": ("#8c6d1f", "#c2a14a"),
    "optimizer": ("#7b5ea7", "#b39ddb"),
    "forward operators": ("#0072b2", "#4aa8e0"),
    "backward operators": ("#4a90c2", "#8cc8ef"),
    "garbage collection": ("#a33b20", "#e07a5f"),
    "checkpoint/IO": ("#6b5b53", "#a89890"),
    "other Python": ("#8a8f98", "#9aa1ab"),
    "forward": ("#0072b2", "#4aa8e0"),
    "backward": ("#4a90c2", "#8cc8ef"),
    "allocated": ("#0072b2", "#4aa8e0"),
    "before": ("#d55e00", "#ff8a3d"),
    "after": ("#0072b2", "#4aa8e0"),
    "reserved": ("#d55e00", "#ff8a3d"),
    "parameters": ("#00795c", "#2fbf98"),
    "gradients": ("#cc6799", "#e39ac0"),
    "optimizer state": ("#7b5ea7", "#b39ddb"),
    "activations": ("#0072b2", "#4aa8e0"),
    "inputs": ("#d55e00", "#ff8a3d"),
    "temporaries": ("#b58900", "#e8c547"),
    "before recording": ("#6b5b53", "#a89890"),
    "unknown": ("#8a8f98", "#9aa1ab"),
    "live": ("#0072b2", "#4aa8e0"),
    "free": ("#8a8f98", "#9aa1ab"),
}

#: The same for terminals, from the 16 colours that people choose themselves.
TERMINAL: dict[str, str] = {
    "device compute": "green",
    "exposed communication": "magenta",
    "exposed copies": "bright_magenta",
    "data loading": "red",
    "synchronisation wait": "yellow",
    "runtime/launch": "bright_yellow",
    "optimizer": "bright_blue",
    "forward operators": "blue",
    "backward operators": "cyan",
    "garbage collection": "bright_red",
    "checkpoint/IO": "bright_green",
    "other Python": "bright_black",
}


def slug(label: str) -> str:
    """The name of a label's colour in style sheets: ``c-data-loading``."""
    return "c-" + "".join(c if c.isalnum() else "-" for c in label.lower())
