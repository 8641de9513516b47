"""The Python modules of a package: what is not there, and what is for another system or version."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spielleiter.programs.packages import python_modules
from spielleiter.programs.packages.archive import open_archive
from spielleiter.programs.packages.package import inspect_package
from spielleiter.programs.packages.python_modules import missing_requirements, newer_syntax
from tests.programs.packages.making import BOT, python, shell, zipped


def findings(folder: Path, content: bytes) -> list[str]:
    """The findings about a package, as code and file."""
    path = folder / "player.zip"
    path.write_bytes(content)
    return [f"{each.code} {each.file}" for each in inspect_package(path).findings]


@pytest.mark.parametrize(
    ("source", "files"),
    [
        ("import os.path, json\nfrom collections import abc", {}),
        ("from . import x\nfrom .y import z", {}),
        ("try:\n import numpy\nexcept ImportError: pass", {}),
        ("if x:\n import numpy", {}),
        ("import a.b.c", {"a/b/c.py": ""}),
        ("import Book", {"book.py": ""}),
        ("import a", {"a.cpython-311-x86_64-linux-gnu.so": "x"}),
        ("import sys\nsys.path.append('lib')\nimport numpy", {"lib/numpy/__init__.py": ""}),
        ("import numpy", {"wheels/numpy-2.0-cp312-cp312-manylinux_2_17_x86_64.whl": ""}),
        ("import a", {"a.py": "import b", "b.py": "import a"}),
        ("import a", {"a.py": "x = (", "train.py": "import torch"}),
    ],
)
def test_a_program_whose_imports_are_there_has_no_fault(
    source: str, files: dict[str, bytes | str], tmp_path: Path
) -> None:
    assert findings(tmp_path, python(source, files)) == []


@pytest.mark.parametrize(
    ("source", "files", "found"),
    [
        ("import numpy\nimport numpy.linalg\nfrom numpy import x", {}, ["missing-module main.py"]),
        ("def f():\n import numpy", {}, ["missing-module main.py"]),
        ("import numpy, scipy", {}, ["missing-module main.py"] * 2),
        ("import a.b", {"a/b.py": "import numpy", "a/__init__.py": ""}, ["missing-module a/b.py"]),
        ("import a", {"a/__init__.py": "from .b import x", "a/b.py": "import c"}, ["missing-module a/b.py"]),
        ("import yaml", {"requirements.txt": "PyYAML"}, ["requirements-missing requirements.txt"]),
    ],
)
def test_what_is_missing_is_found(source: str, files: dict[str, bytes | str], found: list[str], tmp_path: Path) -> None:
    assert findings(tmp_path, python(source, files)) == found


def test_the_imports_of_a_program_that_a_script_starts_are_followed(tmp_path: Path) -> None:
    files = {"src/play.py": "import search", "src/search.py": "import numpy", "train.py": "import torch"}
    assert findings(tmp_path, shell('exec python3 src/play.py "$@"', files)) == ["missing-module src/search.py"]


@pytest.mark.parametrize(
    ("source", "version", "is_newer"),
    [
        ("match x:\n    case 1: pass", (3, 9), True),
        ("try: pass\nexcept* ValueError: pass", (3, 10), True),
        ("match = 1", (3, 9), False),
        ("x = (", (3, 9), False),  # no Python accepts it; the run shows that
        ("match x:\n    case 1: pass", sys.version_info[:2], False),
    ],
)
def test_the_syntax_of_a_newer_python_is_found(source: str, version: tuple[int, ...], is_newer: bool) -> None:
    assert (newer_syntax(source.encode(), version) is not None) == is_newer


def test_a_program_for_a_newer_python_is_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(python_modules, "CONTEST", (3, 9))  # older than the Python of this test
    content = python("import a", {"a.py": "match 1:\n    case 1: pass"})
    assert findings(tmp_path, content) == ["newer-syntax a.py"]


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


@pytest.mark.parametrize("source", ["(" * 5000, "-" * 5000 + "1", "a\0b", "x" + "[0]" * 5000, "\\"])
def test_hostile_sources_are_no_problem(source: str, tmp_path: Path) -> None:
    assert findings(tmp_path, python("import a", {"a.py": source})) == []


@pytest.mark.slow
@given(
    st.lists(st.sampled_from(["import ", "a", ".", "from ", "(", "\n", " ", "'", "\\", "try:", "\0", "é", ":", "0"]))
)
def test_any_source_can_be_examined(pieces: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        found = findings(Path(folder), python("import a", {"a.py": "".join(pieces)}))
    assert {each.split()[0] for each in found} <= {"missing-module"}


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("numpy-2.0-cp312-cp312-manylinux_2_17_x86_64.manylinux2014_x86_64.whl", None),
        ("numpy-2.0-cp312-cp312-linux_x86_64.whl", None),
        ("numpy-2.0-1-cp312-cp312-macosx_11_0_arm64.whl", "wheel-platform"),
        ("numpy-2.0-cp312-cp312-manylinux_2_17_aarch64.whl", "wheel-platform"),
        ("six-1.0-py2.py3-none-any.whl", None),
        ("socha-5.1.0-cp36-abi3-manylinux_2_17_x86_64.whl", None),
        ("numpy-1.0-cp36-cp36m-manylinux1_x86_64.whl", "wheel-python"),
        ("no wheel.whl", None),
        ("lib/fast.cpython-312-darwin.so", "extension-platform"),
        ("lib/fast.cpython-312-aarch64-linux-gnu.so", "extension-platform"),
        ("lib/fast.cpython-312-x86_64-linux-gnu.so", None),
    ],
)
def test_the_platform_is_in_the_name(name: str, code: str | None, tmp_path: Path) -> None:
    assert findings(tmp_path, zipped({**BOT, name: "x"})) == ([] if code is None else [f"{code} {name}"])


def test_requirements_are_compared_with_the_files(tmp_path: Path) -> None:
    path = tmp_path / "player.zip"
    text = (
        "# numpy\n-r other.txt\n\nPyYAML>=6\nscikit-learn ; x\nBeautifulSoup4\nmy.own-package==1 # x\nabsent[extra]\n"
    )
    files = {"yaml/__init__.py": "", "sklearn/a.py": "", "bs4.py": "", "My_Own_Package-1.dist-info/x": ""}
    path.write_bytes(zipped({**BOT, **files, "requirements.txt": text, "a/b/requirements.txt": "x"}))
    with open_archive(path) as archive:
        missing = missing_requirements(archive)
    assert {str(file): names for file, names in missing.items()} == {"requirements.txt": ["absent"]}


def test_a_long_list_of_requirements_is_shortened(tmp_path: Path) -> None:
    path = tmp_path / "player.zip"
    path.write_bytes(zipped({**BOT, "requirements.txt": "\n".join(f"absent{number}" for number in range(7))}))
    (finding,) = inspect_package(path).findings
    assert "(absent0, absent1, absent2, absent3, absent4 and 2 more)" in finding.text
