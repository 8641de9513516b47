r"""A program's command line: its words by the rules of the platform, its placeholders, its name, the file it starts.

On Windows, a backslash is part of a path and escapes nothing but a quotation mark. On other systems it escapes the
next character, as in a shell. A line that begins with a Windows path (``C:\bots\bot.exe``, ``\\server\bot.exe``) is
read by the rules of Windows on every system.
"""

# The methods of Path raise an exception for a folder that may not be searched, or for a null byte.
# ruff: noqa: PTH111, PTH113, PTH118, PTH119

from __future__ import annotations

import hashlib
import itertools
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from spielleiter.common.errors import SetupError
from spielleiter.common.own_python import own_python
from spielleiter.players.strategies import STRATEGIES, seconds_problem, strategy_called
from spielleiter.programs.windows_command import windows_words
from spielleiter.server.setting import suggestion

_WINDOWS_PATH: Final = re.compile(r'\s*"?(?:[A-Za-z]:\\|\\\\)')
_TOKEN: Final = re.compile(r'(?P<slashes>\\*)(?P<quote>")|(?P<blank>[ \t\r\n]+)|(?P<text>\\+|[^\\" \t\r\n]+)')


def split_command(text: str, platform: str = sys.platform) -> list[str]:
    """Split `text` by the rules of `platform`, a value of `sys.platform`.

    Raises ValueError if a quotation is not closed, or a backslash at the end escapes nothing.
    """
    if platform == "win32" or _WINDOWS_PATH.match(text):
        return split_windows(text)
    return shlex.split(text)


def join_command(words: Iterable[str], platform: str = sys.platform) -> str:
    """The command line that `split_command` splits into `words`."""
    return subprocess.list2cmdline(list(words)) if platform == "win32" else shlex.join(words)


def split_windows(text: str) -> list[str]:
    """Split `text` as Windows programs do with their command line. Raises ValueError if a quotation is not closed."""
    words: list[str] = []
    word: str | None = None  # None: between two words
    is_quoted = False
    for token in _TOKEN.finditer(text):
        if token["quote"]:
            slashes = len(token["slashes"])
            word = (word or "") + "\\" * (slashes // 2)
            if slashes % 2:  # the last backslash escapes the quotation mark
                word += '"'
            else:
                is_quoted = not is_quoted
        elif token["blank"] and not is_quoted:
            if word is not None:
                words.append(word)
            word = None
        else:
            word = (word or "") + token[0]
    if is_quoted:
        raise ValueError("no closing quotation")
    return words if word is None else [*words, word]


# -- commands ---------------------------------------------------------------------------------------------------------

BUILTIN: Final = "builtin:"
_INTERPRETER: Final = re.compile(r"(python|pypy|py|ruby|perl|php|lua|bash|dash|sh|zsh)[0-9.]*(\.exe)?", re.IGNORECASE)
PLACEHOLDERS: Final = ("host", "port", "reservation", "seed", "game")
"""The names that a command line may contain in braces."""

_PLACEHOLDER: Final = re.compile(r"(?<!\$)\{(\w+)\}")  # but not the shell's ${name}
_ADDRESS: Final = ("-h", "{host}", "-p", "{port}", "-r", "{reservation}")
"""The words that are added to a command line in which none of these placeholders occurs."""
_PACKAGE_SUFFIX: Final = ".zip"


@dataclass(frozen=True, slots=True)
class Command:
    """A program's command line: the text that the user gave, and its words, which may contain placeholders."""

    text: str
    words: tuple[str, ...]

    @classmethod
    def parse(cls, text: str, cwd: str = "", platform: str = sys.platform) -> Command:
        """Parse a command line, or the path of a program, .jar file or package (.zip).

        ``builtin:`` followed by a strategy is a command line, too.

        `cwd` is the directory that relative paths start from (empty for the current one), `platform` a value of
        `sys.platform`. The path of an existing file is one word, even if it contains blanks. A word that begins with
        ``~`` means a home folder, as in a shell. Raises SetupError.
        """
        if text.startswith(BUILTIN):
            name = text.removeprefix(BUILTIN)
            if strategy_called(name) is None:
                known = f"expected {', '.join(STRATEGIES)}{suggestion(name, STRATEGIES)}"
                raise SetupError(f"program {text!r}: there is no such strategy, {seconds_problem(name) or known}")
            # -P: the working directory may contain a module with the name of one that we import
            play = (*own_python(), "-P", "-m", "spielleiter", "play", "--strategy", name)
            return cls(text, (*play, "--game", "{game}", "--seed", "{seed}", *_ADDRESS))
        if _is_file(cwd, path := os.path.expanduser(text)):
            words = [path]
        else:
            try:
                words = [os.path.expanduser(word) for word in split_command(text, platform)]
            except ValueError as error:
                raise SetupError(f"program {text!r}: {str(error).lower()}") from None
        if not words:
            raise SetupError("program '': expected a command line")
        for name in _PLACEHOLDER.findall(text):
            if name not in PLACEHOLDERS:
                known = ", ".join(f"{{{each}}}" for each in PLACEHOLDERS)
                raise SetupError(f"program {text!r}: there is no placeholder {{{name}}}, expected {known}")
        if words[0].lower().endswith(".jar"):
            words = ["java", "-jar", *words]
        elif words[0].lower().endswith(_PACKAGE_SUFFIX):
            pass
        elif platform == "win32":
            words = windows_words(words, cwd)
        elif _is_file(cwd, words[0]) and "/" not in words[0] and shutil.which(words[0]) is None:
            words[0] = f"./{words[0]}"  # so the system finds a file in `cwd`
        if not _has_address(text):
            words += _ADDRESS
        return cls(text, tuple(words))

    @property
    def is_package(self) -> bool:
        """Whether it names a contest package, a ZIP file, which has to be unpacked before it can be started."""
        return not self.is_builtin and self.words[0].lower().endswith(_PACKAGE_SUFFIX)

    @property
    def is_builtin(self) -> bool:
        """Whether it names a built-in player."""
        return self.text.startswith(BUILTIN)

    @property
    def parameters(self) -> tuple[str, ...]:
        """The words after the program, without those that are added to every command line."""
        return self.words[1:] if _has_address(self.text) else self.words[1 : -len(_ADDRESS)]

    def arguments(self, values: Mapping[str, str]) -> list[str]:
        """Return the words with the placeholders replaced by `values`, which has one for each of PLACEHOLDERS."""
        return [_PLACEHOLDER.sub(lambda match: values.get(match[1], match[0]), word) for word in self.words]


def _has_address(text: str) -> bool:
    return any(f"{{{name}}}" in text for name in ("host", "port", "reservation"))


def _is_file(cwd: str, path: str) -> bool:
    return os.path.isfile(os.path.join(cwd, path))


def script_of(words: tuple[str, ...]) -> str | None:
    """Return the file that the interpreter at the beginning of these words runs; None if that is not known."""
    name = os.path.basename(words[0])
    if name.lower() in {"java", "java.exe"}:
        return next((following for word, following in itertools.pairwise(words) if word == "-jar"), None)
    if _INTERPRETER.fullmatch(name) and len(words) > 1 and not words[1].startswith("-"):
        return words[1]
    return None


# -- names ------------------------------------------------------------------------------------------------------------

NAME_LENGTH: Final = 60
"""The maximum length of a program's name, in characters."""

_SUFFIX: Final = re.compile(r"[A-Za-z][A-Za-z0-9]{0,4}")
_VARIABLE: Final = re.compile(r"[A-Za-z_]\w*=")


def name_of(command: Command) -> str:
    """Return the file name of the program without its suffix; of the script or .jar file if an interpreter runs one."""
    if command.text.startswith(BUILTIN):
        return command.text.removeprefix(BUILTIN)
    name = Path(played_file(command.words)).name
    stem, _, suffix = name.rpartition(".")
    if stem and _SUFFIX.fullmatch(suffix):  # it tells the type of the file; ``bot-1.2`` has none
        name = stem
    return name[:NAME_LENGTH] or command.words[0][:NAME_LENGTH]


def names_of(first: Command, second: Command, given: tuple[str | None, str | None] = (None, None)) -> tuple[str, str]:
    """Return the names of two programs. Equal names get their folders as a prefix, or else a number.

    `given` are the names that the user chose; None or empty for a program that is named after its file.
    """
    names = given[0] or name_of(first), given[1] or name_of(second)
    if names[0] == names[1] and not any(given):
        folders = _folder(first), _folder(second)
        if all(folders) and folders[0] != folders[1]:
            names = f"{folders[0]}/{names[0]}", f"{folders[1]}/{names[1]}"
    return distinct_names(*names)


def distinct_names(first: str, second: str) -> tuple[str, str]:
    """Return the same names, with numbers if they are equal."""
    return (f"{first} (1)", f"{second} (2)") if first == second else (first, second)


def played_file(words: tuple[str, ...]) -> str:
    """Return the word of the command line that names the program itself."""
    if script := script_of(words):
        return script
    first, *others = words
    if Path(first).name == "env":
        others = [word for word in others if not _VARIABLE.match(word)]
        return played_file(tuple(others)) if others and not others[0].startswith("-") else first
    if len(others) > 1 and others[0] == "-m":
        return others[1]
    if len(others) > 2 and others[0] == "-c" and not others[2].startswith("-"):  # the name of a shell script
        return others[2]
    return first


def _folder(command: Command) -> str:
    return "" if command.text.startswith(BUILTIN) else Path(played_file(command.words)).parent.name[:NAME_LENGTH]


def content_of(text: str, cwd: str) -> str:
    """The SHA-256 of the file that a command line starts: a program, a script, a .jar file or a package.

    `text` is the command line, `cwd` the directory that relative paths start from. Empty if there is no such file, as
    for a built-in player, a command on the PATH or a module, or if it cannot be read. Raises SetupError.
    """
    command = Command.parse(text, cwd)
    if text.startswith(BUILTIN):
        return ""
    try:
        path = Path(cwd, played_file(command.words))
        if not path.is_file():
            return ""
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except (OSError, ValueError):  # a null byte in the path
        return ""
