"""No module of the package imports itself, neither directly nor through others.

Imports inside functions and under TYPE_CHECKING count as well: they show the same dependency between two modules. A
package's `__init__.py` is a module of its own. Importing `a.b` does not count as a dependency on `a`, although Python
runs `a/__init__.py` first.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from importlib.util import resolve_name
from pathlib import Path

import pytest

import spielleiter

SOURCE = Path(spielleiter.__file__).parent

Graph = Mapping[str, set[str]]


def python_files(source: Path) -> Iterator[Path]:
    """Yield the modules of a package; follows links, since the folders of an editable install are links."""
    for folder, _, names in os.walk(source, followlinks=True):
        yield from (Path(folder, name) for name in names if name.endswith(".py"))


def module_name(path: Path, source: Path) -> str:
    parts = path.relative_to(source.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported_names(tree: ast.Module, package: str) -> Iterator[str]:
    """Yield the absolute names that a module of `package` imports anywhere; those of `from a import b` as `a.b`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = resolve_name("." * node.level + (node.module or ""), package)
            yield from (f"{base}.{alias.name}" for alias in node.names)


def import_graph(source: Path) -> Graph:
    """Return the modules that each module of the package at `source` imports."""
    paths = {module_name(path, source): path for path in python_files(source)}
    graph: dict[str, set[str]] = {}
    for module, path in paths.items():
        imported = graph[module] = set()
        package = module if path.name == "__init__.py" else module.rpartition(".")[0]
        for name in imported_names(ast.parse(path.read_bytes()), package):
            target = name if name in paths else name.rpartition(".")[0]
            if target in paths:
                imported.add(target)
    return graph


def cycle_in(graph: Graph) -> list[str]:
    """Return the modules of one import cycle, the first one repeated at the end; empty if there is none."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


@pytest.mark.slow
def test_there_is_no_import_cycle() -> None:
    graph = import_graph(SOURCE)
    assert "spielleiter.server.core.lobby" in graph["spielleiter.server.core.dispatch"], "the graph is complete"
    assert len(graph) > 200
    assert cycle_in(graph) == []


@pytest.mark.parametrize(
    "text",
    [
        "import package.b",
        "from package import b",
        "from package.b import x",
        "from . import b",
        "from .b import x",
        "def f():\n    from package.b import x",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from package.b import x",
    ],
)
def test_every_kind_of_import_counts(tmp_path: Path, text: str) -> None:
    package = tmp_path / "package"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "a.py").write_text(text)
    (package / "b.py").write_text("import json")
    assert cycle_in(import_graph(package)) == []
    (package / "b.py").write_text("import package.a")
    assert set(cycle_in(import_graph(package))) == {"package.a", "package.b"}
