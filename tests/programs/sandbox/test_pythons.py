"""The Python for a package, and our own inside a sandbox."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from spielleiter.programs.sandbox import pythons as module
from spielleiter.programs.sandbox.pythons import (
    CONTEST_VERSION,
    TOOLS,
    FoundPython,
    find_python,
    python_inside,
    write_commands,
)


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine without Python, whose programs are in `bin` and whose home folder is `home`."""
    for name in ("bin", "home"):
        (tmp_path / name).mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return tmp_path


def install(path: Path, version: str, *, has_pip: bool = True, answer: str | None = None) -> Path:
    """Write a program that answers as the Python of this version does."""
    path.parent.mkdir(parents=True, exist_ok=True)
    known = json.dumps([version, str(path), str(path.parent), has_pip]) if answer is None else answer
    path.write_text(f"#!/bin/sh\necho '{known}'\n")
    path.chmod(0o755)
    return path


def found(machine: Path, **options: str) -> str | None:
    """The interpreter that is found, relative to the machine's folder."""
    python = find_python(**options)
    return None if python is None else os.path.relpath(python.executable, machine)


def test_the_version_that_a_package_is_built_for_comes_first_then_that_of_the_contest(machine: Path) -> None:
    assert found(machine) is None
    install(machine / "bin" / "python3", "3.11.2")
    assert found(machine) == "bin/python3"
    name, pyenv = f"python{CONTEST_VERSION}", f".pyenv/versions/{CONTEST_VERSION}.1/bin/python{CONTEST_VERSION}"
    install(machine / "bin" / name, f"{CONTEST_VERSION}.1", has_pip=False)
    assert found(machine) == f"bin/{name}"
    install(machine / "home" / pyenv, f"{CONTEST_VERSION}.1")
    assert found(machine) == f"home/{pyenv}"  # one with pip is preferred
    install(machine / "bin" / name, f"{CONTEST_VERSION}.7")
    assert found(machine) == f"bin/{name}"
    install(machine / "bin" / "python3", f"{CONTEST_VERSION}.10")
    assert found(machine) == found(machine, built_for="3.10") == "bin/python3"
    install(machine / "bin" / "python3.10", "3.10.4")
    assert found(machine, built_for="3.10") == "bin/python3.10"
    install(machine / "other" / "python3", "3.9.2")
    for path, expected in ((None, (f"{CONTEST_VERSION}.10", True)), (str(machine / "other"), ("3.9.2", True))):
        python = find_python(path)
        assert python is not None
        assert (python.version, python.is_default) == expected
        (machine / "bin" / "python3").unlink(missing_ok=True)
        (machine / "bin" / name).unlink(missing_ok=True)
        (machine / "home" / pyenv).unlink(missing_ok=True)


@pytest.mark.parametrize("answer", ["version not installed", "[1, 2, 3, 4]", "null"])
def test_what_does_not_answer_like_python_is_none(answer: str, machine: Path) -> None:
    """A version manager has such programs for versions that are not installed."""
    install(machine / "bin" / f"python{CONTEST_VERSION}", "", answer=answer)
    assert find_python() is None


def test_each_is_asked_once_but_again_if_it_could_not_be_started_or_answered_nonsense(machine: Path) -> None:
    log, answer = machine / "log", machine / "answer"
    program = machine / "bin" / "python3"
    program.write_text(f'#!{machine}/sh\necho asked >>{machine}/log\nread line <{machine}/answer\necho "$line"\n')
    program.chmod(0o755)
    assert find_python() is None
    (machine / "sh").symlink_to("/bin/sh")
    known = '["3.11.2", "x", "x", true]'
    for text, version in (("not installed", None), ("null", None), (known, "3.11.2"), ("", "3.11.2")):
        answer.write_text(f"{text}\n")
        python = find_python()
        assert (None if python is None else python.version) == version
    assert log.read_text() == "asked\n" * 3


def test_one_that_is_replaced_is_asked_again(machine: Path) -> None:
    """Even if the new file has the size and the time of the old one, as those of an archive may."""
    program, new = install(machine / "bin" / "python3", "3.11.2"), machine / "new"
    status = program.stat()
    assert find_python() is not None
    new.write_text(program.read_text().replace("3.11.2", "3.11.3"))
    new.chmod(0o755)
    os.utime(new, ns=(status.st_atime_ns, status.st_mtime_ns))
    new.replace(program)
    python = find_python()
    assert python is not None
    assert python.version == "3.11.3"


def test_one_whose_installation_is_the_home_folder_is_not_taken(machine: Path) -> None:
    """A sandbox would show that folder to the program."""
    for folder in (machine / "home", machine):
        program = machine / "home" / "bin" / f"python{CONTEST_VERSION}"
        known = json.dumps([f"{CONTEST_VERSION}.1", str(program), str(folder), True])
        install(machine / "bin" / program.name, "", answer=known)
        assert find_python() is None


def test_that_of_a_virtual_environment_is_replaced_by_its_base(machine: Path) -> None:
    """The shim of a version manager may start one. A sandbox is given the installation, without the environment."""
    name = f"python{CONTEST_VERSION}"
    base = install(machine / "base" / "bin" / name, f"{CONTEST_VERSION}.1")
    environment = machine / "venv" / name
    environment.parent.mkdir()
    environment.symlink_to(base)
    known = json.dumps([f"{CONTEST_VERSION}.1", str(environment), str(machine / "base"), True])
    install(machine / "bin" / name, "", answer=known)
    assert found(machine) == f"base/bin/{name}"


def test_its_commands_start_it(tmp_path: Path) -> None:
    python = FoundPython("3", sys.executable, sys.base_prefix)
    write_commands(python, tmp_path)
    assert {each.name for each in tmp_path.iterdir()} == {"python3", "python", "pip3", "pip"}
    script = "import sys; print(sys.executable, sys.argv[1:])"
    done = subprocess.run(
        [tmp_path / "python3", "-c", script, "a b"], capture_output=True, text=True, check=True, timeout=600
    )
    assert done.stdout == f"{sys.executable} ['a b']\n"


def test_everything_that_the_command_names_is_mounted() -> None:
    python = python_inside()
    assert python.command[-1] == f"{TOOLS}/helper.py"
    for path, source in python.mounts.items():
        assert path.startswith(f"{TOOLS}/")
        assert Path(source).exists()
    for word in python.command:
        if word.startswith(TOOLS):
            for path in word.split(":"):
                mount = next(each for each in python.mounts if path == each or path.startswith(f"{each}/"))
                assert Path(python.mounts[mount] + path[len(mount) :]).exists()


def test_pythons_own_libraries_come_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise an interpreter could load the libpython of another one, which the system has."""
    maps = "7f 00 r 0 1 /lib/ld-musl-x86_64.so.1\n7f 00 r 0 1 /usr/lib/libz.so.1\n7f 00 r 0 1\n7f 00 r 0 1 [stack]\n"
    (tmp_path / "maps").write_text(maps)
    monkeypatch.setattr(module, "_MAPS", tmp_path / "maps")
    python = python_inside()
    assert python.command[:3] == (
        f"{TOOLS}/lib0/ld-musl-x86_64.so.1",
        "--library-path",
        f"{TOOLS}/python/lib:{TOOLS}/lib0:{TOOLS}/lib1",
    )
    assert (python.mounts[f"{TOOLS}/lib0"], python.mounts[f"{TOOLS}/lib1"]) == ("/lib", "/usr/lib")
    (tmp_path / "maps").write_text("7f 00 r 0 1 /usr/bin/python3\n")  # it is linked statically
    assert python_inside().command[0].startswith(f"{TOOLS}/python/")


def test_a_python_outside_of_its_folder_cannot_be_moved(monkeypatch: pytest.MonkeyPatch) -> None:
    other = shutil.which("sh")
    assert other is not None
    monkeypatch.setattr("sys.executable", other)
    monkeypatch.setattr("sys.base_prefix", "/nowhere")
    with pytest.raises(OSError, match="is not below /nowhere"):
        python_inside()
