"""Reading the TOML files that describe a match or a tournament: programs, times, paths and plain values.

Invariants: an unknown key is refused, never ignored, and so is a value of the wrong type. Error messages name the key
and what was expected.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from spielleiter.common.errors import SetupError
from spielleiter.match.plan import Entrant
from spielleiter.server.setting import MAX_SECONDS, MAX_WHOLE_NUMBER, suggestion

MILLISECONDS: Final = ("soft_timeout", "hard_timeout")
PROGRAM_KEYS: Final = (
    *("name", "command", "timeout", "cwd", "env", "pass_env", "time_factor", "memory", "main"),
    *MILLISECONDS,
)
"""The keys of a table ``[[program]]``."""

_EXPECTED: Final[Mapping[Any, str]] = {
    str: "a text",
    int: "a whole number",
    bool: "true or false",
    list: "tables [[program]]",
    dict: 'a table such as { NAME = "value" }',
    (int, float): "a number",
}
_BACKSLASH: Final = re.compile(r'^\s*command\s*=\s*"[^"\n]*\\', re.MULTILINE)
_BACKSLASH_HINT: Final = r"put a command with a \ in single quotes, as in 'C:\bots\new.exe'"


def read_toml(file: Path) -> dict[str, Any]:
    """The content of a TOML file. Raises SetupError if it cannot be read or parsed."""
    text = ""
    try:
        text = file.read_text(encoding="utf-8-sig")
        return tomllib.loads(text)
    except OSError as error:
        raise SetupError(f"{file}: cannot be read ({error.strerror or error})") from None
    except UnicodeDecodeError:
        raise SetupError(f"{file}: is not in UTF-8; save it in that encoding") from None
    except ValueError as error:  # TOMLDecodeError, or a number with too many digits for Python
        hint = f"; {_BACKSLASH_HINT}" if _BACKSLASH.search(text) else ""
        raise SetupError(f"{file}: {error}{hint}") from None


def require_known(value: Mapping[str, Any], known: Collection[str], prefix: str = "") -> None:
    """Raise SetupError for a key that is not among `known`; `prefix` begins the error message."""
    for key in value:
        if key not in known:
            hint = suggestion(key, known)
            raise SetupError(f"{prefix}{key}: there is no such key, expected {', '.join(known)}{hint}")


def read_entrant(value: Any, *, has_name: bool = True) -> Entrant:
    """The program that a table ``[[program]]`` describes. With `has_name`, it must have a name. Raises SetupError."""
    if not isinstance(value, dict):
        raise SetupError("program: expected a table [[program]] for each")
    require_known(value, PROGRAM_KEYS, "program: ")
    for key in ("name", "command") if has_name else ("command",):
        if key not in value:
            raise SetupError(f"program: {key} is missing")
    command = take(value, "command", str, "")
    if any(character in command for character in "\b\t\n\f\r"):  # as in "C:\bots\new.exe", which has two of them
        raise SetupError(f"program: command {command!r}: expected one line without tabs; {_BACKSLASH_HINT}")
    environment = take(value, "env", dict, {})
    for name in environment:
        take(environment, name, str, "")
    passed = take_texts(value, "pass_env")
    for key, names in (("env", environment), ("pass_env", passed)):
        for name in names:
            if not name or "=" in name:
                raise SetupError(f"{key}: {name!r} cannot be a variable's name")
    limits = {key: take_time(value, key, int) / 1000 for key in MILLISECONDS if key in value}
    return Entrant(
        take(value, "name", str, ""),
        command,
        take(value, "timeout", bool, True),
        cwd=take(value, "cwd", str, ""),
        environment=environment,
        passed_variables=passed,
        time_factor=take_positive(value, "time_factor", (int, float), 1.0),
        memory=take_positive(value, "memory", int, None),
        main=take(value, "main", str, ""),
        **limits,
    )


def resolve_paths(value: dict[str, Any], folder: Path) -> None:
    """Make the paths in the content of a file absolute; relative ones begin at `folder`, the folder of the file.

    These are `out` and the book, whose key is `openings` afterwards. Raises SetupError for a value that is not a text,
    and if both names of the book are given.
    """
    if "book" in value and "openings" in value:
        raise SetupError("book and openings are two names of the same setting, expected one of them")
    if "book" in value:
        take(value, "book", str, "")
        value["openings"] = value.pop("book")
    for key in ("openings", "out"):
        if take(value, key, str, ""):
            value[key] = str(Path(folder.absolute(), value[key]))


def take(value: Mapping[str, Any], key: str, kind: type | tuple[type, ...], default: Any) -> Any:
    """The value of a key; `default` if the key is missing. Raises SetupError for a value of another type."""
    taken = value.get(key, default)
    if key in value and (not isinstance(taken, kind) or (isinstance(taken, bool) and kind is not bool)):
        raise SetupError(f"{key} {taken!r}: expected {_EXPECTED[kind]}")
    return taken


def take_folder(value: Mapping[str, Any], key: str) -> str:
    """The absolute path of a folder; empty if the key is missing. Raises SetupError for a relative path."""
    taken: str = take(value, key, str, "")
    if taken and not Path(taken).is_absolute():  # a tournament may be resumed from another directory
        raise SetupError(f"{key} {taken!r}: expected an absolute path")
    return taken


def take_choice(value: Mapping[str, Any], key: str, choices: Sequence[str], default: str) -> str:
    """The value of a key, which must be one of `choices`; `default` if the key is missing. Raises SetupError."""
    taken = value.get(key, default)
    if taken not in choices:
        raise SetupError(f"{key} {taken!r}: expected {' or '.join(choices)}{suggestion(str(taken), choices)}")
    return str(taken)


def take_texts(value: Mapping[str, Any], key: str) -> tuple[str, ...]:
    """The value of a key, which must be a list of texts; empty if the key is missing. Raises SetupError."""
    taken = value.get(key, [])
    if not isinstance(taken, list) or not all(isinstance(each, str) for each in taken):
        raise SetupError(f"{key} {taken!r}: expected a list of texts")
    return tuple(taken)


def take_time(value: Mapping[str, Any], key: str, kind: type | tuple[type, ...]) -> Any:
    """The time that a key holds, in the unit of that key (milliseconds or seconds). Raises SetupError."""
    taken = take(value, key, kind, None)
    unit, most = ("milliseconds", MAX_WHOLE_NUMBER) if key in MILLISECONDS else ("seconds", MAX_SECONDS)
    if not (0 < taken <= most or (taken == 0 and key == "exit_timeout")):  # written so that nan is refused
        raise SetupError(f"{key} {taken!r}: expected {unit}, more than 0 and up to {most}")
    return taken


def take_positive(value: Mapping[str, Any], key: str, kind: type | tuple[type, ...], default: Any) -> Any:
    """The value of a key, which must be a number above 0; `default` if the key is missing. Raises SetupError."""
    taken = take(value, key, kind, default)
    if taken is not None and not 0 < taken <= MAX_WHOLE_NUMBER:
        raise SetupError(f"{key} {taken!r}: expected a number above 0")
    return taken
