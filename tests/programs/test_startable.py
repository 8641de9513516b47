"""Commands that cannot be started are refused with advice."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from spielleiter.common.errors import SetupError
from spielleiter.programs.command import Command
from spielleiter.programs.startable import require_startable
from tests.interpreter import PYTHON

SH = "#!/bin/sh\n"


def make(path: Path, content: bytes | str = SH, mode: int = 0o755) -> Path:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    path.chmod(mode)
    return path


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with some programs that can be started and some that cannot."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    make(tmp_path / "bot")
    make(tmp_path / "enved", "#!/usr/bin/env sh\n")
    make(tmp_path / "optioned", "#!/usr/bin/env -S sh -e\n")
    make(tmp_path / "binary", b"\x7fELF\0\0")
    make(tmp_path / "empty", "")
    make(tmp_path / "bare.py", "print(1)\n")
    make(tmp_path / "locked", mode=0o644)
    make(tmp_path / "locked.py", mode=0o644)
    make(tmp_path / "strange", "#!/nowhere/python9\n")
    make(tmp_path / "envless", "#!/usr/bin/env python9\n")
    make(tmp_path / "windows", "#!/bin/sh\r\necho\r\n")
    make(tmp_path / "blank", "#!\n")
    (tmp_path / "sub").mkdir()
    (tmp_path / "player").mkdir()
    make(tmp_path / "player" / "main.py")
    (tmp_path / "started").mkdir()
    make(tmp_path / "started" / "a.py")
    make(tmp_path / "started" / "start.sh")
    return tmp_path


def problem_of(text: str, platform: str = sys.platform) -> str:
    try:
        require_startable(Command.parse(text, platform=platform), platform=platform)
    except SetupError as error:
        return str(error).removeprefix(f"program {text!r}: ")
    return ""


@pytest.mark.parametrize(
    "text",
    [
        "builtin:greedy",
        "./bot",
        "bot",
        "~/bot --fast",
        "enved",
        "optioned",
        "binary",
        "empty",
        "blank",
        "sh -c 'no such thing' bot",
        f"{PYTHON} bare.py {{port}}",
        f"{PYTHON} -m nothing",
        f"{PYTHON} -c 1",
        f"{PYTHON} {{game}}.py",
        "./{game}/bot",
        "ls bot.py",
    ],
)
def test_a_command_that_the_system_would_start_is_accepted(text: str) -> None:
    assert problem_of(text) == ""


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("./bott", "there is no file ./bott (did you mean 'bot'?)"),
        ("./quite/another", "there is no file ./quite/another, since there is no folder ./quite"),
        ("~/nothing-like-it", "there is no file {home}/nothing-like-it"),
        ("enve", "there is no command enve on the PATH and no such file here (did you mean 'enved'?)"),
        ("greedy", "there is no command greedy (did you mean 'builtin:greedy'?)"),
        ("./sub", "./sub is a folder, expected the command that starts a program"),
        ("sub", "sub is a folder, expected the command that starts a program"),
        (
            "player/",
            "player/ is a folder, expected the command that starts a program (did you mean 'python3 player/main.py'?)",
        ),
        (
            "started",
            "started is a folder, expected the command that starts a program (did you mean 'started/start.sh'?)",
        ),
        ("gredy", "there is no command gredy on the PATH and no such file here (did you mean 'builtin:greedy'?)"),
        ("./locked", "./locked may not be executed; allow it with `chmod +x ./locked`"),
        ("locked", "./locked may not be executed; allow it with `chmod +x ./locked`"),
        (
            "./locked.py",
            "./locked.py may not be executed; allow it with `chmod +x ./locked.py`, or begin the command with python3",
        ),
        (
            "./strange",
            "the first line of ./strange names the interpreter /nowhere/python9, which does not exist; install or",
        ),
        (
            "./envless",
            "the first line of ./envless names the interpreter python9, which does not exist; install or correct it",
        ),
        (
            "./windows",
            "the first line of ./windows ends as on Windows (CR LF), so its interpreter is not found; save it with LF",
        ),
        (
            "./bare.py",
            "./bare.py is a text without a first line (#!) that names an interpreter; begin the command with",
        ),
        (f"{PYTHON} bar.py", "there is no file bar.py (did you mean 'bare.py'?)"),
        ("sh ~/bar.sh", "there is no file {home}/bar.sh"),
    ],
)
def test_a_command_that_cannot_be_started_is_refused_with_advice(text: str, problem: str, folder: Path) -> None:
    if sys.platform == "win32":
        pytest.skip("Windows has nothing like it")
    if os.geteuid() == 0 and "may not be executed" in problem:
        assert not os.access("locked", os.X_OK)  # even root may not execute a file without any execute permission
    assert problem_of(text).startswith(problem.format(home=folder))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("binary", "{home}/binary is a program for Linux; let it play in a container (--image) or in WSL"),
        (
            "locked.txt",
            "{home}/locked.txt is no program that Windows can start, expected a file with .exe, .bat,",
        ),
        ("./strange.exe", ""),
        ("./bott.py", "there is no file ./bott.py"),
        ("no-such-command", "there is no command no-such-command on the PATH and no such file here"),
    ],
)
def test_windows_judges_a_program_by_its_suffix(text: str, problem: str, folder: Path) -> None:
    make(folder / "locked.txt", "hello", 0o644)
    make(folder / "strange.exe", "MZ", 0o644)
    assert problem_of(text, "win32").startswith(problem.format(home=folder))
    assert bool(problem_of(text, "win32")) == bool(problem)


def test_a_jar_needs_java_and_the_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "bot.jar").touch()
    monkeypatch.setenv("PATH", str(folder))
    assert problem_of("bot.jar") == "there is no command java; install Java, or give the path of its program"
    make(folder / "java")
    assert problem_of("bot.jar") == ""
    assert problem_of("java -Xmx1g -jar bot2.jar") == "there is no file bot2.jar (did you mean 'bot.jar'?)"


@pytest.mark.parametrize(("word", "hint"), [("nix", ""), ("pngfx", " (did you mean 'pngfix'?)")])
def test_a_command_is_suggested_only_if_it_is_very_similar(
    word: str, hint: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(folder / "commands"))
    (folder / "commands").mkdir()
    make(folder / "commands" / "pngfix")
    assert problem_of(word) == f"there is no command {word} on the PATH and no such file here{hint}"


def test_a_program_that_may_not_be_read_is_accepted(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr("builtins.open", refuse)
    assert problem_of("./bot") == ""


def test_relative_paths_start_from_the_directory_of_the_program(
    folder: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path_factory.mktemp("other"))
    for text in ("./bot", "bot", "enved", f"{PYTHON} bare.py"):
        require_startable(Command.parse(text, str(folder)), str(folder))
    for text, problem in (
        ("./bott", "there is no file ./bott (did you mean 'bot'?)"),
        ("./sub", "./sub is a folder"),
        ("./locked", "./locked may not be executed"),
        ("./strange", "names the interpreter /nowhere/python9"),
        (f"{PYTHON} bar.py", "there is no file bar.py (did you mean 'bare.py'?)"),
    ):
        with pytest.raises(SetupError) as raised:
            require_startable(Command.parse(text, str(folder)), str(folder))
        assert problem in str(raised.value)


def test_a_package_has_to_be_unpacked() -> None:
    with pytest.raises(SetupError, match=r"program 'player\.zip': a ZIP file cannot be started here; unpack it"):
        require_startable(Command.parse("player.zip"))
