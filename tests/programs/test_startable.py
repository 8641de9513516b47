"""Commands that cannot be started are refused with advice."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from spielleiter.common.errors import SetupError
from spielleiter.programs.command import Command
from spielleiter.programs.startable import require_startable
from tests.interpreter import PYTHON

FILES: dict[str, bytes] = {
    "bot": b"#!/bin/sh\n",
    "enved": b"#!/usr/bin/env sh\n",
    "optioned": b"#!/usr/bin/env -S sh -e\n",
    "binary": b"\x7fELF\0\0",
    "empty": b"",
    "blank": b"#!\n",
    "bare.py": b"print(1)\n",
    "locked.py": b"#!/bin/sh\n",
    "locked.txt": b"hello",
    "strange": b"#!/nowhere/python9\n",
    "envless": b"#!/usr/bin/env python9\n",
    "windows": b"#!/bin/sh\r\necho\r\n",
    "player/main.py": b"",
    "started/a.py": b"",
    "started/start.sh": b"",
    "strange.exe": b"MZ",
    "commands/pngfix": b"",
    "bot.jar": b"",
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with some programs that can be started and some that cannot."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    for name, content in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
        path.chmod(0o644 if "locked" in name else 0o755)
    return tmp_path


def problem_of(text: str, platform: str = sys.platform, cwd: str = "") -> str:
    try:
        require_startable(Command.parse(text, cwd, platform=platform), cwd, platform=platform)
    except SetupError as error:
        return str(error).removeprefix(f"program {text!r}: ")
    return ""


ACCEPTED = [
    *("builtin:greedy", "bot", "~/bot --fast", "enved", "optioned", "binary", "empty", "blank"),
    *("sh -c 'no such thing' bot", f"{PYTHON} bare.py {{port}}", f"{PYTHON} -m nothing", f"{PYTHON} {{game}}.py"),
    *("./{game}/bot", "ls bot.py"),
]


def test_a_command_that_the_system_would_start_is_accepted() -> None:
    assert {text: problem_of(text) for text in ACCEPTED} == dict.fromkeys(ACCEPTED, "")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has nothing like it")
@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("./bott", "there is no file ./bott (did you mean 'bot'?)"),
        ("./quite/another", "since there is no folder ./quite"),
        ("enve", "there is no command enve on the PATH and no such file here (did you mean 'enved'?)"),
        ("greedy", "(did you mean 'builtin:greedy'?)"),
        ("gredy", "(did you mean 'builtin:greedy'?)"),
        ("commands", "commands is a folder, expected the command that starts a program"),
        ("player/", "(did you mean 'python3 player/main.py'?)"),
        ("started", "(did you mean 'started/start.sh'?)"),
        ("locked.txt", "./locked.txt may not be executed; allow it with `chmod +x ./locked.txt`"),
        ("./locked.py", "or begin the command with python3"),
        ("./strange", "the first line of ./strange names the interpreter /nowhere/python9, which does not exist"),
        ("./envless", "the first line of ./envless names the interpreter python9, which does not exist"),
        ("./windows", "the first line of ./windows ends as on Windows (CR LF)"),
        ("./bare.py", "./bare.py is a text without a first line (#!)"),
        (f"{PYTHON} bar.py", "there is no file bar.py (did you mean 'bare.py'?)"),
        ("sh ~/bar.sh", "there is no file {home}/bar.sh"),
        ("player.zip", "a ZIP file cannot be started here; unpack it"),
    ],
)
def test_a_command_that_cannot_be_started_is_refused_with_advice(
    text: str, problem: str, folder: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even root may not execute a file without any execute permission."""
    assert problem.format(home=folder) in problem_of(text)
    monkeypatch.chdir(tmp_path_factory.mktemp("other"))
    assert problem.format(home=folder) in problem_of(text, cwd=str(folder))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("binary", "{home}/binary is a program for Linux; let it play in a container (--image) or in WSL"),
        ("locked.txt", "{home}/locked.txt is no program that Windows can start"),
        ("./strange.exe", ""),
        ("./bott.py", "there is no file ./bott.py"),
        ("no-such-command", "there is no command no-such-command on the PATH and no such file here"),
    ],
)
def test_windows_judges_a_program_by_its_suffix(text: str, problem: str, folder: Path) -> None:
    found = problem_of(text, "win32")
    assert found.startswith(problem.format(home=folder))
    assert bool(found) == bool(problem)


def test_a_jar_needs_java_and_commands_are_suggested_if_they_are_very_similar(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(folder / "commands"))
    assert problem_of("bot.jar") == "there is no command java; install Java, or give the path of its program"
    assert problem_of("python") == "there is no command python; install Python, or give the path of its program"
    assert problem_of("nix") == "there is no command nix on the PATH and no such file here"
    assert problem_of("pngfx").endswith(" (did you mean 'pngfix'?)")
    (folder / "commands" / "java").touch(0o755)
    assert problem_of("bot.jar") == ""
    assert problem_of("java -Xmx1g -jar bot2.jar") == "there is no file bot2.jar (did you mean 'bot.jar'?)"


def test_a_program_that_may_not_be_read_is_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr("builtins.open", refuse)
    assert problem_of("./bot") == ""
