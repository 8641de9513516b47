"""The files of a new season can be imported and linted, and fail only where something is to be written."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.documents import ROOT
from tests.test_adding_a_game import NOT_COPIED
from tools.season.skeleton import SkeletonError, write_skeleton

NAME, YEAR, DAY = "sea_horses", 2030, "2029-06-30"


WRITE_THIS = re.compile(
    r"NotImplementedError: sea_horses: "
    r"|AssertionError: (?:make|record) .*`python -m tools\.season"
    r"|KeyError: <SeaHorsesMistake"
)
"""Why the tests of a new season fail."""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The two files to which an edition is added."""
    for name in ("server/editions.py", "docs/compatibility.md"):
        (tmp_path / name).parent.mkdir()
        shutil.copyfile(ROOT / name, tmp_path / name)
    return tmp_path


def test_an_edition_is_added_before_those_of_older_seasons(root: Path) -> None:
    names = write_skeleton(root, NAME, 2025, DAY, title="Seepferde", release="25.1.0")
    assert {"game/sea_horses/state.py", "protocol/dialects/sea_horses_2025.py", "viewer/games/sea_horses/board.js"} < {
        *names
    }
    entries = re.findall(r'"(swc_\w+)"', (root / "server/editions.py").read_text("utf-8"))
    assert list(dict.fromkeys(entries))[:3] == ["swc_2027_blokus", "swc_2026_piranhas", "swc_2025_sea_horses"]
    row = "| `swc_2025_sea_horses` | `sea-horses-2025` | 2029-06-30 | release 25.1.0 | clients of 2025 |\n| `swc_2024"
    assert row in (root / "docs/compatibility.md").read_text("utf-8")
    assert "§" not in "".join((root / name).read_text("utf-8") for name in names)


@pytest.mark.parametrize("name", ["", "SeaHorses", "sea-horses", "2sea", "sea__horses", "a/b"])
def test_a_name_that_python_cannot_import_is_refused(name: str, root: Path) -> None:
    with pytest.raises(SkeletonError, match="cannot be the name of a package"):
        write_skeleton(root, name, YEAR, DAY)


def test_nothing_is_written_if_there_is_such_a_game(root: Path) -> None:
    write_skeleton(root, NAME, YEAR, DAY)
    before = (root / "server/editions.py").read_bytes()
    with pytest.raises(SkeletonError, match="is there already"):
        write_skeleton(root, NAME, YEAR, DAY)
    assert (root / "server/editions.py").read_bytes() == before
    with pytest.raises(SkeletonError, match="no entry of an older season"):
        write_skeleton(root, "other", 2000, DAY)
    assert not (root / "game" / "other").exists()


@pytest.mark.extended
def test_its_files_are_imported_linted_and_fail_where_something_is_to_be_written(tmp_path: Path) -> None:
    folder = tmp_path / "neue Saison für alle"
    shutil.copytree(ROOT, folder, symlinks=True, ignore=NOT_COPIED)

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        path = os.pathsep.join((str(folder / "src"), str(folder)))
        environment = {"PYTHONPATH": path, "PYTHONUTF8": "1", "COLUMNS": "200"}
        command = [sys.executable, "-m", *arguments]
        return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)

    written = run("tools.season", "skeleton", NAME, str(YEAR), "--title", "Seepferde")
    assert written.returncode == 0, written.stderr
    *names, last = written.stdout.splitlines()
    assert "NotImplementedError" in last
    python = [name for name in names if name.endswith(".py")]
    for command in (("check",), ("format", "--check")):
        checked = run("ruff", *command, "--no-cache", *python)
        assert checked.returncode == 0, checked.stdout
    # no test of other games is kept from being found
    collected = run("pytest", "-q", "-n", "0", "--collect-only")
    assert collected.returncode == 0, collected.stdout
    played = run("pytest", "-q", "-n", "0", "--tb=line", *(name for name in python if name.startswith("tests/")))
    reasons = re.findall(r"^/.*?:\d+: (\w+: .*)$", played.stdout, re.MULTILINE)
    assert f"{len(reasons)} failed" in played.stdout, played.stdout
    assert len(reasons) > 15
    assert [reason for reason in reasons if not WRITE_THIS.match(reason)] == []


@pytest.mark.parametrize(
    ("year", "policy"), [(2030, "_RELEASE_2027"), (2025, "_RELEASE_2027"), (2022, "_RELEASE_2023")]
)
def test_the_conduct_is_that_of_the_nearest_season(root: Path, year: int, policy: str) -> None:
    write_skeleton(root, NAME, year, DAY)
    entry = (root / "server/editions.py").read_text("utf-8").partition(f'"swc_{year}_{NAME}"')[2]
    assert entry.partition("),")[0].split(",\n")[3].strip() == policy
