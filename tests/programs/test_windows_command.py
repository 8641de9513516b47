"""How programs are started on Windows; the tests run on every system."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spielleiter.programs.windows_command import (
    GIT_HINT,
    command_line,
    python_launcher,
    windows_problem,
    windows_words,
)

ROOT = r"C:\Windows"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a program of each kind, whose name has blanks and umlauts."""
    path = tmp_path / "Jörgs Spieler"
    path.mkdir()
    for name in ("bot.exe", "bot2.exe", "old.bat", "new.cmd", "both.exe", "both.bat", "player.PY"):
        (path / name).write_bytes(b"MZ")
    (path / "start.sh").write_bytes(b"#!/bin/sh\necho\n")
    (path / "run").write_bytes(b"#! /usr/bin/env -S python3 -u\nprint()\n")
    (path / "bot.rb").write_bytes(b"#!/usr/bin/ruby\n")
    (path / "elf").write_bytes(b"\x7fELF\2\1")
    (path / "notes.txt").write_bytes(b"hello")
    return path


FOUND = {
    "py": "C:/Windows/py.exe",
    "bash": "C:/Git/bin/bash.exe",
    "gradlew": "C:/tools/gradlew.BAT",
    "node": "C:/node/node.exe",
    "bot2": "C:/bin/bot2.exe",
    "tool": r"C:\tools\tool.PY",
    "new": r".\new.cmd",
}


@pytest.mark.parametrize(
    ("words", "started"),
    [
        (["bot.exe", "-x"], ["{folder}/bot.exe", "-x"]),
        (["bot", "-x"], ["{folder}/bot.exe", "-x"]),
        (["both"], ["{folder}/both.exe"]),
        (["./old"], ["{folder}/old.bat"]),
        (["new.cmd", "a b"], ["{folder}/new.cmd", "a b"]),
        # `shutil.which` finds it in the current folder, and CreateProcess starts no batch file without its suffix
        (["new", "-x"], ["{folder}/new.cmd", "-x"]),
        (["player.PY", "-x"], ["py", "player.PY", "-x"]),
        (["start.sh"], ["C:/Git/bin/bash.exe", "{folder}/start.sh"]),
        (["run", "1"], ["py", "{folder}/run", "1"]),
        (["bot.rb"], ["{folder}/bot.rb"]),  # there is no ruby
        (["notes.txt"], ["{folder}/notes.txt"]),
        (["gradlew"], ["C:/tools/gradlew.BAT"]),
        (["node", "bot.js"], ["node", "bot.js"]),
        (["bot2"], ["bot2"]),  # a command on the PATH is preferred
        (["./bot2"], ["{folder}/bot2.exe"]),
        (["tool", "1"], ["py", r"C:\tools\tool.PY", "1"]),  # found if PATHEXT contains ``.PY``
        (["nothing"], ["nothing"]),
        (["no/such/bot.py"], ["no/such/bot.py"]),
    ],
)
def test_the_first_word_is_what_windows_starts(words: list[str], started: list[str], folder: Path) -> None:
    assert windows_words(words, str(folder), FOUND.get) == [word.format(folder=folder) for word in started]


def test_a_script_is_started_by_the_shell_of_git_but_not_by_that_of_the_subsystem_for_linux(folder: Path) -> None:
    """The latter knows the files of Windows by other paths. Only git itself may be on the PATH."""
    shell, script = folder / "Git" / "bin" / "sh.exe", str(folder / "start.sh")
    shell.parent.mkdir(parents=True)
    shell.write_bytes(b"MZ")
    for git, found in (("Git/cmd/git.exe", [str(shell)]), ("Git/mingw64/bin/git.exe", [str(shell)]), ("x/git.exe", [])):
        paths = {"git": str(folder / git), "bash": r"C:\Windows\System32\bash.exe"}
        assert windows_words(["start.sh"], str(folder), paths.get) == [*found, script]


@pytest.mark.parametrize(
    ("found", "is_frozen", "launcher"),
    [
        ({"py": "py.exe", "python": "python.exe"}, False, "py"),
        ({"python": "python.exe"}, False, sys.executable),
        ({"python": "python.exe"}, True, "python"),
    ],
)
def test_python_files_are_run_by_the_launcher_or_this_python(
    found: dict[str, str], is_frozen: bool, launcher: str
) -> None:
    assert python_launcher(found.get, is_frozen=is_frozen) == launcher


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("bot.exe", ""),
        ("elf", "is a program for Linux; let it play in a container (--image) or in WSL"),
        ("start.sh", f"is started by sh, which is not on the PATH; {GIT_HINT}"),
        ("bot.rb", "is started by ruby, which is not on the PATH; install ruby"),
        ("notes.txt", "is no program that Windows can start, expected a file with .exe, .bat, .cmd, .jar, .py or .zip"),
        ("", "is no program"),  # a folder, which cannot be read
    ],
)
def test_a_file_that_windows_cannot_start_is_explained(name: str, problem: str, folder: Path) -> None:
    path = str(folder / name)
    found = windows_problem(path)
    assert found.startswith(f"{path} {problem}") if problem else found == ""


def test_only_batch_files_need_the_command_processor() -> None:
    assert command_line(["bot.exe", 'a "b"'], ROOT) == ["bot.exe", 'a "b"']
    assert (
        command_line([r"C:\my bots\bot.bat", "-h", "::1", "a b"], ROOT)
        == rf'{ROOT}\System32\cmd.exe /e:on /v:off /d /c ""C:\my bots\bot.bat" -h ::1 "a b""'
    )
    assert str(command_line(["bot.CMD"], r"D:\My Windows")).startswith(r'"D:\My Windows\System32\cmd.exe" /e:on')
    for words in (["bot.bat", "a\nb"], ["bot.bat", "a\rb"], ["bot.bat", "a\0"], ['"bot".bat']):
        with pytest.raises(ValueError, match=r"batch file|file name"):
            command_line(words, ROOT)


def after_percent_expansion(text: str) -> str:
    """What the command processor makes of variables in a line, where the variable ``cd`` is not empty."""
    return text.replace("%cd:~,%", "")


def outside_quotes(text: str) -> Iterator[str]:
    is_quoted = False
    for character in text:
        if character == '"':
            is_quoted = not is_quoted
        elif not is_quoted:
            yield character


def parameters_of(line: str) -> list[str]:
    """Split a command line as the C library of Microsoft does: two quotation marks in quotes are a literal one."""
    words, word, is_quoted, slashes, index = [], "", False, 0, 0
    has_word = False
    while index < len(line):
        character = line[index]
        if character == "\\":
            slashes += 1
            index += 1
            continue
        if character == '"':
            word += "\\" * (slashes // 2)
            has_word = True
            if slashes % 2:
                word += '"'
            elif is_quoted and line[index + 1 : index + 2] == '"':
                word += '"'
                index += 1
            else:
                is_quoted = not is_quoted
        else:
            word += "\\" * slashes
            has_word = has_word or slashes > 0
            if character == " " and not is_quoted:
                if has_word:
                    words.append(word)
                word, has_word = "", False
            else:
                word += character
                has_word = True
        slashes = 0
        index += 1
    word += "\\" * slashes
    return [*words, word] if has_word or word else words


@given(st.lists(st.text(st.sampled_from('ab1 \\"%&|<>^!()@,;=~ü'), max_size=8)))
def test_parameters_of_a_batch_file_arrive_as_they_were_given_and_are_not_interpreted(words: list[str]) -> None:
    line = str(command_line(["bot.bat", *words], ROOT)).partition(" /c ")[2]
    assert line[0] == line[-1] == '"'  # the command processor removes these
    inner = after_percent_expansion(line[1:-1])
    assert parameters_of(inner) == ["bot.bat", *words]
    assert set(outside_quotes(inner)).isdisjoint("&|<>^")
    assert "%" not in line.replace("%%cd:~,%", "")  # every one is followed by an empty part of a variable


@given(st.lists(st.text(st.sampled_from('ab \\"'), max_size=8)))
def test_the_splitting_of_this_test_is_that_of_the_standard_library(words: list[str]) -> None:
    line = subprocess.list2cmdline(["bot", *words])
    assert parameters_of(line) == ["bot", *words]
