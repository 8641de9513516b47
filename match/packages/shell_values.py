"""The values of words in a shell script, and the paths they stand for, as far as they are known without running it.

Invariants: a value is returned only if it is known for sure; otherwise the result is None. The folder of the package is
written as `ROOT`, since its real path differs from run to run.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import PurePosixPath
from typing import Final

from spielleiter.match.packages.shell_words import Command, parse_script

ROOT: Final = "/(package)"
"""Stands for the folder of the package in values."""
MAX_NESTING: Final = 8
"""Substitutions nested deeper than this are not evaluated."""
MAX_VALUE: Final = 64 * 1024
"""Characters of a value; a longer one counts as unknown, since each assignment can double it."""

_PIECE: Final = re.compile(
    r"""
    '(?P<single>[^']*)'
    | "(?P<double>(?:\\[\s\S]|\$\((?:[^()]|\([^()]*\))*+\)|`[^`]*`|[^"\\])*+)"
    | \\(?P<escaped>[\s\S])
    | \$\((?P<command>(?:[^()]|\((?:[^()]|\([^()]*\))*+\))*+)\)
    | `(?P<old_command>[^`]*)`
    | \$\{(?P<braced>[^{}]*)\}
    | \$(?P<name>[A-Za-z_]\w*|[0-9@*\#?$!-])
    | (?P<plain>[^'"\\`$]+)
    | (?P<dollar>\$)
    """,
    re.VERBOSE,
)
_UNKNOWN_UNQUOTED: Final = re.compile(r"^~|[*?\[{]")
_OWN_PATH: Final = frozenset({"0", "BASH_SOURCE", "BASH_SOURCE[0]"})
_OWN_FOLDER: Final = frozenset({"0%/*", "BASH_SOURCE%/*", "BASH_SOURCE[0]%/*"})


class Values:
    """The variables and the working directory of a script, at one point of it."""

    def __init__(self, script: PurePosixPath, folder: PurePosixPath | None) -> None:
        self.script = script
        self.folder = folder
        """The working directory, relative to the package; None if it is not known, or outside."""
        self._variables: dict[str, str | None] = {}

    def assign(self, assignment: str, *, is_certain: bool = True) -> None:
        """Take note of an assignment ``NAME=value``; one that may not be executed makes the value unknown."""
        name, _, value = assignment.partition("=")
        self._variables[name.removesuffix("+")] = self.expand(value) if is_certain and name[-1:] != "+" else None

    def expand(self, word: str, nesting: int = 0) -> str | None:
        """The value of a word; None if it is not known."""
        return self._expand(word, nesting, is_quoted=False)

    def resolve(self, value: str | None) -> PurePosixPath | None:
        """The path in the package that a value names; None if it is not known, or outside of the package."""
        if value is None:
            return None
        if value == ROOT or value.startswith(f"{ROOT}/"):
            path = posixpath.normpath(f".{value.removeprefix(ROOT)}")
        elif value.startswith("/") or self.folder is None:
            return None
        else:
            path = posixpath.normpath(posixpath.join(str(self.folder), value))
        return None if path == ".." or path.startswith("../") else PurePosixPath(path)

    def _expand(self, word: str, nesting: int, *, is_quoted: bool) -> str | None:
        parts: list[str] = []
        place = size = 0
        while place < len(word):
            if is_quoted and word[place] == "'":  # an ordinary character there
                parts.append("'")
                place += 1
                continue
            piece = _PIECE.match(word, place)
            if piece is None:
                return None
            place = piece.end()
            value = self._piece(piece, nesting, is_quoted=is_quoted)
            size += len(value or "")
            if value is None or size > MAX_VALUE:
                return None
            parts.append(value)
        return "".join(parts)

    def _piece(self, piece: re.Match[str], nesting: int, *, is_quoted: bool) -> str | None:
        text = piece[piece.lastgroup or 0]
        match piece.lastgroup:
            case "single":
                return text
            case "double":
                return self._expand(text, nesting, is_quoted=True)
            case "command" | "old_command":
                return self._output(text, nesting + 1) if nesting < MAX_NESTING else None
            case "braced" | "name":
                return self._parameter(text)
            case "plain":
                return None if not is_quoted and _UNKNOWN_UNQUOTED.search(text) else text
            case _:
                return text

    def _parameter(self, name: str) -> str | None:
        if name in _OWN_PATH:
            return f"{ROOT}/{self.script}"
        if name in _OWN_FOLDER:
            return posixpath.dirname(f"{ROOT}/{self.script}")
        if name == "PWD":
            return self._working_directory()
        return self._variables.get(name)

    def _working_directory(self) -> str | None:
        return None if self.folder is None else posixpath.normpath(f"{ROOT}/{self.folder}")

    def _output(self, text: str, nesting: int) -> str | None:
        """The output of a command substitution that computes a path; None for any other."""
        words = [_without_options(each) for each in parse_script(text).commands]
        match words:
            case [["pwd"]]:
                return self._working_directory()
            case [["dirname", path]]:
                value = self.expand(path, nesting)
                return value and (posixpath.dirname(value) or ".")
            case [["realpath" | "readlink", path]]:
                resolved = self.resolve(self.expand(path, nesting))
            case [["cd", path], ["pwd"]]:
                resolved = self.resolve(self.expand(path, nesting))
            case _:
                return None
        return None if resolved is None else posixpath.normpath(f"{ROOT}/{resolved}")


def _without_options(command: Command) -> list[str]:
    """The words of a command without those that begin with a hyphen."""
    return [each for each in command.words if not each.startswith("-")]
