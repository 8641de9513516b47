"""What a package needs on a PC that is no Linux machine: only a script that does nothing but start an interpreter."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from spielleiter.league.package_needs import JAVA, PYTHON, Machine, PackageNeeds, package_needs, run_problem
from tests.contest.packages import write_package

START = "#!/bin/sh\n"
SOURCES = {"main.py": "import sys\n", "bot.jar": "PK", "lib/other.py": "", "my bot.py": ""}


def needs_of(folder: Path, script: str, name: str = "start.sh") -> PackageNeeds:
    return package_needs(write_package(folder / "package.zip", {name: script, **SOURCES}), name)


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ('exec python3 main.py "$@"', ("python", "main.py")),
        ('python3 main.py "$@"', ("python", "main.py")),
        ("python3 main.py $@", ("python", "main.py")),
        ("python3 main.py $*", ("python", "main.py")),
        ('python3 main.py "${@}"', ("python", "main.py")),
        ('python3.12 -I -S main.py "$@"', ("python", "-I", "-S", "main.py")),
        ('/usr/bin/python3 main.py "$@"', ("python", "main.py")),
        ('/usr/local/bin/python lib/other.py "$@"', ("python", "lib/other.py")),
        ('java -Xmx1g -jar bot.jar "$@"', ("java", "-Xmx1g", "-jar", "bot.jar")),
        ('/usr/bin/java -jar bot.jar "$@"', ("java", "-jar", "bot.jar")),
        ('cd "$(dirname "$0")"\nexec python3 main.py "$@"', ("python", "main.py")),
        ('cd -- "$(dirname -- "${BASH_SOURCE[0]}")" || exit 1\npython3 main.py "$@"', ("python", "main.py")),
        ("cd ${0%/*}\n# a comment\n\nset -euo pipefail\npython3 main.py $@", ("python", "main.py")),
        ('python3 "$(dirname "$0")/main.py" "$@"', ("python", "main.py")),
        ('python3 "my bot.py" "$@"', ("python", "my bot.py")),
        ('python3 main.py "$@"\r\n', ("python", "main.py")),
        ('python3 main.py --depth 4 "$@"', ("python", "main.py", "--depth", "4")),
    ],
)
def test_script_that_starts_an_interpreter(tmp_path: Path, script: str, words: tuple[str, ...]) -> None:
    needs = needs_of(tmp_path, START + script + "\n")
    assert needs.words == words
    assert needs.interpreter == (JAVA if words[0] == "java" else PYTHON)


@pytest.mark.parametrize(
    "script",
    [
        "",
        "# nothing",
        "python3 main.py",  # the parameters do not arrive
        'python3 "$@"',
        'python3 missing.py "$@"',
        'python3 -c "import os" "$@"',
        './bot "$@"',
        'bash main.py "$@"',
        '/tmp/python3 main.py "$@"',
        './python3 main.py "$@"',
        '../usr/bin/python3 main.py "$@"',
        'python3x main.py "$@"',
        'python3 main.py "$@" &',
        'python3 main.py "$@"; rm -rf /',
        'rm -rf / ; python3 main.py "$@"',
        'rm -rf / && python3 main.py "$@"',
        'python3 main.py | tee log "$@"',
        'python3 main.py > log "$@"',
        'python3 main.py $(reboot) "$@"',
        'python3 main.py `reboot` "$@"',
        'python3 main.py ${HOME} "$@"',
        'python3 main.py *.py "$@"',
        'python3 main.py ~ "$@"',
        'python3 main.py \\\n"$@"',
        'python3 "main.py "$@"',
        'python3 \'main.py "$@"',
        'export A=1\npython3 main.py "$@"',
        'LD_PRELOAD=x python3 main.py "$@"',
        'cd /\npython3 main.py "$@"',
        'cd "$(dirname "$0")"; reboot\npython3 main.py "$@"',
        'cd "$(dirname "$0")" || exit 1; reboot\npython3 main.py "$@"',
        'set -e; reboot\npython3 main.py "$@"',
        'python3 main.py "$@"\npython3 main.py "$@"',
        'if true; then\npython3 main.py "$@"\nfi',
        '<own>/python3 main.py "$@"',
        'python3 main.py "$(dirname "$0")" "$@"',
        'cd <own>\npython3 main.py "$@"',
        '\0/python3 main.py "$@"',
        'cd \0\npython3 main.py "$@"',
        'exec\npython3 main.py "$@"',
        'exec exec python3 main.py "$@"',
        'python3 main.py\x0breboot "$@"',
        'python3 main.py\x85reboot "$@"',
    ],
)
def test_any_other_script_needs_the_contests_system(tmp_path: Path, script: str) -> None:
    assert needs_of(tmp_path, START + script + "\n") == PackageNeeds()


def test_python_file_needs_python_and_no_words(tmp_path: Path) -> None:
    needs = needs_of(tmp_path, "#!/usr/bin/env python3\nprint()\n", "bot.py")
    assert needs == PackageNeeds(PYTHON)


def test_machine_code_is_seen(tmp_path: Path) -> None:
    path = tmp_path / "package.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("start.sh", START + 'python3 main.py "$@"\n')
        archive.writestr("main.py", "import fast\n")
        archive.writestr("fast.so", b"\x7fELF\x02\x01\x01" + bytes(57))
    assert package_needs(path) == PackageNeeds(PYTHON, ("python", "main.py"), is_native=True)


@pytest.mark.parametrize("content", [b"", b"PK", b"no ZIP" * 1000], ids=["empty", "begin", "text"])
def test_what_is_no_package_needs_the_contests_system(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "package.zip").write_bytes(content)
    assert package_needs(tmp_path / "package.zip") == PackageNeeds()
    assert package_needs(tmp_path / "missing.zip") == PackageNeeds()


def test_script_that_is_a_long_line_takes_no_long_time(tmp_path: Path) -> None:
    for piece in ("cd ", "set -e", "$(dirname ", '"$@" ', "a" * 100 + " ", "\\" * 100, " " * 1000):
        assert needs_of(tmp_path, f"{START}{piece * 2000}\n") == PackageNeeds()


@pytest.mark.parametrize(
    ("needs", "changes", "problem"),
    [
        (PackageNeeds(PYTHON), {}, ""),
        (PackageNeeds(JAVA, ("java", "-jar", "bot.jar")), {}, "it has no Java"),
        (PackageNeeds(), {}, "it is no Linux machine"),
        (PackageNeeds(PYTHON, is_native=True), {}, "it is no Linux machine"),
        (PackageNeeds(), {"system": "linux"}, ""),
        (PackageNeeds(is_native=True), {"system": "linux"}, ""),
        (PackageNeeds(is_native=True), {"system": "linux", "processor": "arm64"}, "its processor is arm64, not x86-64"),
        (PackageNeeds(PYTHON), {"system": "darwin", "processor": "arm64"}, ""),
    ],
)
def test_where_a_package_can_run(needs: PackageNeeds, changes: dict[str, str], problem: str) -> None:
    usual = {"system": "win32", "processor": "AMD64"} | changes
    machine = Machine(
        host="pc-1",
        cores=4,
        speed=1.0,
        sandbox="none",
        sandbox_gap="",
        interpreters={PYTHON: "3.12"},
        version="0.1.0",
        **usual,
    )
    assert run_problem(needs, machine) == problem
