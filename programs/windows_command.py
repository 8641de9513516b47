r"""How a program is started on Windows: what its first word stands for, and the command line for the system.

At the prompt of Windows, a file is started by its suffix: ``bot.py`` by Python, ``bot.bat`` by the command processor.
CreateProcess, the system call behind every start, knows programs (``.exe``, ``.com``) only. So this module names the
program that runs a file. A file with another suffix is started by the interpreter that its first line names (``#!``),
as on other systems; the main files of contest packages begin like that.

A parameter of a batch file arrives as it was given; the command processor interprets nothing in it. Nothing
here calls Windows, so the tests run on every system.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import PureWindowsPath
from typing import Final

from spielleiter.common.own_python import is_frozen as is_frozen_build

PROGRAM_SUFFIXES: Final = (".com", ".exe", ".bat", ".cmd")
"""The suffixes that may be left out at the prompt, in the order in which Windows tries them."""
PYTHON_SUFFIXES: Final = frozenset({".py", ".pyw", ".pyz"})
GIT_HINT: Final = "install Git for Windows, which brings sh along, or let it play in a container (--image)"

Find = Callable[[str], str | None]
"""Returns the path of a command, as `shutil.which` does."""

_BATCH: Final = frozenset({".bat", ".cmd"})
_SYSTEM_FOLDER: Final = "system32"  # bash.exe there is that of WSL, which knows other paths
_SHELLS: Final = frozenset({"sh", "bash", "dash", "zsh", "ksh"})
_FIRST_LINE: Final = re.compile(rb"#![ \t]*(\S+)(?:[ \t]+([^\r\n]*))?")
_HEAD_SIZE: Final = 256  # bytes that contain the first line of a file
_UNQUOTED: Final = re.compile(r"[\w#$*+\-./:?@\\]+", re.ASCII)


def suffix_of(word: str) -> str:
    """Return the suffix of a file name or a path in small letters, with its dot; empty without one."""
    return PureWindowsPath(word).suffix.lower()


def python_launcher(find: Find = shutil.which, *, is_frozen: bool | None = None) -> str:
    """Return the program that runs Python files, as at the prompt.

    This is the launcher ``py``, which obeys the first line of a file and an activated environment. Without it, it is
    the Python that runs this process, or the one on the PATH if this process is a frozen program.
    """
    if find("py"):
        return "py"
    if is_frozen is None:
        is_frozen = is_frozen_build()
    return "python" if is_frozen else sys.executable


def windows_words(words: Sequence[str], cwd: str, find: Find = shutil.which) -> list[str]:
    """Return the words of a command line with the program first that runs the file.

    `words` are not empty; relative paths start from `cwd` (empty for the current directory). The first word may lack
    the suffix of a program. What cannot be started is returned as it is: see `windows_problem`.
    """
    first, *parameters = words
    path = _existing(first, cwd)
    suffix = "" if path is None else suffix_of(path)
    # `shutil.which` begins with the current folder, whose files it returns as ``.\bot.BAT``; those are left to
    # `_existing`, which knows the folder that the program is started in
    found = None if "/" in first or "\\" in first or suffix in PYTHON_SUFFIXES else find(first)
    if found and PureWindowsPath(found).root:
        # CreateProcess finds programs on the PATH, but neither batch files nor Python files
        if suffix_of(found) in PYTHON_SUFFIXES:
            return [python_launcher(find), found, *parameters]
        return [found, *parameters] if suffix_of(found) in _BATCH else list(words)
    if path is None:
        return list(words)
    if suffix in PYTHON_SUFFIXES:
        return [python_launcher(find), first, *parameters]
    if suffix in PROGRAM_SUFFIXES:
        return [path, *parameters]
    name = _interpreter_name(_head(path))
    if name.startswith("python"):
        return [python_launcher(find), path, *parameters]
    interpreter = _shell(name, find) if name in _SHELLS else find(name) if name else None
    return [interpreter, path, *parameters] if interpreter else [path, *parameters]


def windows_problem(path: str) -> str:
    """Return why Windows cannot start this existing file, and what to do; empty if it can."""
    if suffix_of(path) in PROGRAM_SUFFIXES:
        return ""
    head = _head(path)
    if head.startswith(b"MZ"):  # a program, whatever its name is
        return ""
    if head.startswith(b"\x7fELF"):
        return f"{path} is a program for Linux; let it play in a container (--image) or in WSL"
    if head.startswith(b"#!"):
        name = _interpreter_name(head)
        hint = GIT_HINT if name in _SHELLS else f"install {name}"
        return f"{path} is started by {name}, which is not on the PATH; {hint}"
    kinds = ", ".join((*PROGRAM_SUFFIXES[1:], ".jar", ".py"))
    return f"{path} is no program that Windows can start, expected a file with {kinds} or .zip, or a command for it"


def command_line(words: Sequence[str], system_root: str | None = None) -> str | list[str]:
    """Return what the system is given: the words, or one text for the command processor if they start a batch file.

    `system_root` is the folder of Windows; None for that of the environment. Raises ValueError if a parameter of a
    batch file contains a line break, which it could not receive.
    """
    script, *parameters = words
    if suffix_of(script) not in _BATCH:
        return list(words)
    if any(character in word for word in words for character in "\r\n\0"):
        raise ValueError("a batch file cannot be given parameters with line breaks")
    if '"' in script:
        raise ValueError("a file name on Windows has no quotation marks")
    root = os.environ.get("SYSTEMROOT", r"C:\Windows") if system_root is None else system_root
    processor = subprocess.list2cmdline([rf"{root}\System32\cmd.exe"])
    # /e:on: command extensions, which `_percent` needs; /v:off: `!` means nothing; /d: no commands from the registry
    inner = " ".join([f'"{_percent(script)}"', *map(_batch_parameter, parameters)])
    return f'{processor} /e:on /v:off /d /c "{inner}"'


def _batch_parameter(word: str) -> str:
    """Quote a parameter both for the command processor and for the program that the batch file passes it on to."""
    quoted = re.sub(r'(\\*)"', r'\1\1""', word)  # backslashes count only before a quotation mark
    if not _UNQUOTED.fullmatch(word) or word.endswith("\\"):
        trailing = len(quoted) - len(quoted.rstrip("\\"))
        quoted = f'"{quoted}{quoted[len(quoted) - trailing :]}"'
    return _percent(quoted)


def _percent(text: str) -> str:
    """Keep the command processor from replacing variables: ``%cd:~,%`` is an empty part of a variable."""
    return text.replace("%", "%%cd:~,%")


def _existing(word: str, cwd: str) -> str | None:
    """Return the absolute path of the file that a word names, with the suffix that it may lack; None without one."""
    path = os.path.abspath(os.path.join(cwd, word))  # noqa: PTH100, PTH118 - Path's form raises for some words
    for suffix in ("", *PROGRAM_SUFFIXES):
        if os.path.isfile(path + suffix):  # noqa: PTH113
            return path + suffix
    return None


def _head(path: str) -> bytes:
    try:
        with open(path, "rb") as file:  # noqa: PTH123
            return file.read(_HEAD_SIZE)
    except OSError:
        return b""


def _shell(name: str, find: Find) -> str | None:
    """Return a shell: the one of this name, another one on the PATH, or that of Git for Windows.

    Git's installer puts only ``git`` on the PATH, unless it is told otherwise.
    """
    for each in (name, "sh", "bash"):
        found = find(each)
        if found and _SYSTEM_FOLDER not in map(str.lower, PureWindowsPath(found).parts):
            return found
    git = find("git")
    above = os.path.dirname(git) if git else ""  # noqa: PTH120 - as above
    for _ in range(2):  # cmd\git.exe, mingw64\bin\git.exe
        above = os.path.dirname(above)  # noqa: PTH120
        shell = os.path.join(above, "bin", "sh.exe")  # noqa: PTH118
        if above and os.path.isfile(shell):  # noqa: PTH113
            return shell
    return None


def _interpreter_name(head: bytes) -> str:
    """Return the file name of the interpreter in a first line; empty if there is none."""
    match = _FIRST_LINE.match(head)
    if match is None:
        return ""
    name = match[1].decode("utf-8", "replace").rpartition("/")[2]
    if name != "env":
        return name
    words = [word for word in (match[2] or b"").decode("utf-8", "replace").split() if not word.startswith("-")]
    return next((word.rpartition("/")[2] for word in words if "=" not in word), "")
