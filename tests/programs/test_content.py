"""The content of a program, by which another version is noticed."""

from __future__ import annotations

import hashlib
import os
import sys
from pathlib import Path

import pytest

from spielleiter.programs.command import content_of

ONE = hashlib.sha256(b"one").hexdigest()


@pytest.mark.parametrize(
    "command",
    [
        "./bot",
        "./bot --level 3",
        "{folder}/bot",
        "python3 ./bot --level 3",
        "env A=b ./bot",
        "java -jar bot",
        "bot.zip --level 3",
        "bot.jar",
    ],
)
def test_the_file_that_a_command_starts_is_its_content(command: str, tmp_path: Path) -> None:
    for name in ("bot", "bot.zip", "bot.jar"):
        (tmp_path / name).write_bytes(b"one")
        (tmp_path / name).chmod(0o755)
    assert content_of(command.format(folder=tmp_path), str(tmp_path)) == ONE
    for name in ("bot", "bot.zip", "bot.jar"):
        (tmp_path / name).write_bytes(b"two")
    assert content_of(command.format(folder=tmp_path), str(tmp_path)) not in {"", ONE}


@pytest.mark.parametrize("command", ["builtin:greedy", "python3 -m bot", "./none", "./folder", "./a\0b"])
def test_a_command_without_a_file_has_no_known_content(command: str, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    assert content_of(command, str(tmp_path)) == ""


@pytest.mark.skipif(sys.platform == "win32", reason="this system has no named pipes")
def test_nothing_but_a_file_is_read(tmp_path: Path) -> None:
    if sys.platform == "win32":
        raise AssertionError  # for mypy
    os.mkfifo(tmp_path / "bot")
    assert content_of("./bot", str(tmp_path)) == ""
