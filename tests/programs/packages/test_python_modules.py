"""The Python modules of a package: what is not there, and what the contest's Python refuses."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spielleiter.programs.packages.archive import open_archive
from spielleiter.programs.packages.main_file import read_main
from spielleiter.programs.packages.python_modules import import_findings
from tests.programs.packages.making import BOT, codes, inspected, python, shell, zipped

HERE = f"{sys.version_info[0]}.{sys.version_info[1]}"
PATTERN = "match 1:\n    case 1: pass"


def codes_and_files(folder: Path, content: bytes) -> list[str]:
    return [f"{each.code} {each.file}" for each in inspected(folder, content).findings]


@pytest.mark.parametrize(
    ("source", "files", "found"),
    [
        ("import os.path, json\nfrom collections import abc", {}, []),
        ("from . import x\nfrom .y import z", {}, []),
        ("try:\n import numpy\nexcept ImportError: pass", {}, []),
        ("if x:\n import numpy", {}, []),
        ("import a.b.c", {"a/b/c.py": ""}, []),
        ("import Book", {"book.py": ""}, []),
        ("import a", {"a.cpython-311-x86_64-linux-gnu.so": "x"}, []),
        ("import sys\nsys.path.append('lib')\nimport numpy", {"lib/numpy/__init__.py": ""}, []),
        ("import numpy", {"wheels/numpy-2.0-cp312-cp312-manylinux_2_17_x86_64.whl": ""}, []),
        ("import a", {"a.py": "import b", "b.py": "import a"}, []),
        ("import a", {"a.py": "x = (", "train.py": "import torch"}, []),
        ("import numpy\nimport numpy.linalg\nfrom numpy import x", {}, ["missing-module main.py"]),
        ("def f():\n import numpy", {}, ["missing-module main.py"]),
        ("import numpy, scipy", {}, ["missing-module main.py"] * 2),
        ("import a.b", {"a/b.py": "import numpy", "a/__init__.py": ""}, ["missing-module a/b.py"]),
        ("import a", {"a/__init__.py": "from .b import x", "a/b.py": "import c"}, ["missing-module a/b.py"]),
        ("import yaml", {"requirements.txt": "PyYAML"}, ["requirements-missing requirements.txt"]),
    ],
)
def test_what_a_program_imports_is_in_the_package(
    source: str, files: dict[str, bytes | str], found: list[str], tmp_path: Path
) -> None:
    assert codes_and_files(tmp_path, python(source, files)) == found


def test_the_imports_of_a_program_that_a_script_starts_are_followed(tmp_path: Path) -> None:
    files = {"src/play.py": "import search", "src/search.py": "import numpy", "train.py": "import torch"}
    assert codes_and_files(tmp_path, shell('exec python3 src/play.py "$@"', files)) == ["missing-module src/search.py"]


@pytest.mark.parametrize(
    ("source", "version", "found"),
    [
        (PATTERN, "3.9", ["newer-syntax"]),
        ("try: pass\nexcept* ValueError: pass", "3.10", ["newer-syntax"]),
        ("match = 1", "3.9", []),
        ("x = (", "3.9", []),  # no Python accepts it; the run shows that
        (PATTERN, HERE, []),
    ],
)
def test_the_syntax_of_a_newer_python_is_found(source: str, version: str, found: list[str], tmp_path: Path) -> None:
    path = tmp_path / "player.zip"
    path.write_bytes(python("import a", {"a.py": source}))
    with open_archive(path) as archive:
        main = read_main(archive, next(each for each in archive.entries if each.path.name == "main.py"))
        result = list(import_findings(archive, main, version, set()))
    assert [each.code for each in result] == found
    assert all(each.file == "a.py" and f"newer Python than {version} (line " in each.text for each in result)


@pytest.mark.parametrize("source", ["(" * 5000, "-" * 5000 + "1", "a\0b", "x" + "[0]" * 5000, "\\"])
def test_hostile_sources_are_no_problem(source: str, tmp_path: Path) -> None:
    assert codes_and_files(tmp_path, python("import a", {"a.py": source})) == []


@pytest.mark.slow
@given(
    st.lists(st.sampled_from(["import ", "a", ".", "from ", "(", "\n", " ", "'", "\\", "try:", "\0", "é", ":", "0"]))
)
def test_any_source_can_be_examined(pieces: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        found = codes(Path(folder), python("import a", {"a.py": "".join(pieces)}))
    assert set(found) <= {"missing-module"}


@pytest.mark.parametrize(
    ("requirements", "names"),
    [
        ("# numpy\n-r other.txt\n\nPyYAML>=6\nscikit-learn ; x\nBeautifulSoup4\nmy.own-package==1 # x\n", None),
        ("yaml\nabsent[extra]\n", "(absent)"),
        (
            "\n".join(f"absent{number}" for number in range(7)),
            "(absent0, absent1, absent2, absent3, absent4 and 2 more)",
        ),
    ],
)
def test_requirements_are_compared_with_the_files(requirements: str, names: str | None, tmp_path: Path) -> None:
    there = {"yaml/__init__.py": "", "sklearn/a.py": "", "bs4.py": "", "My_Own_Package-1.dist-info/x": ""}
    files = {**BOT, **there, "requirements.txt": requirements, "a/b/requirements.txt": "x"}
    found = inspected(tmp_path, zipped(files)).findings
    assert [each.code for each in found] == ([] if names is None else ["requirements-missing"])
    assert all(names is not None and names in each.text for each in found)
