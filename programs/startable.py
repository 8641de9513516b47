"""Checking whether a command line can be started on this machine, and suggesting what to do if it cannot.

Nothing is started. A command is refused only if the system could not start it either, or if it would end at once
because the file that it names for its interpreter does not exist. In case of doubt it is accepted.
"""

# The methods of Path raise an exception for a folder that may not be searched, or for a null byte.
# ruff: noqa: PTH110, PTH112, PTH113, PTH118, PTH119, PTH120, PTH123, PTH208

from __future__ import annotations

import errno
import os
import shutil
import sys
from pathlib import Path
from typing import Final

from spielleiter.common.errors import SetupError
from spielleiter.players.strategies import STRATEGIES
from spielleiter.programs.command import BUILTIN, PLACEHOLDERS, Command, script_of
from spielleiter.programs.windows_command import windows_problem
from spielleiter.server.setting import suggestion

_HEAD_SIZE: Final = 256  # bytes that contain the first line of a file; kernels do not read more of it either
_SURE: Final = 0.8
"""How similar a command on the PATH must be to be suggested: there are thousands of them."""
_RUNNERS: Final = {".py": "python3", ".rb": "ruby", ".pl": "perl", ".php": "php", ".lua": "lua", ".js": "node"}


def require_startable(command: Command, cwd: str = "", platform: str = sys.platform) -> None:
    """Raise SetupError if the program cannot be started on this machine; the text says why and what to do.

    `cwd` is the directory that it is started in; empty for the current one. `platform` is a value of `sys.platform`.
    """
    if problem := start_problem(command, cwd, platform):
        raise SetupError(f"program {command.text!r}: {problem}")


def start_problem(command: Command, cwd: str = "", platform: str = sys.platform) -> str:
    """Return why the program cannot be started on this machine, and what to do; empty if nothing is known.

    The arguments are those of `require_startable`.
    """
    if command.text.startswith(BUILTIN):
        return ""
    if command.is_package:
        return "a ZIP file cannot be started here; unpack it and give the path of its main file"
    if problem := _program_problem(command.words[0], cwd, platform):
        return problem
    script = script_of(command.words)
    if script is None or _has_placeholder(script) or os.path.exists(os.path.join(cwd, script)):
        return ""
    return f"there is no file {script}{_file_hint(script, cwd)}"


def _program_problem(word: str, cwd: str, platform: str) -> str:
    """Return what is wrong with the first word of a command; empty if nothing is known to be wrong."""
    if _has_placeholder(word):
        return ""
    if not os.path.dirname(word):
        return "" if shutil.which(word) else _unknown_command(word, cwd)
    path = os.path.join(cwd, word)
    if not os.path.exists(path):
        return f"there is no file {word}{_file_hint(word, cwd)}"
    if os.path.isdir(path):
        return _folder_problem(word, path)
    if platform == "win32":
        return windows_problem(path)
    if not os.access(path, os.X_OK):
        runner = _RUNNERS.get(Path(word).suffix.lower())
        instead = f", or begin the command with {runner}" if runner else ""
        return f"{word} may not be executed; allow it with `chmod +x {word}`{instead}"
    return _first_line_problem(word, cwd)


def _folder_problem(word: str, folder: str) -> str:
    """Return what to do with a folder; its likely main file, if it has one, is suggested."""
    files = [name for name in sorted(_names_in(folder)) if os.path.isfile(os.path.join(folder, name))]
    likely = [name for name in files if name == "start.sh"] + [
        name for name in files if Path(name).suffix.lower() in {*_RUNNERS, ".jar", ".sh", ".exe", ".bat"}
    ]
    hint = ""
    if likely:
        runner = _RUNNERS.get(Path(likely[0]).suffix.lower(), "")
        command = f"{runner} {word.rstrip('/')}/{likely[0]}".lstrip()
        hint = f" (did you mean {command!r}?)"
    return f"{word} is a folder, expected the command that starts a program{hint}"


def _unknown_command(word: str, cwd: str) -> str:
    if os.path.isdir(os.path.join(cwd, word)):
        return _folder_problem(word, os.path.join(cwd, word))
    if word in STRATEGIES:
        return f"there is no command {word} (did you mean '{BUILTIN}{word}'?)"
    if word in {"py", "python"}:
        return f"there is no command {word}; install Python, or give the path of its program"
    if word == "java":
        return "there is no command java; install Java, or give the path of its program"
    hint = suggestion(word, _names_in(cwd))
    if not hint and (builtin := suggestion(word, STRATEGIES, _SURE)):
        hint = builtin.replace("'", f"'{BUILTIN}", 1)
    if not hint:
        hint = suggestion(word, {name for folder in os.get_exec_path() for name in _names_in(folder)}, _SURE)
    return f"there is no command {word} on the PATH and no such file here{hint}"


def _file_hint(word: str, cwd: str) -> str:
    """Return a suggestion for a file that does not exist, or that its folder does not exist."""
    folder, name = os.path.split(word)
    path = os.path.join(cwd, folder)
    hint = suggestion(name, _names_in(path))
    if hint or os.path.isdir(path or "."):
        return hint
    return f", since there is no folder {folder}"


def _names_in(folder: str) -> list[str]:
    try:
        return os.listdir(folder or ".")
    except OSError:
        return []


def _first_line_problem(path: str, cwd: str) -> str:
    """Return what is wrong with the first line of a script, which names its interpreter."""
    try:
        with open(os.path.join(cwd, path), "rb") as file:
            head = file.read(_HEAD_SIZE)
    except OSError:  # it may be executed but not read
        return ""
    if not head.startswith(b"#!"):
        if b"\0" in head or not head:
            return ""
        runner = _RUNNERS.get(Path(path).suffix.lower(), "its interpreter")
        return f"{path} is a text without a first line (#!) that names an interpreter; begin the command with {runner}"
    line = os.fsdecode(head[2:].split(b"\n", 1)[0])
    words = line.split(None, 1)
    if not words:
        return ""
    if line.endswith("\r"):
        return f"the first line of {path} ends as on Windows (CR LF), so its interpreter is not found; save it with LF"
    interpreter, rest = words[0], words[1].split() if len(words) > 1 else []
    if not os.path.exists(os.path.join(cwd, interpreter)):
        return _no_interpreter(path, interpreter)
    if os.path.basename(interpreter) == "env" and rest and rest[0][0] not in "-/" and "=" not in rest[0]:
        return "" if shutil.which(rest[0]) else _no_interpreter(path, rest[0])
    return ""


def _no_interpreter(path: str, interpreter: str) -> str:
    return f"the first line of {path} names the interpreter {interpreter}, which does not exist; install or correct it"


def _has_placeholder(word: str) -> bool:
    return any(f"{{{name}}}" in word for name in PLACEHOLDERS)


def start_error_text(word: str, error: OSError | ValueError, cwd: str | None) -> str:
    """Return why the program `word` cannot be started in the directory `cwd`."""
    if isinstance(error, ValueError):  # a null byte in a word
        return f"{word!r}: {error}"
    if cwd is not None and not Path(cwd).is_dir():
        return f"{cwd}: the directory to start {word} in does not exist"
    if error.errno == errno.ENOENT:
        if Path(cwd or "", word).exists():
            return f"{word}: the interpreter that its first line names does not exist"
        return f"{word}: there is no such program"
    if error.errno == errno.EACCES:
        return f"{word}: is not executable"
    if error.errno == errno.ENOEXEC:
        return f"{word}: is not a program for this machine, and has no first line (#!) that names an interpreter"
    return f"{word}: {error.strerror or error}"
