"""The choice of a sandbox, and the conditions that each one keeps."""

from __future__ import annotations

from pathlib import Path

import pytest

from spielleiter.common.errors import SetupError
from spielleiter.programs.contest_conditions import MACHINE, Condition
from spielleiter.programs.sandbox import choice
from spielleiter.programs.sandbox.choice import choose_sandbox
from spielleiter.programs.sandbox.plain import PlainSandbox
from spielleiter.programs.sandbox.sandbox import Sandbox
from tests.programs.sandbox.sandboxes import KINDS, make_sandbox


def install(folder: Path, name: str, script: str) -> None:
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder on the PATH."""
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


def test_the_default_is_bubblewrap_and_another_one_can_be_asked_for(
    programs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[None] = []
    monkeypatch.setattr(choice, "remove_stale_folders", lambda: calls.append(None))  # what killed matches have left
    install(programs, "bwrap", "exit 0")
    assert choose_sandbox().name == choose_sandbox(kind="bubblewrap").name == "bubblewrap"
    assert choose_sandbox(kind="none").name == "none"
    assert len(calls) == 3


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        (None, "bubblewrap is not installed (Debian, Ubuntu: `sudo apt install bubblewrap`)."),
        (
            "echo 'bwrap: No permissions to create new namespace' >&2; exit 1",
            "bubblewrap may not make name spaces here: No permissions to create new namespace.",
        ),
    ],
)
def test_without_bubblewrap_there_are_plain_limits_and_a_reason(
    script: str | None, reason: str, programs: Path
) -> None:
    if script is not None:
        install(programs, "bwrap", script)
    sandbox = choose_sandbox()
    assert sandbox.name == "none"
    assert sandbox.gaps[Condition.NETWORK].endswith(reason)
    with pytest.raises(SetupError) as refused:
        choose_sandbox(kind="bubblewrap")
    assert str(refused.value) == f"sandbox bubblewrap: {reason}"


def test_other_systems_have_no_bubblewrap_and_a_file_may_be_no_program(
    programs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (programs / "bwrap").write_bytes(b"\x7fELF")
    (programs / "bwrap").chmod(0o755)
    assert "bubblewrap cannot be started" in choose_sandbox().gaps[Condition.NETWORK]
    monkeypatch.setattr("sys.platform", "darwin")
    assert "bubblewrap exists on Linux only." in choose_sandbox().gaps[Condition.NETWORK]


def test_a_python_that_cannot_be_moved_is_a_reason(programs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(programs, "bwrap", "exit 0")

    def fail() -> None:
        raise OSError("/opt/python is not below /usr")

    monkeypatch.setattr("spielleiter.programs.sandbox.bubblewrap.python_inside", fail)
    assert "cannot run this Python: /opt/python is not below /usr" in choose_sandbox().gaps[Condition.NETWORK]
    monkeypatch.setattr("spielleiter.programs.sandbox.containers.python_inside", fail)
    install(programs, "docker", "echo {}")
    with pytest.raises(SetupError, match="docker cannot run this Python"):
        choose_sandbox("python:3.12", "docker")


@pytest.mark.parametrize(
    ("image", "kind", "problem"),
    [
        (None, "jail", "sandbox 'jail': expected auto, docker, podman, bubblewrap, none"),
        (None, "docker", "sandbox docker: expected an image, such as --image python:3.12"),
        (None, "podman", "sandbox podman: expected an image, such as --image python:3.12"),
        ("x", "none", "sandbox none: has no images, expected --sandbox docker or podman for x"),
        ("x", "auto", "image x: docker is not installed. podman is not installed"),
        ("x", "podman", "image x: podman is not installed"),
    ],
)
def test_what_is_not_there_is_refused(image: str | None, kind: str, problem: str, programs: Path) -> None:
    with pytest.raises(SetupError) as refused:
        choose_sandbox(image, kind)
    assert str(refused.value) == problem


def test_an_image_is_looked_for_in_both_engines(programs: Path) -> None:
    install(programs, "docker", 'case "$1" in image) exit 1 ;; *) echo {} ;; esac')
    install(programs, "podman", 'case "$1" in image) echo amd64 ;; ps) ;; *) echo {} ;; esac')
    assert choose_sandbox("x").name == "podman"
    assert choose_sandbox("x", "podman").name == "podman"
    with pytest.raises(SetupError, match="docker has no image 'x' on this machine"):
        choose_sandbox("x", "docker")


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_each_condition_is_kept_or_has_a_reason(kind: str) -> None:
    check(make_sandbox(kind))


def check(sandbox: Sandbox) -> None:
    assert sandbox.kept | set(sandbox.gaps) == set(MACHINE)
    assert not sandbox.kept & set(sandbox.gaps)
    assert all(text.endswith(".") and "\n" not in text for text in sandbox.gaps.values())


@pytest.mark.parametrize(("system", "machine"), [("win32", "AMD64"), ("darwin", "arm64"), ("linux", "aarch64")])
def test_other_systems_keep_less(system: str, machine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", system)
    monkeypatch.setattr("platform.machine", lambda: machine)
    monkeypatch.setattr("shutil.which", lambda *_, **__: None)  # from Python 3.12 on, it calls Windows there
    sandbox = PlainSandbox("There is no bubblewrap.")
    check(sandbox)
    assert Condition.PLATFORM in sandbox.gaps
    limited = {Condition.MEMORY, Condition.PROCESSES, Condition.PROCESSOR}
    assert limited & set(sandbox.gaps) == (limited if system == "darwin" else set())  # Windows has Job Objects
    assert (Condition.DISPLAY in sandbox.gaps) == (system != "linux")
    assert sandbox.gaps[Condition.NETWORK].endswith("There is no bubblewrap.")
