"""Findings for matches: supervision, sandboxes, Java and Python for players."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from spielleiter.cli.doctor import programs
from spielleiter.cli.doctor.finding import Level
from spielleiter.common.errors import SupervisorError
from spielleiter.programs.process import ProcessSpec


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has supervisors")
@pytest.mark.slow
def test_programs_are_supervised_here() -> None:
    finding = programs.find_supervision()
    assert (finding.level, finding.state) == (Level.OK, "supervised")


def replace_start(monkeypatch: pytest.MonkeyPatch, start: Callable[[ProcessSpec], None]) -> None:
    if sys.platform != "linux":
        pytest.skip("only Linux has supervisors")
    from spielleiter.programs import linux as fork_server_client

    monkeypatch.setattr(fork_server_client, "start_supervised_process", start)


def test_a_system_without_supervisors(monkeypatch: pytest.MonkeyPatch) -> None:
    replace_start(monkeypatch, lambda _spec: None)
    finding = programs.find_supervision()
    assert finding.level is Level.LIMITED
    assert finding.state == "not supervised: there are no supervisors on this system"


def test_supervisors_that_do_not_start(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_spec: ProcessSpec) -> None:
        raise SupervisorError("it was stopped")

    replace_start(monkeypatch, fail)
    assert programs.find_supervision().state == "not supervised: it was stopped"


def test_a_job_object_keeps_programs_together_on_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[Any] = []

    def open_job() -> Any:
        opened.append(Mock())
        return opened[-1]

    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setattr(programs, "job_problem", partial(programs.job_problem, open_job))
    finding = programs.find_supervision()
    assert (finding.level, finding.state) == (Level.OK, "supervised")
    assert [job.close.call_count for job in opened] == [1]


def test_windows_may_refuse_a_job_object() -> None:
    problem = programs.job_problem(Mock(side_effect=OSError(5, "access denied")))
    assert problem == "Windows refuses a Job Object ([Errno 5] access denied)"


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


def program_of(folder: Path, script: str, name: str = "java") -> str:
    """Return the path of a program that takes the place of Java or Python."""
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(0o755)
    return str(path)


@pytest.mark.slow
def test_java_says_its_version(tmp_path: Path) -> None:
    program = program_of(tmp_path, """echo 'openjdk version "17.0.1"' >&2; echo more >&2""")
    finding = programs.find_java(lambda _word: program)
    assert (finding.level, finding.state) == (Level.OK, f'openjdk version "17.0.1", {program}')


@pytest.mark.slow
def test_java_that_does_not_run(tmp_path: Path) -> None:
    """On macOS, a program of this name only says that there is no Java."""
    program = program_of(tmp_path, "exit 1")
    finding = programs.find_java(lambda _word: program)
    assert finding.level is Level.LIMITED
    assert finding.state.startswith(f"{program} does not run: ")


def test_without_java_only_jar_files_cannot_be_started() -> None:
    finding = programs.find_java(lambda _word: None)
    assert (finding.level, finding.state) == (Level.LIMITED, "not found")


@pytest.mark.slow
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
    finding = programs.find_player_python({found: sys.executable}.get, system)
    assert finding.level is level
    assert text in finding.meaning


@pytest.mark.slow
def test_a_program_that_only_opens_the_store_is_no_python(tmp_path: Path) -> None:
    """Windows has such a `python`, which prints a sentence and ends with an error."""
    program = program_of(tmp_path, "echo 'Python was not found'; exit 49", "python")
    finding = programs.find_player_python({"python": program}.get, "win32")
    assert finding.level is Level.LIMITED
    assert finding.state.startswith(f"{program} does not run: ")
    works = programs.find_player_python({"py": sys.executable, "python": program}.get, "win32")
    assert works.state.startswith("Python 3.")


def test_a_frozen_program_is_no_python_for_players(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    assert programs.find_player_python(lambda _word: None).meaning.endswith("install Python for those.")
