"""Findings for matches: supervision, sandboxes, Java and Python for players."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from spielleiter.cli.doctor import programs
from spielleiter.cli.doctor.finding import Level
from spielleiter.match.errors import SupervisorError
from spielleiter.match.programs.process_spec import ProcessSpec

START = "spielleiter.match.programs.fork_server_client.start_supervised_process"

only_linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has supervisors")


@only_linux
@pytest.mark.slow
def test_programs_are_supervised_here() -> None:
    finding = programs.find_supervision()
    assert (finding.level, finding.state) == (Level.OK, "supervised")


@only_linux
def test_a_system_without_supervisors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(START, lambda _spec: None)
    finding = programs.find_supervision()
    assert finding.level is Level.LIMITED
    assert finding.state == "not supervised: there are no supervisors on this system"


@only_linux
def test_supervisors_that_do_not_start(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_spec: ProcessSpec) -> None:
        raise SupervisorError("it was stopped")

    monkeypatch.setattr(START, fail)
    assert programs.find_supervision().state == "not supervised: it was stopped"


def test_a_system_that_binds_no_program_to_a_core(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "sched_setaffinity", raising=False)
    assert programs.find_supervision(lambda: "").meaning.endswith("It cannot bind programs to a core.")


def test_bubblewrap() -> None:
    assert programs.find_bubblewrap(lambda: "").level is Level.OK
    finding = programs.find_bubblewrap(lambda: "bubblewrap is not installed.")
    assert (finding.level, finding.state) == (Level.LIMITED, "bubblewrap is not installed.")
    assert "--image" in finding.meaning


@pytest.mark.parametrize(
    ("broken", "level", "state"),
    [
        ((), Level.OK, "docker and podman can be used"),
        (("docker",), Level.OK, "podman can be used"),
        (("docker", "podman"), Level.LIMITED, "docker is gone. podman is gone."),
    ],
)
def test_one_container_engine_is_enough(broken: tuple[str, ...], level: Level, state: str) -> None:
    finding = programs.find_containers(lambda engine: f"{engine} is gone." if engine in broken else "")
    assert (finding.level, finding.state) == (level, state)


def java(folder: Path, script: str) -> str:
    """Return the path of a program that plays the part of Java."""
    path = folder / "java"
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(0o755)
    return str(path)


@pytest.mark.slow
def test_java_says_its_version(tmp_path: Path) -> None:
    program = java(tmp_path, """echo 'openjdk version "17.0.1"' >&2; echo more >&2""")
    finding = programs.find_java(lambda _word: program)
    assert (finding.level, finding.state) == (Level.OK, f'openjdk version "17.0.1", {program}')


@pytest.mark.slow
def test_java_that_does_not_run(tmp_path: Path) -> None:
    """On macOS, a program of this name only says that there is no Java."""
    program = java(tmp_path, "exit 1")
    finding = programs.find_java(lambda _word: program)
    assert finding.level is Level.LIMITED
    assert finding.state.startswith(f"{program} does not run: ")


def test_without_java_only_jar_files_cannot_be_started() -> None:
    finding = programs.find_java(lambda _word: None)
    assert (finding.level, finding.state) == (Level.LIMITED, "not found")


@pytest.mark.parametrize(
    ("system", "found", "level", "text"),
    [
        ("linux", "python3", Level.OK, "`python3 FILE`"),
        ("win32", "python", Level.OK, "`python FILE`"),
        ("win32", "python3", Level.LIMITED, f"write `{sys.executable} FILE` instead."),
        ("linux", "", Level.LIMITED, f"write `{sys.executable} FILE` instead."),
    ],
)
def test_the_word_that_starts_players_in_python(system: str, found: str, level: Level, text: str) -> None:
    finding = programs.find_player_python({found: f"/bin/{found}"}.get, system)
    assert finding.level is level
    assert text in finding.meaning


def test_a_frozen_program_is_no_python_for_players(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    assert programs.find_player_python(lambda _word: None).meaning.endswith("install Python for those.")
