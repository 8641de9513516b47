"""What programs are called that nobody has given a name.

Invariants: a name comes from the command line alone and is never empty; the names of two programs differ.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from spielleiter.match.programs.program import BUILTIN, Command
from spielleiter.match.programs.startable import script_of

NAME_LENGTH: Final = 60
"""Characters of a program's name at most."""

_SUFFIX: Final = re.compile(r"[A-Za-z][A-Za-z0-9]{0,4}")
_VARIABLE: Final = re.compile(r"[A-Za-z_]\w*=")


def name_of(command: Command) -> str:
    """The name of the file that plays, without its suffix: of the script or .jar file, if an interpreter runs one."""
    if command.text.startswith(BUILTIN):
        return command.text.removeprefix(BUILTIN)
    return _short(Path(_player(command.words)).name) or command.words[0][:NAME_LENGTH]


def names_of(first: Command, second: Command, given: tuple[str | None, str | None] = (None, None)) -> tuple[str, str]:
    """The names of two programs; those that would be alike are preceded by their folders or followed by a number.

    `given`: the names that the user chose; None or empty for a program that is called after its file.
    """
    names = given[0] or name_of(first), given[1] or name_of(second)
    if names[0] == names[1] and not any(given):
        folders = _folder(first), _folder(second)
        if all(folders) and folders[0] != folders[1]:
            names = f"{folders[0]}/{names[0]}", f"{folders[1]}/{names[1]}"
    return distinct_names(*names)


def distinct_names(first: str, second: str) -> tuple[str, str]:
    """The same names, told apart where they are alike."""
    return (f"{first} (1)", f"{second} (2)") if first == second else (first, second)


def _player(words: tuple[str, ...]) -> str:
    """The word that names what plays."""
    if script := script_of(words):
        return script
    first, *others = words
    if Path(first).name == "env":
        others = [word for word in others if not _VARIABLE.match(word)]
        return _player(tuple(others)) if others and not others[0].startswith("-") else first
    if len(others) > 1 and others[0] == "-m":
        return others[1]
    if len(others) > 2 and others[0] == "-c" and not others[2].startswith("-"):  # a shell's name for what it runs
        return others[2]
    return first


def _folder(command: Command) -> str:
    return "" if command.text.startswith(BUILTIN) else Path(_player(command.words)).parent.name[:NAME_LENGTH]


def _short(name: str) -> str:
    """Without a suffix that only says what kind of file it is; ``bot-1.2`` has none."""
    stem, _, suffix = name.rpartition(".")
    return (stem if stem and _SUFFIX.fullmatch(suffix) else name)[:NAME_LENGTH]
