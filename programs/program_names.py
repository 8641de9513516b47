"""Names for programs that the user has not named.

Invariants: a name depends on the command line only and is never empty. The names of two programs differ.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from spielleiter.programs.program import BUILTIN, Command
from spielleiter.programs.startable import script_of

NAME_LENGTH: Final = 60
"""The maximum length of a program's name, in characters."""

_SUFFIX: Final = re.compile(r"[A-Za-z][A-Za-z0-9]{0,4}")
_VARIABLE: Final = re.compile(r"[A-Za-z_]\w*=")


def name_of(command: Command) -> str:
    """Return the file name of the program without its suffix; of the script or .jar file if an interpreter runs one."""
    if command.text.startswith(BUILTIN):
        return command.text.removeprefix(BUILTIN)
    return _without_suffix(Path(played_file(command.words)).name) or command.words[0][:NAME_LENGTH]


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


def _without_suffix(name: str) -> str:
    """Strip a suffix that only tells the type of the file; ``bot-1.2`` has none."""
    stem, _, suffix = name.rpartition(".")
    return (stem if stem and _SUFFIX.fullmatch(suffix) else name)[:NAME_LENGTH]
