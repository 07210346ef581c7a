"""``env:NAME=VALUE``: an environment variable that the script is started with."""

from __future__ import annotations

import os
import re

from timesink.errors import BadUsage
from timesink.experiments.interventions.base import Kind, Recorder

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


def check(value: str) -> str:
    """``NAME=VALUE``."""
    name, equals, content = value.partition("=")
    if not equals or not _NAME.match(name) or "\0" in content:
        raise BadUsage(
            f"env:{value} does not set a variable.",
            "Write env:NAME=VALUE, e.g. env:OMP_NUM_THREADS=4.",
        )
    return value


def variables(value: str) -> dict[str, str]:
    """The variable."""
    name, _, content = value.partition("=")
    return {name: content}


def install(value: str, recorder: Recorder) -> None:
    """It was set before the process started; say whether it still is."""
    name, _, content = value.partition("=")
    if os.environ.get(name) == content:
        recorder.unknowable(f"{name} is set (whether anything reads it cannot be seen)")
    else:
        recorder.left(f"the script itself sets {name} to {os.environ.get(name)!r}")


KIND = Kind(
    name="env",
    takes="NAME=VALUE",
    summary="an environment variable, such as an allocator's settings",
    nothing="there was nothing to change",
    may_change="Whatever the variable changes.",
    numerics="rounding",
    code="export {value}",
    install=install,
    check=check,
    variables=variables,
)
