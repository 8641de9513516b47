"""Choosing the main file of a package."""

from __future__ import annotations

from pathlib import Path

import pytest

from spielleiter.match.packages.archive import open_archive
from spielleiter.match.packages.faults import Finding
from spielleiter.match.packages.main_file import choose_main
from tests.match.packages.binaries import elf, jar
from tests.match.packages.making import zipped

SCRIPT = "#!/bin/sh\n"


def chosen(tmp_path: Path, files: dict[str, bytes | str], wanted: str | None = None) -> str:
    """The path of the main file, or the code of the finding."""
    path = tmp_path / "player.zip"
    path.write_bytes(zipped(files))
    with open_archive(path) as archive:
        result = choose_main(archive, wanted)
    return result.code if isinstance(result, Finding) else str(result.path)


@pytest.mark.parametrize(
    ("files", "main"),
    [
        ({"start.sh": "", "run.sh": SCRIPT, "main.py": SCRIPT}, "start.sh"),
        ({"a.py": "x", "b.py": SCRIPT, "c": elf(), "d.jar": jar()}, "b.py"),
        ({"a.sh": "x", "b": elf()}, "a.sh"),
        ({"main.py": SCRIPT, "tools.py": SCRIPT}, "main.py"),
        ({"RUN": f"\n {SCRIPT}", "tools.py": SCRIPT}, "RUN"),
        ({"bot": f"\ufeff{SCRIPT}"}, "bot"),
        ({"bot": elf(), "libx.so.1": elf(), "y.jar": jar()}, "bot"),
        ({"bot.jar": jar(), "README": "x"}, "bot.jar"),
        ({"main.bot": SCRIPT, "main.py": SCRIPT}, "several-main-files"),
        ({".hidden": SCRIPT, "a.txt": "x"}, "no-main-file"),
        ({"a/x": "x", "b/y": "y"}, "no-main-file"),
        ({"a/x.sh": SCRIPT, "b/y": "y"}, "a/x.sh"),
        ({"a/x.sh": SCRIPT, "b/y.sh": SCRIPT}, "several-main-files"),
        ({"a/start.sh": "", "b/y.sh": SCRIPT, "README.md": "x"}, "a/start.sh"),
        ({"a/start.sh": "", "b/start.sh": ""}, "several-main-files"),
        ({"a/b/start.sh": SCRIPT}, "folder-inside"),
        ({"a/bot.jar": jar(), "a/README.md": "x"}, "a/bot.jar"),
        ({"a/bot.jar": jar(), "b/README.md": "x"}, "no-main-file"),
        ({"gradlew": SCRIPT, "gradlew.bat": "x", "bot.jar": jar()}, "bot.jar"),
        ({"bot/Cargo.toml": "x", "bot/src/main.rs": "x"}, "source-only"),
        ({"__MACOSX/x": "x", "bot/README": "x"}, "folder-inside"),
        ({"main.c": "x", "src/x.h": "x"}, "source-only"),
    ],
)
def test_the_main_file_is_found(files: dict[str, bytes | str], main: str, tmp_path: Path) -> None:
    assert chosen(tmp_path, files) == main


@pytest.mark.parametrize(
    ("wanted", "main"),
    [
        ("b.py", "b.py"),
        ("./lib/c.py", "lib/c.py"),
        ("lib\\c.py", "lib/c.py"),
        ("lib", "main-is-folder"),
        ("lib/", "main-is-folder"),
        ("d.py", "main-missing"),
        ("", "main-is-folder"),
    ],
)
def test_the_main_file_can_be_named(wanted: str, main: str, tmp_path: Path) -> None:
    assert chosen(tmp_path, {"a.py": SCRIPT, "b.py": "x", "lib/c.py": "x"}, wanted) == main


def test_only_a_few_candidates_are_named(tmp_path: Path) -> None:
    path = tmp_path / "player.zip"
    path.write_bytes(zipped({f"{name}.sh": SCRIPT for name in "abcdefgh"}))
    with open_archive(path) as archive:
        result = choose_main(archive)
    assert isinstance(result, Finding)
    assert "(a.sh, b.sh, c.sh, d.sh, e.sh)" in result.text
