"""Files that show how a package was made."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from spielleiter.match.packages.archive import open_archive
from spielleiter.match.packages.inspection import inspect_package
from spielleiter.match.packages.leftovers import missing_requirements, modules_of
from tests.match.packages.making import BOT, zipped


def codes(folder: Path, files: dict[str, bytes | str]) -> list[str]:
    path = folder / "player.zip"
    path.write_bytes(zipped({**BOT, **files}))
    return [each.code for each in inspect_package(path).findings]


def lock(packages: object) -> str:
    return json.dumps({"packages": packages})


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
    assert codes(tmp_path, {name: "x"}) == ([] if code is None else [code])


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (lock({"node_modules/a": {"link": True}}), ["linked-node-module"]),
        (lock({"node_modules/a": {"version": "1"}}), []),
        (lock([]), []),
        ("[" * 100_000, []),
        ("{}", []),
        ("\0", []),
    ],
)
def test_links_of_node_modules_are_found(content: str, expected: list[str], tmp_path: Path) -> None:
    assert codes(tmp_path, {"node_modules/.package-lock.json": content}) == expected


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
    assert modules_of(missing) == {"absent"}


def test_a_long_list_of_requirements_is_shortened(tmp_path: Path) -> None:
    path = tmp_path / "player.zip"
    path.write_bytes(zipped({**BOT, "requirements.txt": "\n".join(f"absent{number}" for number in range(7))}))
    (finding,) = inspect_package(path).findings
    assert "(absent0, absent1, absent2, absent3, absent4 and 2 more)" in finding.text
