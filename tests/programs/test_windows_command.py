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
    Find,
    command_line,
    python_launcher,
    suffix_of,
    windows_problem,
    windows_words,
)

ROOT = r"C:\Windows"


def finding(**paths: str) -> Find:
    """A `shutil.which` that knows these commands only."""
    return paths.get


NOTHING = finding()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a program of each kind, whose name has blanks and umlauts."""
    path = tmp_path / "Jörgs Spieler"
    path.mkdir()
    for name in ("bot.exe", "bot.py", "old.bat", "new.cmd", "both.exe", "both.bat", "player.PY"):
        (path / name).write_bytes(b"MZ")
    (path / "start.sh").write_bytes(b"#!/bin/sh\necho\n")
    (path / "run").write_bytes(b"#! /usr/bin/env -S python3 -u\nprint()\n")
    (path / "bot.rb").write_bytes(b"#!/usr/bin/ruby\n")
    (path / "elf").write_bytes(b"\x7fELF\2\1")
    (path / "notes.txt").write_bytes(b"hello")
    return path


@pytest.mark.parametrize(
    ("words", "started"),
    [
        (["bot.exe", "-x"], ["{folder}/bot.exe", "-x"]),
        (["bot", "-x"], ["{folder}/bot.exe", "-x"]),
        (["both"], ["{folder}/both.exe"]),
        (["./old"], ["{folder}/old.bat"]),
        (["new.cmd", "a b"], ["{folder}/new.cmd", "a b"]),
        (["bot.py", "-x"], ["py", "bot.py", "-x"]),
        (["player.PY"], ["py", "player.PY"]),
        (["start.sh"], ["C:/Git/bin/bash.exe", "{folder}/start.sh"]),
        (["run", "1"], ["py", "{folder}/run", "1"]),
        (["bot.rb"], ["{folder}/bot.rb"]),  # there is no ruby
        (["notes.txt"], ["{folder}/notes.txt"]),
        (["gradlew"], ["C:/tools/gradlew.BAT"]),
        (["node", "bot.js"], ["node", "bot.js"]),
        (["nothing"], ["nothing"]),
        (["no/such/bot.py"], ["no/such/bot.py"]),
    ],
)
def test_the_first_word_is_what_windows_starts(words: list[str], started: list[str], folder: Path) -> None:
    find = finding(
        py="C:/Windows/py.exe", bash="C:/Git/bin/bash.exe", gradlew="C:/tools/gradlew.BAT", node="C:/node/node.exe"
    )
    assert windows_words(words, str(folder), find) == [word.format(folder=folder) for word in started]


@pytest.mark.parametrize("git", ["cmd/git.exe", "mingw64/bin/git.exe"])
def test_a_script_is_started_by_the_shell_of_git_if_only_git_is_on_the_path(
    git: str, folder: Path, tmp_path: Path
) -> None:
    shell = tmp_path / "Git" / "bin" / "sh.exe"
    shell.parent.mkdir(parents=True)
    shell.write_bytes(b"MZ")
    started = windows_words(["start.sh"], str(folder), finding(git=str(tmp_path / "Git" / git)))
    assert started == [str(shell), str(folder / "start.sh")]
    missing = windows_words(["start.sh"], str(folder), finding(git=str(tmp_path / "elsewhere" / git)))
    assert missing == [str(folder / "start.sh")]


def test_the_shell_of_the_windows_subsystem_for_linux_is_none(folder: Path) -> None:
    """It knows the files of Windows by other paths."""
    find = finding(bash=r"C:\Windows\System32\bash.exe")
    assert windows_words(["start.sh"], str(folder), find) == [str(folder / "start.sh")]
    both = finding(bash=r"C:\Windows\System32\bash.exe", sh="C:/Git/bin/sh.exe")
    assert windows_words(["start.sh"], str(folder), both) == ["C:/Git/bin/sh.exe", str(folder / "start.sh")]


def test_a_command_on_the_path_is_preferred_to_a_file_without_a_folder(folder: Path) -> None:
    find = finding(bot="C:/bin/bot.exe")
    assert windows_words(["bot"], str(folder), find) == ["bot"]
    assert windows_words(["./bot"], str(folder), find) == [str(folder / "bot.exe")]


@pytest.mark.parametrize(
    ("word", "file"), [("bot", "bot.exe"), ("old", "old.bat"), ("old.bat", "old.bat"), ("new", "new.cmd")]
)
def test_a_file_that_is_found_in_the_current_folder_is_not_on_the_path(word: str, file: str, folder: Path) -> None:
    """On Windows, `shutil.which` looks there first, and CreateProcess starts no batch file without its suffix."""
    find = finding(**{word: rf".\{file}"})
    assert windows_words([word, "-x"], str(folder), find) == [str(folder / file), "-x"]


def test_a_python_file_on_the_path_is_started_by_the_launcher(folder: Path) -> None:
    """It is found without its suffix if PATHEXT contains ``.PY``, which the installer of Python offers."""
    find = finding(py="C:/Windows/py.exe", tool=r"C:\tools\tool.PY")
    assert windows_words(["tool", "1"], str(folder), find) == ["py", r"C:\tools\tool.PY", "1"]


@pytest.mark.parametrize(
    ("find", "is_frozen", "launcher"),
    [
        (finding(py="py.exe", python="python.exe"), False, "py"),
        (finding(python="python.exe"), False, sys.executable),
        (finding(python="python.exe"), True, "python"),
        (NOTHING, False, sys.executable),
    ],
)
def test_python_files_are_run_by_the_launcher_or_this_python(find: Find, is_frozen: bool, launcher: str) -> None:
    assert python_launcher(find, is_frozen=is_frozen) == launcher


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("bot.exe", ""),
        ("old.bat", ""),
        ("elf", "is a program for Linux; let it play in a container (--image) or in WSL"),
        ("start.sh", f"is started by sh, which is not on the PATH; {GIT_HINT}"),
        ("bot.rb", "is started by ruby, which is not on the PATH; install ruby"),
        ("notes.txt", "is no program that Windows can start, expected a file with .exe, .bat, .cmd, .jar, .py or .zip"),
    ],
)
def test_a_file_that_windows_cannot_start_is_explained(name: str, problem: str, folder: Path) -> None:
    path = str(folder / name)
    found = windows_problem(path)
    assert found.startswith(f"{path} {problem}") if problem else found == ""


def test_a_file_that_cannot_be_read_is_no_program(tmp_path: Path) -> None:
    assert "no program" in windows_problem(str(tmp_path))


@pytest.mark.parametrize(
    ("word", "suffix"),
    [(r"C:\my bots\Bot.EXE", ".exe"), ("./bot.tar.gz", ".gz"), ("bot", ""), (r"bots.old\bot", ""), (".bat", "")],
)
def test_the_suffix_of_a_path_of_windows(word: str, suffix: str) -> None:
    assert suffix_of(word) == suffix


def test_only_batch_files_need_the_command_processor() -> None:
    assert command_line(["bot.exe", 'a "b"'], ROOT) == ["bot.exe", 'a "b"']
    assert (
        command_line([r"C:\my bots\bot.bat", "-h", "::1", "a b"], ROOT)
        == rf'{ROOT}\System32\cmd.exe /e:on /v:off /d /c ""C:\my bots\bot.bat" -h ::1 "a b""'
    )
    assert str(command_line(["bot.CMD"], r"D:\My Windows")).startswith(r'"D:\My Windows\System32\cmd.exe" /e:on')


@pytest.mark.parametrize("words", [["bot.bat", "a\nb"], ["bot.bat", "a\rb"], ["bot.bat", "a\0"], ['"bot".bat']])
def test_a_batch_file_gets_no_parameter_that_it_cannot_receive(words: list[str]) -> None:
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
def test_parameters_of_a_batch_file_arrive_as_they_were_given(words: list[str]) -> None:
    line = str(command_line(["bot.bat", *words], ROOT))
    inner = after_percent_expansion(line.partition(" /c ")[2])
    assert inner[0] == inner[-1] == '"'  # the command processor removes these
    assert parameters_of(inner[1:-1]) == ["bot.bat", *words]


@given(st.lists(st.text(st.sampled_from('ab \\"%&|<>^'), max_size=8)))
def test_the_command_processor_interprets_nothing_in_a_parameter(words: list[str]) -> None:
    line = str(command_line(["bot.bat", *words], ROOT)).partition(" /c ")[2][1:-1]
    assert set(outside_quotes(after_percent_expansion(line))).isdisjoint("&|<>^")
    assert "%" not in line.replace("%%cd:~,%", "")  # every one is followed by an empty part of a variable


@given(st.lists(st.text(st.sampled_from('ab \\"'), max_size=8)))
def test_the_splitting_of_this_test_is_that_of_the_standard_library(words: list[str]) -> None:
    line = subprocess.list2cmdline(["bot", *words])
    assert parameters_of(line) == ["bot", *words]
