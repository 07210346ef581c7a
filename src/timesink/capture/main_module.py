"""Runs a script or module as the real ``__main__``, as ``python script.py`` would.

``sys.modules["__main__"]`` is a fresh module with the script's ``__file__``; ``sys.argv`` and
``sys.path[0]`` are the script's; pickling of its functions works, and so do processes started by
multiprocessing, which import ``__main__`` by its file or its spec.
"""

from __future__ import annotations

import builtins
import importlib.util
import io
import sys
import types
from importlib.machinery import SourceFileLoader
from pathlib import Path
from typing import Any

from timesink.errors import BadUsage


def run_script(path: str, argv: tuple[str, ...]) -> None:
    """Run a file. Raises whatever it raises."""
    name = str(Path(path).absolute())
    with io.open_code(name) as file:
        source = file.read()
    main = _fresh(name)
    main.__loader__ = SourceFileLoader("__main__", name)
    sys.argv = [path, *argv]
    _first_on_path(Path(path).resolve().parent)
    # dont_inherit: this file's own __future__ imports are not the script's.
    exec(compile(source, name, "exec", dont_inherit=True), main.__dict__)


def run_module(name: str, argv: tuple[str, ...]) -> None:
    """Run a module or package, as ``python -m name`` would."""
    _first_on_path(Path.cwd())
    spec = _main_spec(name)
    assert spec.loader is not None
    code = spec.loader.get_code(spec.name)
    if code is None:
        raise BadUsage(f"{name} has no code to run.", "Name a module written in Python.")
    main = _fresh(spec.origin or name)
    main.__spec__ = spec
    main.__package__ = spec.parent
    main.__loader__ = spec.loader
    sys.argv = [spec.origin or name, *argv]
    exec(code, main.__dict__)


def _first_on_path(folder: Path) -> None:
    """What Python puts first; nothing under ``-P``. The child has started without any."""
    if not getattr(sys.flags, "safe_path", False):
        sys.path.insert(0, str(folder))


def _main_spec(name: str) -> Any:
    try:
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.submodule_search_locations is not None:
            spec = importlib.util.find_spec(f"{name}.__main__")
    except (ImportError, ValueError) as error:
        raise BadUsage(f"There is no module {name} ({error}).", "Check the name.") from error
    if spec is None:
        raise BadUsage(f"There is no module {name} that can be run.", "Check the name.")
    return spec


def _fresh(file: str) -> types.ModuleType:
    main = types.ModuleType("__main__")
    names = main.__dict__
    names["__file__"] = str(Path(file).absolute())
    names["__builtins__"] = builtins
    names["__cached__"] = None
    if sys.version_info < (3, 14):
        names["__annotations__"] = {}
    sys.modules["__main__"] = main
    return main
