"""The import table of docs/architecture.md, enforced: a room imports only what it may."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SRC = Path(__file__).parents[1] / "src" / "timesink"

#: room → (rooms of ours it may import, third-party packages it may import)
ALLOWED: dict[str, tuple[set[str], set[str]]] = {
    "errors": (set(), set()),
    "model": ({"model"}, set()),
    "reproducibility": ({"model", "errors", "reproducibility"}, {"torch", "numpy"}),
    "capture": (
        {"model", "errors", "reproducibility", "capture"},
        {"torch"},
    ),
    "store": ({"model", "errors", "store"}, {"polars", "numpy", "msgspec", "isal"}),
    "analyses": (
        {"model", "errors", "store.schema", "store.snapshot_schema", "analyses"},
        {"polars", "numpy", "msgspec"},
    ),
    "diagnoses": ({"model", "errors", "diagnoses"}, set()),
    "experiments": (
        {"model", "errors", "reproducibility", "capture", "experiments"},
        {"numpy", "torch"},
    ),
    "reports": ({"model", "errors", "reports"}, {"rich", "jinja2", "markupsafe"}),
    "cli": ({"api", "model", "errors", "reports", "cli"}, {"typer", "click", "rich"}),
}
#: ``api`` wires the rooms: everything but the command line.
ALLOWED["api"] = (
    set(ALLOWED) - {"cli"} | {"api"},
    {"polars", "numpy", "rich", "pandas"},
)
STDLIB_ONLY = {"__init__", "__main__"}


def imports(path: Path) -> Iterator[tuple[str, int]]:
    """Every module named in an import statement anywhere in the file (lazy ones included)."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, node.lineno
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: relative import"
            yield from ((f"{node.module}.{a.name}", node.lineno) for a in node.names)


def room_of(path: Path) -> str:
    parts = path.relative_to(SRC).parts
    return parts[0].removesuffix(".py")


FILES = sorted(SRC.rglob("*.py"))


def test_there_are_files() -> None:
    assert len(FILES) > 30


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SRC)))
def test_imports_follow_the_table(path: Path) -> None:
    import sys

    room = room_of(path)
    if room in STDLIB_ONLY:
        return
    ours, third = ALLOWED[room]
    for name, line in imports(path):
        head, _, rest = name.partition(".")
        if head == "timesink":
            allowed = any(rest == a or rest.startswith(a + ".") for a in ours)
            version = rest == "__version__"
            assert allowed or version, f"{path}:{line}: {room} must not import {name}"
        elif head not in sys.stdlib_module_names and head != "__future__":
            assert head in third, f"{path}:{line}: {room} must not import {head}"


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SRC)))
def test_files_stay_small(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= 300, f"{path} has grown past 300 lines"


def test_every_module_says_what_it_is_for() -> None:
    silent = [p for p in FILES if not ast.get_docstring(ast.parse(p.read_text()))]
    assert not silent
