"""Follows a shell script from command to command: which files of the package it starts, and which are not there.

Invariants: nothing is executed. A fault that depends on what is true at run time is not reported: after a command whose
effect is not known (an unpacked archive, a compiler), in branches, loops and functions, with words that only the shell
can evaluate.
"""

from __future__ import annotations

import enum
import fnmatch
import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final

from spielleiter.match.packages.archive import Archive
from spielleiter.match.packages.faults import Finding, finding_of
from spielleiter.match.packages.shell_values import ROOT, Values
from spielleiter.match.packages.shell_words import Command, Script


class StartedBy(enum.Enum):
    """How a file of a package is started; this decides what may be wrong with it."""

    SYSTEM = "the system"
    SHELL = "a shell"
    PYTHON = "Python"
    PYTHON_MODULE = "python -m"
    JAVA = "java -jar"
    OTHER = "another interpreter"


@dataclass(frozen=True, slots=True)
class Start:
    """A file of the package that is started."""

    path: PurePosixPath
    by: StartedBy
    folder: PurePosixPath | None
    """The working directory; None if it is not known."""
    is_certain: bool = True
    """Whether it is known that it is started."""


MAX_COMMANDS: Final = 1000
"""Commands of a script that are followed."""

SHELLS: Final = re.compile(r"(ba|da|z|k|a)?sh")
PYTHONS: Final = re.compile(r"(python|pypy)[0-9.]*")
_INTERPRETERS: Final = frozenset(
    {"node", "ruby", "perl", "php", "lua", "julia", "Rscript", "luajit", "mono", "dotnet", "tclsh"}
)
_WRAPPERS: Final = frozenset(
    {"exec", "command", "nohup", "time", "nice", "env", "sudo", "stdbuf", "timeout", "setsid", "xvfb-run", "ionice"}
)
_CREATORS: Final = frozenset(
    """
    . cp mv ln tar unzip gunzip xz 7z jar javac kotlinc gcc g++ cc c++ clang clang++ make cmake ninja cargo go rustc mvn
    gradle dotnet ghc git curl wget npm tee dd install rsync mktemp virtualenv eval source
    """.split()  # noqa: SIM905
)
"""Commands after which there may be files that are not in the package."""
_BUILTINS: Final = frozenset(
    """
    . : [ alias bg break builtin case cd command continue declare echo eval exec exit export false fg getopts hash jobs
    kill let local printf pwd read readonly return set shift shopt source test times trap true type typeset ulimit umask
    unalias unset wait
    """.split()  # noqa: SIM905
)
_PYTHON_VALUE_OPTIONS: Final = frozenset({"-W", "-X"})
_JAVA_VALUE_OPTIONS: Final = frozenset(
    {"-cp", "-classpath", "--class-path", "-p", "--module-path", "--add-modules", "--add-opens"}
)
_CHMOD_MODE: Final = re.compile(r"[ugoa]*[+=][rwst]*x[rwxst]*|[0-7]*[1357][0-7]{2}|\+[rwx]*x[rwx]*")
_INSTALLATION: Final = re.compile(r"\b(pip[0-9.]*|conda|mamba|uv) ([^\n]* )?install\b")
_PARAMETERS: Final = re.compile(r"\$[@*1-9#]|\$\{[@*1-9#]|\b(getopts|shift|BASH_ARGV)\b|\bset --")


class ScriptWalk:
    """One walk through the commands of a script; `findings` and `starts` are its results."""

    def __init__(self, archive: Archive, path: PurePosixPath, folder: PurePosixPath | None) -> None:
        self._archive = archive
        self._path = path
        self._values = Values(path, folder)
        self._executable: list[str] = []
        """Patterns of the paths that the script has made executable."""
        self._may_have_created = False
        """Whether there may be any file that is not in the package."""
        self._created: set[PurePosixPath] = set()
        self.findings: list[Finding] = []
        self.starts: list[Start] = []
        self.is_path_changed = False
        """Whether Python may find modules anywhere."""
        self.is_installing = False
        """Whether Python modules are installed."""

    def walk(self, script: Script) -> None:
        """Follow all commands."""
        self.is_path_changed = "PYTHONPATH" in script.code
        self.is_installing = _INSTALLATION.search(script.code) is not None
        for command in script.commands[:MAX_COMMANDS]:
            for assignment in command.assignments:
                self._values.assign(assignment, is_certain=command.is_certain)
            if command.words:
                self._command(command)
            self._create(command.targets)
        is_including = any(each.words[:1] in (["."], ["source"], ["eval"]) for each in script.commands)
        is_complete = script.is_complete and len(script.commands) <= MAX_COMMANDS
        if self.starts and is_complete and not is_including and not _PARAMETERS.search(script.code):
            self._add("parameters-ignored")

    def _add(self, code: str, **values: object) -> None:
        self.findings.append(finding_of(code, [str(self._path)], **values))

    def _command(self, command: Command) -> None:
        words = unwrapped(command.words)
        if not words:
            return
        name = self._values.expand(words[0])
        if name is None:
            return
        arguments = [self._values.expand(each) for each in words[1:]]
        base = posixpath.basename(name)
        if base in {"export", "declare", "local", "readonly", "typeset"}:
            for word in words[1:]:
                if "=" in word:
                    self._values.assign(word, is_certain=command.is_certain)
        elif base in {"cd", "pushd"}:
            self._change_folder(arguments, is_certain=command.is_certain)
        elif base == "chmod":
            self._allow_execution(words[1:])
        elif base in {"mkdir", "touch"}:
            self._create([each for each in words[1:] if not each.startswith("-")])
        elif base in _CREATORS:
            self._may_have_created = True
        elif base == "unset":
            for each in words[1:]:
                self._values.assign(f"{each}+=")
        elif "/" in name:
            self._start_directly(name, is_certain=command.is_certain)
            if not name.startswith("/"):
                return
        self._start_interpreted(base, arguments, is_certain=command.is_certain)
        if base == name and base not in _BUILTINS:
            self._without_path(name, is_certain=command.is_certain)

    def _create(self, words: list[str]) -> None:
        """Take note of files and folders that the script creates, as written."""
        for word in words:
            value = self._values.expand(word)
            path = self._values.resolve(value)
            if path is not None:
                self._created |= {path, *path.parents}
            elif value is None or not value.startswith("/"):
                self._may_have_created = True

    def _change_folder(self, arguments: list[str | None], *, is_certain: bool) -> None:
        targets = [each for each in arguments if each is None or not each.startswith("-")]
        target = targets[0] if targets else None
        path = self._values.resolve(target)
        if path is not None and path not in self._archive.folders:
            is_created = self._may_have_created or path in self._created
            if is_certain and not is_created:
                self._add("missing-folder", folder=shown(target or ""))
            path = path if is_created else None
        self._values.folder = path

    def _allow_execution(self, words: list[str]) -> None:
        modes = [each for each in words if _CHMOD_MODE.fullmatch(each.strip("'\""))]
        if not modes:
            return
        is_recursive = any(re.fullmatch(r"-[a-zA-Z]*R[a-zA-Z]*|--recursive", each) for each in words)
        for word in words:
            if word in modes or word.startswith("-"):
                continue
            value = self._values.expand(word)
            if value is None and "$" not in word:
                value = word.replace('"', "")  # a pattern
            path = self._values.resolve(value)
            pattern = "*" if path is None else str(path)  # not known: it may be any file
            self._executable += [pattern, f"{pattern}/*" if is_recursive and pattern != "." else pattern]
            if is_recursive and pattern == ".":
                self._executable.append("*")

    def _is_executable(self, path: PurePosixPath) -> bool:
        return any(fnmatch.fnmatchcase(str(path), pattern) for pattern in self._executable)

    def _start_directly(self, name: str, *, is_certain: bool) -> None:
        path = self._values.resolve(name)
        if path is None:
            return
        entry = self._archive.files.get(path)
        if entry is None:
            self._missing(name, path, is_certain=is_certain)
            return
        self.starts.append(Start(path, StartedBy.SYSTEM, self._values.folder, is_certain))
        if is_certain and path.suffix.lower() != ".jar" and not self._is_executable(path):
            self._add("not-executable", program=shown(name))

    def _missing(self, name: str, path: PurePosixPath, *, is_certain: bool) -> None:
        if is_certain and not self._may_have_created and path not in self._archive.folders | self._created:
            same = [str(each) for each in self._archive.files if str(each).casefold() == str(path).casefold()]
            hint = f" (there is {same[0]})" if same else ""
            self._add("missing-file", program=shown(name), hint=hint)

    def _without_path(self, name: str, *, is_certain: bool) -> None:
        folder = self._values.folder
        if is_certain and folder is not None and folder / name in self._archive.files:
            self._add("missing-dot-slash", program=name)

    def _start_interpreted(self, base: str, arguments: list[str | None], *, is_certain: bool) -> None:
        if base == "java":
            self._start_java(arguments, is_certain=is_certain)
            return
        if base in {".", "source"} or SHELLS.fullmatch(base):
            by, skipped, replacing = StartedBy.SHELL, frozenset({"-o"}), frozenset({"-c", "-s"})
        elif PYTHONS.fullmatch(base):
            by, skipped, replacing = StartedBy.PYTHON, _PYTHON_VALUE_OPTIONS, frozenset({"-c", "-m", "-"})
            if "-m" in arguments[:-1] and _first_operand(arguments, skipped, replacing) is None:
                self._start_module(arguments[arguments.index("-m") + 1], is_certain=is_certain)
                return
        elif base in _INTERPRETERS:
            by, skipped, replacing = StartedBy.OTHER, frozenset(), frozenset({"-e", "-"})
        else:
            return
        program = _first_operand(arguments, skipped, replacing)
        if program is None or (by is StartedBy.OTHER and "." not in program):
            return
        self._start_file(program, by, is_certain=is_certain)

    def _start_file(self, name: str, by: StartedBy, *, is_certain: bool) -> None:
        path = self._values.resolve(name)
        if path is None:
            return
        if path in self._archive.files:
            self.starts.append(Start(path, by, self._values.folder, is_certain))
        elif path / "__main__.py" in self._archive.files and by is StartedBy.PYTHON:
            self.starts.append(Start(path / "__main__.py", by, self._values.folder, is_certain))
        else:
            self._missing(name, path, is_certain=is_certain)

    def _start_module(self, module: str | None, *, is_certain: bool) -> None:
        """Note the start of a Python module that is in the package; others are those of Python."""
        if module is None or self._values.folder is None:
            return
        path = self._values.folder / module.replace(".", "/")
        for file in (path / "__main__.py", path.with_name(f"{path.name}.py")):
            if file in self._archive.files:
                self.starts.append(Start(file, StartedBy.PYTHON_MODULE, self._values.folder, is_certain))
                return

    def _start_java(self, arguments: list[str | None], *, is_certain: bool) -> None:
        for place, word in enumerate(arguments):
            if word == "-jar":
                jar = next((each for each in arguments[place + 1 : place + 2]), None)
                if jar is not None:
                    self._start_file(jar, StartedBy.JAVA, is_certain=is_certain)
                return
        program = _first_operand(arguments, _JAVA_VALUE_OPTIONS, frozenset({"-m", "--module"}))
        if program is None:
            return
        path = self._values.resolve(program)
        if path is not None and path.suffix.lower() == ".jar":
            self._start_file(program, StartedBy.SYSTEM, is_certain=is_certain)
            return
        if program.endswith(".java"):
            self._start_file(program, StartedBy.OTHER, is_certain=is_certain)
        else:
            self._start_class(program, arguments, is_certain=is_certain)

    def _start_class(self, program: str, arguments: list[str | None], *, is_certain: bool) -> None:
        options = {"-cp", "-classpath", "--class-path"}
        places = [place for place, word in enumerate(arguments[:-1]) if word in options]
        given = arguments[places[0] + 1] if places else "."
        if given is None:
            return
        folders = [self._values.resolve(each or ".") for each in given.split(":")]
        file = PurePosixPath(f"{program.replace('.', '/')}.class")
        for folder in folders:
            if folder is None or folder not in self._archive.folders:
                return  # a JAR file, or several of them
            if folder / file in self._archive.files:
                self.starts.append(Start(folder / file, StartedBy.JAVA, self._values.folder, is_certain))
                return
        if is_certain and not self._may_have_created:
            self._add("missing-class", program=program)


def shown(value: str) -> str:
    """A value as the user wrote it, approximately: without the stand-in for the folder of the package."""
    return value.removeprefix(f"{ROOT}/")


def unwrapped(words: list[str]) -> list[str]:
    """The words of a command without those that only change how it is executed, such as ``exec`` and ``nice -n 5``."""
    start = 0
    is_wrapped = is_numbered = False
    for start, word in enumerate([*words, ""]):  # noqa: B007 - where it ends is the result
        if word.rpartition("/")[2] in _WRAPPERS:
            is_wrapped, is_numbered = True, word in {"nice", "ionice", "timeout"}
        elif not is_wrapped or not (word.startswith("-") or "=" in word or (is_numbered and word[:1].isdigit())):
            break
    return words[start:]


def _first_operand(arguments: list[str | None], with_value: frozenset[str], replacing: frozenset[str]) -> str | None:
    """The first argument that is not an option; None if it is not known, or an option stands in for the program.

    `with_value` are the options that are followed by a value, `replacing` those that stand in for the program.
    """
    rest: Iterator[str | None] = iter(arguments)
    for word in rest:
        if word is None or word in replacing:
            return None
        if word in with_value:
            next(rest, None)
        elif not word.startswith(("-", "+")):
            return word
    return None
