"""``timesink run torchrun … train.py``: what is meant is ``torchrun … -m timesink run train.py``.

The launcher itself has nothing to measure; its workers have. The command line is turned inside out
with torchrun's own parser, so that no option of it is misread.
"""

from __future__ import annotations

import sys
from pathlib import Path

from timesink.errors import BadUsage, MissingDependency

_MODULES = ("torch.distributed.run", "torch.distributed.launch")


def is_launcher(script: str, module: bool) -> bool:
    """Whether what is to be run is torchrun."""
    return script in _MODULES if module else Path(script).name == "torchrun"


def inside_out(arguments: list[str], own: list[str]) -> list[str]:
    """The command that runs torchrun with every worker under ``timesink run``.

    ``arguments``: torchrun's, with the script and its own; ``own``: options of ``timesink run``.
    Raises ``BadUsage`` where torchrun is told to run something that is not Python.
    """
    try:
        from torch.distributed.run import parse_args
    except ImportError as error:
        raise MissingDependency("torchrun needs torch.", "pip install 'timesink[torch]'") from error
    parsed = parse_args(arguments)
    if parsed.no_python:
        raise BadUsage("torchrun --no-python runs a program that is not Python.", "Leave it out.")
    place = len(arguments) - len(parsed.training_script_args) - 1
    before = [a for a in arguments[:place] if a not in ("-m", "--module")]
    module = ["-m"] if parsed.module else []
    worker = ["-m", "timesink", "run", *own, *module, *arguments[place:]]
    return [sys.executable, "-m", "torch.distributed.run", *before, *worker]
