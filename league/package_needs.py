"""What a package needs on the machine that runs it, as far as its main file shows; nothing is started.

Packages are made for the contest's Linux. On another system only those play that an interpreter runs, Python or Java:
their main file is a Python file, or a shell script that does nothing but start one.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path, PurePosixPath
from typing import Final

import msgspec

from spielleiter.programs.packages.archive import PackageArchive, open_archive
from spielleiter.programs.packages.compiled import is_machine_code
from spielleiter.programs.packages.faults import Finding, PackageError
from spielleiter.programs.packages.main_file import MainFile, choose_main, read_main
from spielleiter.programs.sandbox.sandbox import X86_64

PYTHON: Final = "python"
JAVA: Final = "java"

_LINUX: Final = "linux"
_PYTHON: Final = re.compile(r"(?:/usr(?:/local)?/bin/)?python3?(?:\.\d+)?")
_JAVA: Final = re.compile(r"(?:/usr/bin/)?java")
_OWN_FOLDER: Final = re.compile(r"\$\(dirname (?:--)? ?\"?\$(?:0|\{?BASH_SOURCE(?:\[0\]\})?)\"?\)|\$\{0%/\*\}")
_OWN: Final = "\0"
"""Stands for the folder of the script."""
_CHANGE_FOLDER: Final = re.compile(r"cd (?:-- )?\"?\0\"?(?: *\|\| *exit(?: \d+)?)?")
_HARMLESS: Final = re.compile(r"set -[a-z]+(?: pipefail)?")
_SPECIAL: Final = re.compile(r"[$`|&;<>(){}*?\[\]~\\\0]")
# from the first blank of a run only: a search from each of them would take quadratic time with what a pupil uploads
_PARAMETERS: Final = re.compile(r"(?<!\s)\s+(?:\"\$@\"|\$@|\"?\$\{@\}\"?|\$\*)$")


class PackageNeeds(msgspec.Struct, frozen=True):
    """What a package needs."""

    interpreter: str = ""
    """PYTHON or JAVA; empty if it needs the contest's system."""
    words: tuple[str, ...] = ()
    """How to start it without a shell, in its folder and before its parameters; empty: by its main file alone."""
    is_native: bool = False
    """Whether it contains machine code, which is for the contest's processors."""


class Machine(msgspec.Struct, frozen=True):
    """What is known about a machine that may run packages."""

    host: str
    system: str
    """As in `sys.platform`."""
    processor: str
    """As `platform.machine` names it."""
    cores: int
    speed: float
    """How many times as fast as the processor of the contest a core is, as `spielleiter check` estimates it."""
    sandbox: str
    """The kind of its sandbox; "none" if programs are not confined."""
    sandbox_gap: str
    """Why it has no sandbox, in one sentence; empty if it has one."""
    interpreters: dict[str, str]
    """The versions of PYTHON and JAVA, as far as it has them."""
    version: str
    """The version of spielleiter."""


def package_needs(path: Path, main: str = "") -> PackageNeeds:
    """Return what the package at `path` needs, whose main file is `main`; empty: the one that is found. Blocks.

    A package that cannot be read needs the contest's system.
    """
    try:
        with open_archive(path) as archive:
            chosen = choose_main(archive, main or None)
            if isinstance(chosen, Finding):
                return PackageNeeds()
            return _needs_of(archive, read_main(archive, chosen))
    except (PackageError, OSError, ValueError):
        return PackageNeeds()


def _needs_of(archive: PackageArchive, main: MainFile) -> PackageNeeds:
    is_native = any(is_machine_code(archive.read(each, 64)) for each in archive.files.values())
    if _PYTHON.fullmatch(main.interpreter):
        return PackageNeeds(PYTHON, is_native=is_native)
    words = _started_by(main.text, archive) if main.is_shell and len(main.entry.path.parts) == 1 else ()
    if not words:
        return PackageNeeds(is_native=is_native)
    return PackageNeeds(JAVA if _JAVA.fullmatch(words[0]) else PYTHON, words, is_native)


def _started_by(text: str, archive: PackageArchive) -> tuple[str, ...]:
    """Return the words of the only command of a script; empty if it has others, or does not start Python or Java."""
    if _OWN in text:
        return ()
    commands = []
    for line in text.splitlines():
        command = _OWN_FOLDER.sub(_OWN, line.strip())
        if command and not command.startswith("#") and not _CHANGE_FOLDER.fullmatch(command):
            commands.append(command)
    commands = [each for each in commands if not _HARMLESS.fullmatch(each)]
    if len(commands) != 1:
        return ()
    command, is_passing = _PARAMETERS.subn("", commands[0])
    command = command.replace(f"{_OWN}/", "")
    if not is_passing or _SPECIAL.search(command):
        return ()
    try:
        words = shlex.split(command)
    except ValueError:
        return ()
    if words[:1] == ["exec"]:
        del words[0]
    if len(words) < 2 or not (_JAVA.fullmatch(words[0]) or _PYTHON.fullmatch(words[0])):
        return ()
    if not any(PurePosixPath(word) in archive.files for word in words[1:]):
        return ()
    return (JAVA if _JAVA.fullmatch(words[0]) else PYTHON, *words[1:])


def run_problem(needs: PackageNeeds, machine: Machine) -> str:
    """Return why a machine cannot run such a package; empty if it can, as far as is known."""
    if needs.interpreter and needs.interpreter not in machine.interpreters:
        return f"it has no {needs.interpreter.capitalize()}"
    if machine.system != _LINUX and (not needs.interpreter or needs.is_native):
        return "it is no Linux machine"
    if needs.is_native and machine.processor.lower() not in X86_64:
        return f"its processor is {machine.processor}, not x86-64"
    return ""
