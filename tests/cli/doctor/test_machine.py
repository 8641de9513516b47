"""Findings about Python, the system, the processor, the memory and the terminal."""

from __future__ import annotations

import io
import sys
import webbrowser
from typing import TextIO

import psutil
import pytest

from spielleiter.cli.doctor.finding import Level
from spielleiter.cli.doctor.machine import (
    available_memory,
    find_browser,
    find_cores,
    find_memory,
    find_python,
    find_system,
    find_terminal,
    usable_cores,
)


@pytest.mark.parametrize(
    ("version", "level", "meaning"),
    [
        ((3, 10, 13), Level.MISSING, "Install Python 3.11 or newer."),
        ((3, 11, 2), Level.OK, "Nothing else is needed"),
        ((3, 14, 0), Level.OK, "Nothing else is needed"),
        ((3, 15, 0), Level.LIMITED, "try Python 3.14"),
    ],
)
def test_python(version: tuple[int, ...], level: Level, meaning: str) -> None:
    finding = find_python(version)
    assert finding.level is level
    assert finding.state.startswith(".".join(map(str, version)))
    assert meaning in finding.meaning


def test_a_frozen_program_brings_its_python_along(monkeypatch: pytest.MonkeyPatch) -> None:
    assert sys.executable in find_python().state
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    assert find_python().state.endswith(", part of this program")


@pytest.mark.parametrize(
    ("system", "level"), [("linux", Level.OK), ("darwin", Level.LIMITED), ("win32", Level.LIMITED)]
)
def test_only_linux_has_everything(system: str, level: Level) -> None:
    assert find_system(system).level is level


@pytest.mark.parametrize(
    ("cores", "level", "meaning"),
    [(1, Level.LIMITED, "--concurrency 1"), (2, Level.OK, "one game at a time"), (8, Level.OK, "4 games at a time")],
)
def test_cores(cores: int, level: Level, meaning: str) -> None:
    finding = find_cores(cores)
    assert (finding.level, finding.state) == (level, str(cores))
    assert meaning in finding.meaning


def test_the_cores_of_this_process_are_counted() -> None:
    assert find_cores().state == str(usable_cores())


@pytest.mark.parametrize(
    ("memory", "level", "state"),
    [
        (None, Level.OK, "not told by this system"),
        (2**30, Level.LIMITED, "1.0 GB free"),
        (2**33, Level.OK, "8.0 GB free"),
    ],
)
def test_memory(memory: int | None, level: Level, state: str) -> None:
    finding = find_memory(lambda: memory)
    assert (finding.level, finding.state) == (level, state)
    assert "1.5 GB in the contest" in finding.meaning


def test_every_system_tells_the_free_memory() -> None:
    memory = available_memory()
    assert memory is not None
    assert 0 < memory < psutil.virtual_memory().total


def test_a_container_may_hide_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise FileNotFoundError("/proc/meminfo")

    monkeypatch.setattr(psutil, "virtual_memory", fail)
    assert available_memory() is None


class _Terminal(io.TextIOWrapper):
    def isatty(self) -> bool:
        return True


def stream(encoding: str, kind: type[io.TextIOWrapper] = io.TextIOWrapper) -> TextIO:
    return kind(io.BytesIO(), encoding=encoding)


def test_a_terminal_that_shows_everything() -> None:
    finding = find_terminal(stream("utf-8", _Terminal))
    assert (finding.level, finding.state) == (Level.OK, "a terminal, encoding utf-8")
    assert finding.meaning == "Every character can be shown."


def test_an_output_that_is_no_terminal() -> None:
    finding = find_terminal(stream("utf-8"))
    assert (finding.level, finding.state) == (Level.OK, "no terminal, encoding utf-8")
    assert "on terminals only" in finding.meaning


@pytest.mark.parametrize(
    ("system", "is_frozen", "advice"),
    [
        ("win32", False, "set the variable PYTHONUTF8 to 1"),
        ("win32", True, "in a window"),
        ("linux", False, "LANG=C.UTF-8"),
    ],
)
def test_an_encoding_that_lacks_characters(
    system: str, is_frozen: bool, advice: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On Windows, only files and pipes lack characters; `chcp` changes nothing for them."""
    monkeypatch.setattr(sys, "frozen", is_frozen, raising=False)
    finding = find_terminal(stream("cp850"), system)
    assert finding.level is Level.LIMITED
    assert advice in finding.meaning


def test_the_browser() -> None:
    def fail() -> object:
        raise webbrowser.Error("could not locate runnable browser")

    assert find_browser(object).level is Level.OK
    finding = find_browser(fail)
    assert finding.level is Level.LIMITED
    assert "--html" in finding.meaning
