"""The imports of Python programs."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spielleiter.match.packages import python_sources
from spielleiter.match.packages.inspection import inspect_package
from spielleiter.match.programs.contest_python import CONTEST_VERSION
from tests.match.packages.making import python


def findings(folder: Path, source: str, files: dict[str, bytes | str] | None = None) -> list[str]:
    """The findings about a program in Python, as code and file."""
    path = folder / "player.zip"
    path.write_bytes(python(source, files))
    return [f"{each.code} {each.file}" for each in inspect_package(path).findings]


@pytest.mark.parametrize(
    ("source", "files"),
    [
        ("import os.path, json\nfrom collections import abc", {}),
        ("from . import x\nfrom .y import z", {}),
        ("try:\n import numpy\nexcept ImportError: pass", {}),
        ("if x:\n import numpy", {}),
        ("import a.b.c", {"a/b/c.py": ""}),
        ("import a", {"a.cpython-311-x86_64-linux-gnu.so": "x"}),
        ("import sys\nsys.path.append('lib')\nimport numpy", {"lib/numpy/__init__.py": ""}),
        ("import numpy", {"venv/lib/site-packages/numpy/__init__.py": ""}),
        ("import numpy", {"wheels/numpy-2.0-cp312-cp312-manylinux_2_17_x86_64.whl": ""}),
        ("import a", {"a.py": "import b", "b.py": "import a"}),
        ("import subprocess\nsubprocess.run(['./missing'])\nsubprocess.run(name)\nx.run('./bot')", {"bot": "x"}),
    ],
)
def test_a_program_whose_imports_are_there_has_no_fault(
    source: str, files: dict[str, bytes | str], tmp_path: Path
) -> None:
    assert findings(tmp_path, source, files) == []


@pytest.mark.parametrize(
    ("source", "files", "found"),
    [
        ("import numpy\nimport numpy.linalg\nfrom numpy import x", {}, ["missing-module main.py"]),
        ("def f():\n import numpy", {}, ["missing-module main.py"]),
        ("import numpy, scipy", {}, ["missing-module main.py"] * 2),
        ("import a.b", {"a/b.py": "import numpy", "a/__init__.py": ""}, ["missing-module a/b.py"]),
        ("from a import b", {"a/b.py": "import c", "a/c.py": ""}, ["missing-module a/b.py"]),
        ("import a", {"a.py": "x = (", "b.py": "x = ("}, ["python-syntax a.py"]),
        ("import a", {"a.py": "import turtle"}, ["window a.py"]),
        ("import a", {"lib/a.py": ""}, ["missing-module main.py"]),
        ("import Book", {"book/__init__.py": ""}, ["module-spelling main.py"]),
        ("import lib.x", {"lib/x.py": "import Y", "lib/y.py": ""}, ["module-spelling lib/x.py"]),
    ],
)
def test_what_is_missing_is_found(source: str, files: dict[str, bytes | str], found: list[str], tmp_path: Path) -> None:
    assert findings(tmp_path, source, files) == found


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no other interpreter for packages")
@pytest.mark.parametrize("is_valid", [True, False, None])
def test_a_program_for_a_newer_python_is_read_by_that_of_the_contest(
    is_valid: bool | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is asked only if it is on this machine; otherwise the finding says which Python has read the program."""
    monkeypatch.setattr(python_sources, "_CONTEST", (99, 0))  # newer than the Python of this test
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setenv("HOME", str(tmp_path))
    if is_valid is not None:
        program = folder / f"python{CONTEST_VERSION}"
        known = json.dumps([f"{CONTEST_VERSION}.1", str(program), str(folder), True])
        program.write_text(f"#!/bin/sh\ncase $3 in *version*) echo '{known}';; *) exit {0 if is_valid else 1};; esac\n")
        program.chmod(0o755)
    path = tmp_path / "player.zip"
    path.write_bytes(python("import a", {"a.py": "x = ("}))
    found = inspect_package(path).findings
    assert [each.code for each in found] == ([] if is_valid else ["python-syntax"])
    own = ".".join(map(str, sys.version_info[:2]))
    version = own if is_valid is None else CONTEST_VERSION
    assert all(f"a.py is no valid program for Python {version} (line 1: " in each.text for each in found)


@pytest.mark.parametrize(
    ("files", "version"),
    [
        ({"wheels/numpy-2.0-cp312-cp312-manylinux_2_17_x86_64.whl": "", "wheels/x-1-py3-none-any.whl": ""}, "3.12"),
        ({"a.cpython-310-x86_64-linux-gnu.so": "x"}, "3.10"),
        ({"numpy-2.0-cp38-abi3-manylinux_2_17_x86_64.whl": ""}, ""),
        ({"a.cpython-310-x86_64-linux-gnu.so": "x", "b.cpython-312-x86_64-linux-gnu.so": "x"}, ""),
        ({"a.py": ""}, ""),
    ],
)
def test_the_version_of_compiled_modules_is_known(files: dict[str, bytes | str], version: str, tmp_path: Path) -> None:
    path = tmp_path / "player.zip"
    path.write_bytes(python("import a", files))
    assert inspect_package(path).python == version


def test_a_large_source_is_not_examined(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert findings(tmp_path, "import numpy") == ["missing-module main.py"]
    monkeypatch.setattr(python_sources, "_MAX_SOURCE", 20)
    assert findings(tmp_path, "import numpy") == []


@pytest.mark.parametrize("source", ["(" * 5000, "-" * 5000 + "1", "a\0b", "x" + "[0]" * 5000, "\\"])
def test_hostile_sources_are_no_problem(source: str, tmp_path: Path) -> None:
    assert isinstance(findings(tmp_path, "import a", {"a.py": source}), list)


@pytest.mark.slow
@given(
    st.lists(st.sampled_from(["import ", "a", ".", "from ", "(", "\n", " ", "'", "\\", "try:", "\0", "é", ":", "0"]))
)
def test_any_source_can_be_examined(pieces: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        assert isinstance(findings(Path(folder), "".join(pieces)), list)
