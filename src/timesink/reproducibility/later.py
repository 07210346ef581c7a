"""Seeds a library at the moment it is imported, where it is seeded before that.

``capture.importhook`` does the same for hooks; this room may not import that one.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any


def when_imported(name: str, call: Callable[[], None]) -> None:
    """Call right after the import of ``name``; a later request for it replaces an earlier one."""
    sys.meta_path[:] = [
        f for f in sys.meta_path if not (isinstance(f, _Waiting) and f.name == name)
    ]
    sys.meta_path.insert(0, _Waiting(name, call))


class _Waiting(MetaPathFinder):
    def __init__(self, name: str, call: Callable[[], None]) -> None:
        self.name = name
        self._call = call

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != self.name:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(fullname)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader, self._call)
        return spec


class _Loader(Loader):
    """The real loader, with a call when it is done; everything else is the real loader's."""

    def __init__(self, loader: Any, call: Callable[[], None]) -> None:
        self._loader = loader
        self._call = call

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        module: ModuleType | None = self._loader.create_module(spec)
        return module

    def exec_module(self, module: ModuleType) -> None:
        # The module keeps its real loader: some libraries look at it.
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        module.__loader__ = self._loader
        self._loader.exec_module(module)
        self._call()
