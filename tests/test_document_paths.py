"""The files, modules, classes and tests that the documents name exist.

Invariants: a path is complete, or exactly one file of the project ends with it, so that a reader finds that file. Code
blocks are not checked here, since other tests run them, except for the drawing at the beginning of CONTRIBUTING.
"""

from __future__ import annotations

import ast
import pkgutil
import re
from functools import cache
from pathlib import Path

import pytest

from tests.documents import ROOT, blocks, read

DOCUMENTS = sorted(path.relative_to(ROOT).as_posix() for path in (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")))
FOLDERS = {path.parent.name for path in ROOT.glob("*/__init__.py")} | {
    *("docker", "docs", "examples", "requirements", "src", "tests")
}
"""The folders at the top of the repository whose files documents name."""

OF_THE_READER = {
    *(".py", "bot.py", "tool.py", "tiny.py"),
    *("my_player.py", "mein_spieler.py", "spieler.py", "neu.py", "Zug.py", "zug.py"),
    *("client.py", "game.py", "logic.py", "server.py", "match.py", "random.py", "__init__.py"),
}
"""Files that a reader writes, or that only serve as examples."""
ADDED_BY_THE_PAGE = re.compile(r"tic_tac_toe|(?<=[/_])nim(?=[/._])")
"""Part of the name of each file that docs/adding-a-game.md adds."""

PATH = re.compile(r"(?<![\w./:])[\w.-]+(?:/[\w.-]+)*/?(?:::\w+)?")
MODULE = re.compile(r"(?<![\w./])spielleiter(?:\.[A-Za-z_]\w*)+(?![\w/-])")
CLASS = re.compile(r"([A-Z][a-z]\w*)(?:\.(\w+))?")


def marked(document: str) -> list[str]:
    """The texts in backticks, outside of code blocks, in order."""
    text = re.sub(r"^```.*?^```$", "", read(document), flags=re.MULTILINE | re.DOTALL)
    return [" ".join(found.split()) for found in re.findall(r"`([^`]+)`", text)]


@cache
def python_files() -> list[str]:
    return [
        path.relative_to(ROOT).as_posix()
        for folder in FOLDERS - {"src"}
        for path in (ROOT / folder).rglob("*.py")
        if "__pycache__" not in path.parts
    ]


@cache
def names_in(path: Path) -> dict[str, set[str]]:
    """The names that a file defines at its top, each with the names in its body if it is a class."""
    found: dict[str, set[str]] = {}
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            found[node.name] = set()
        elif isinstance(node, ast.ClassDef):
            found[node.name] = {name for inner in node.body for name in _defined(inner)}
    return found


def _defined(node: ast.stmt) -> list[str]:
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            return [name]
        case ast.AnnAssign(target=ast.Name(id=name)):
            return [name]
        case ast.Assign(targets=targets):
            return [target.id for target in targets if isinstance(target, ast.Name)]
    return []


def problem_with_path(path: str) -> str | None:
    """Why a reader cannot find this file; None if it can be found, or if the text is no path of this project."""
    name, _, test = path.partition("::")
    first, *rest = name.split("/")
    if ADDED_BY_THE_PAGE.search(name) or name in OF_THE_READER:
        return None
    if not name.endswith(".py"):
        is_ours = bool(rest) and first in FOLDERS
        is_there = (ROOT / name).exists() or (ROOT / "tests" / name).exists()
        return "does not exist" if is_ours and not is_there else None
    files = [name] if (ROOT / name).is_file() else [file for file in python_files() if file.endswith(f"/{name}")]
    if len(files) != 1:
        return f"could be any of {sorted(files)}" if files else "does not exist"
    return f"has no {test}" if test and test not in names_in(ROOT / files[0]) else None


@pytest.mark.parametrize("document", DOCUMENTS)
def test_paths_in_documents_lead_to_one_file(document: str) -> None:
    paths = {found for text in marked(document) for found in PATH.findall(text)}
    assert {path: problem for path in sorted(paths) if (problem := problem_with_path(path))} == {}


def test_the_way_of_a_move_leads_through_files_that_exist() -> None:
    (drawing,) = blocks("CONTRIBUTING.md", "text", "The way of one move")
    paths = [found for found in PATH.findall(drawing.text) if "/" in found]
    assert len(paths) > 15
    assert {path: problem for path in paths if (problem := problem_with_path(path))} == {}


@pytest.mark.parametrize("document", DOCUMENTS)
def test_modules_in_documents_can_be_imported(document: str) -> None:
    missing = []
    for name in sorted({found for text in marked(document) for found in MODULE.findall(text)}):
        try:
            pkgutil.resolve_name(name)
        except (ImportError, AttributeError):
            missing.append(name)
    assert missing == []


def test_classes_in_contributing_have_the_members_it_names() -> None:
    classes: dict[str, set[str]] = {}
    for file in python_files():
        if not file.startswith("tests/"):
            for name, members in names_in(ROOT / file).items():
                classes.setdefault(name, set()).update(members)
    named = [found for text in marked("CONTRIBUTING.md") if (found := CLASS.fullmatch(text))]
    assert len(named) > 10
    assert [each[0] for each in named if each[1] not in classes or (each[2] and each[2] not in classes[each[1]])] == []


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        ("server/core/room.py", None),
        ("server/core/", None),
        ("tests/test_document_paths.py::test_wrong_paths_are_found", None),
        ("core/room.py", None),
        ("test_document_paths.py::test_nothing", "has no test_nothing"),
        ("server/core/chair.py", "does not exist"),
        ("docs/none.md", "does not exist"),
        ("server/rooms", "does not exist"),
        ("config.py", None),
        ("errors.py", "could be any of"),
        ("and/or", None),
    ],
)
def test_wrong_paths_are_found(path: str, problem: str | None) -> None:
    found = problem_with_path(path)
    assert (found is None) == (problem is None)
    assert (found or "").startswith(problem or "")
