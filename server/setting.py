"""Settings: their names in each source, how their texts are parsed, and the errors if that fails.

Options, environment variables, `server.properties` and the documents are all derived from `Setting`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Generic, TypeVar, cast

from msgspec import Struct, field, structs

T = TypeVar("T")

MAX_WHOLE_NUMBER: Final = 2**31 - 1
"""The upper bound of whole numbers that have no bound of their own; as milliseconds, it is 24 days."""

MAX_SECONDS: Final = 366 * 24 * 3600
"""The upper bound of durations, in seconds: a year."""


class ValueKind(Struct, Generic[T], frozen=True):
    """The type of a setting: how its text is parsed.

    `parse` raises ValueError for an invalid text; `allowed` then completes "expected …" in the message. `metavar`
    stands for the value in the help. `keeps_spaces`: white space around the value is part of it.
    """

    allowed: str
    parse: Callable[[str], T]
    metavar: str
    choices: tuple[str, ...] = ()
    is_switch: bool = False
    keeps_spaces: bool = False
    is_repeatable: bool = False
    """Whether the option may be given several times on the command line."""
    flag_text: str = ""
    """The value of an option that is given without one; empty if a value is required."""


def _parse_text(text: str) -> str:
    if not text:
        raise ValueError(text)
    return text


def text(metavar: str = "TEXT", *, keeps_spaces: bool = False) -> ValueKind[str]:
    """A text that is not empty and can be sent to clients; bytes that the locale could not decode are read as UTF-8."""

    def parse(text: str) -> str:
        try:
            text.encode()
        except UnicodeEncodeError:  # lone surrogates; if their bytes are not UTF-8, the next line raises a ValueError
            text = os.fsencode(text).decode("utf-8")
        return _parse_text(text)

    return ValueKind("a text in UTF-8 that is not empty", parse, metavar, keeps_spaces=keeps_spaces)


def optional(kind: ValueKind[T]) -> ValueKind[T | None]:
    """Return `kind` extended by None, which is written as an empty text."""
    return ValueKind(
        f"{kind.allowed}, or nothing",
        lambda text: kind.parse(text) if text else None,
        kind.metavar,
        kind.choices,
        kind.is_switch,
        kind.keeps_spaces,
    )


def whole_number(low: int, high: int = MAX_WHOLE_NUMBER, metavar: str = "N") -> ValueKind[int]:
    """A whole number from `low` to `high`, both included."""

    def parse(text: str) -> int:
        if not re.fullmatch(r"[+-]?[0-9]{1,19}", text):
            raise ValueError(text)
        value = int(text)
        if not low <= value <= high:
            raise ValueError(text)
        return value

    return ValueKind(f"a whole number from {low} to {high}", parse, metavar)


def milliseconds() -> ValueKind[float]:
    """A duration that is written in milliseconds; the value is in seconds."""
    number = whole_number(1)
    return ValueKind(
        f"milliseconds as a whole number from 1 to {MAX_WHOLE_NUMBER}",
        lambda text: number.parse(text) / 1000,
        "MS",
    )


def _number(allowed: str, high: float, metavar: str, *, can_be_zero: bool = False) -> ValueKind[float]:
    def parse(text: str) -> float:
        value = float(text)
        if not 0 <= value <= high or (value == 0 and not can_be_zero):
            raise ValueError(text)
        return value

    return ValueKind(allowed, parse, metavar)


def seconds(*, can_be_zero: bool = False) -> ValueKind[float]:
    """A duration in seconds, up to a year."""
    bound = "from 0" if can_be_zero else "more than 0 and"
    return _number(f"seconds, {bound} up to {MAX_SECONDS}", MAX_SECONDS, "SECONDS", can_be_zero=can_be_zero)


def fraction() -> ValueKind[float]:
    """A number above 0 and up to 1."""
    return _number("a number above 0 and up to 1", 1, "PART")


def switch() -> ValueKind[bool]:
    """True or false."""

    def parse(text: str) -> bool:
        if text.lower() not in {"true", "false"}:
            raise ValueError(text)
        return text.lower() == "true"

    return ValueKind(
        "true or false",
        parse,
        "true|false",
        choices=("true", "false"),
        is_switch=True,
    )


def choice(*names: str) -> ValueKind[str]:
    """One of several names."""

    def parse(text: str) -> str:
        if text not in names:
            raise ValueError(text)
        return text

    allowed = f"{', '.join(names[:-1])} or {names[-1]}"
    return ValueKind(allowed, parse, "|".join(names), choices=names)


def path(metavar: str = "FILE") -> ValueKind[Path]:
    """A path that is not empty."""
    return ValueKind("a path", lambda text: Path(_parse_text(text)), metavar)


def address() -> ValueKind[tuple[str, int]]:
    """A host and a port, ``127.0.0.1:9100`` or ``[::1]:9100``; a port alone means the loopback address."""
    number = whole_number(0, 65535)

    def parse(text: str) -> tuple[str, int]:
        host, colon, port = text.rpartition(":")
        if host.startswith("[") and host.endswith("]"):
            host = host[1:-1]
        elif ":" in host:
            raise ValueError(text)
        if colon and not host:
            raise ValueError(text)
        return host or "127.0.0.1", number.parse(port)

    return ValueKind("host:port, or a port of this machine's loopback", parse, "ADDR")


def address_or_off() -> ValueKind[tuple[str, int] | None]:
    """A host and a port as in `address`, or ``off``, which is None."""
    kind = address()
    return ValueKind(
        f"{kind.allowed}, or off",
        lambda text: None if text.lower() == "off" else kind.parse(text),
        "ADDR|off",
        choices=("off",),
    )


def shown_address(value: tuple[str, int]) -> str:
    """Return ``host:port``, with brackets around a host that contains colons."""
    host, port = value
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def directory_switch(default: str) -> ValueKind[Path | None]:
    """A directory: `false` for none, `true` for the directory `default`, otherwise the name of a directory.

    A word that looks like a misspelt `true` or `false` is refused; a directory of such a name is written `./ture`.
    """

    def parse(text: str) -> Path | None:
        word = text.lower()
        if word in {"true", "false"}:
            return Path(default) if word == "true" else None
        from difflib import get_close_matches

        looks_misspelt = get_close_matches(word, ("true", "false", "yes", "no", "on", "off"), cutoff=0.75)
        if not text or (looks_misspelt and "/" not in word):
            raise ValueError(text)
        return Path(text)

    return ValueKind(
        f"true (the directory {default}), false or a directory",
        parse,
        "DIR",
        choices=("true", "false"),
        flag_text="true",
    )


def pairs(key: str, value: str) -> ValueKind[Mapping[str, str]]:
    """Pairs ``KEY=VALUE``, separated by commas, each key once; the result is a mapping."""

    def parse(text: str) -> Mapping[str, str]:
        parts = [part.strip() for part in text.split(",")] if text else []
        if not all(re.fullmatch(r"[^=\s]+=[^=\s]+", part) for part in parts):
            raise ValueError(text)
        found = dict(part.split("=") for part in parts)
        if len(found) < len(parts):
            raise ValueError(text)
        return MappingProxyType(found)

    return ValueKind(
        f"{key}={value} (several with commas between them, each {key} once)",
        parse,
        f"{key}={value}".upper(),
        is_repeatable=True,
    )


def _words(name: str) -> list[str]:
    """Return the words of a camelCase name in lower case."""
    return [word.lower() for word in re.findall(r"[A-Z]?[a-z0-9]+", name)]


class Setting(Struct, frozen=True):
    """One key of the configuration.

    `field` is the attribute of the configuration and `name` the property; `default` is the text of its default value.
    `other_names` are further names of the property in the official releases. `other_options` include their dashes. The
    value of a secret setting is not shown in errors.
    """

    field: str
    name: str
    kind: ValueKind[Any]
    default: str
    group: str
    help: str
    short_option: str = ""
    other_names: tuple[str, ...] = ()
    other_options: tuple[str, ...] = ()
    is_secret: bool = False

    @property
    def option(self) -> str:
        """The main spelling on the command line, such as ``--soft-timeout``."""
        return "--" + "-".join(_words(self.name))

    @property
    def options(self) -> tuple[str, ...]:
        """All spellings on the command line, the main one first; for a switch, those that turn it on."""
        short = (self.short_option,) if self.short_option else ()
        return (self.option, *short, *self.other_options)

    @property
    def negative_option(self) -> str:
        """The spelling that turns a switch off, such as ``--no-timeout``."""
        return "--no-" + self.option.removeprefix("--")

    @property
    def variable(self) -> str:
        """The environment variable, such as ``SPIELLEITER_SOFT_TIMEOUT``."""
        return "SPIELLEITER_" + "_".join(_words(self.name)).upper()

    def read(self, text: str, spelling: str) -> Any:
        """Parse `text`.

        Raises ValueError with a one-line message that begins with `spelling`: the source, and the name used there.
        """
        if not self.kind.keeps_spaces:
            text = text.strip()
        try:
            return self.kind.parse(text)
        except ValueError:
            shown = "" if self.is_secret else f" {text!r}"
            hint = suggestion(text, self.kind.choices)
            raise ValueError(f"{spelling}:{shown} cannot be used, expected {self.kind.allowed}{hint}") from None


def suggestion(word: str, known: Iterable[str], likeness: float = 0.6) -> str:
    """Return `` (did you mean 'x'?)`` for the known word most similar to `word`; an empty text if none is similar.

    `likeness`, from 0 to 1, is how similar it must be. Among thousands of words there is one that resembles any word,
    so there it should be higher.
    """
    from difflib import get_close_matches

    by_lower_case = {name.lower(): name for name in known}
    similar = get_close_matches(word.lower(), by_lower_case, n=1, cutoff=likeness)
    return f" (did you mean {by_lower_case[similar[0]]!r}?)" if similar else ""


def setting(
    default: str,
    kind: ValueKind[T],
    help_text: str,
    *,
    group: str = "",
    name: str = "",
    is_secret: bool = False,
    **more: Any,
) -> T:
    """Declare a field of a struct as a setting, with the text of its default; see `Setting` for the arguments.

    `name` is needed only where it is not the name of the field in camelCase, `group` only for the first of a group.
    """
    given = Setting("", name, kind, default, group, help_text, is_secret=is_secret, **more)
    value = kind.parse(default)
    return cast("T", field(default_factory=_Default(given, value)))


class _Default:
    """Returns the default value of a field, and knows its setting: the fields of structs have no metadata."""

    def __init__(self, given: Setting, value: Any) -> None:
        self.setting = given
        self._value = value

    def __call__(self) -> Any:
        return self._value


def settings_of(configuration: type[Struct]) -> tuple[Setting, ...]:
    """Return all settings of the struct `configuration`, in the order of its fields, which all have a default."""
    found: list[Setting] = []
    for field_name, default in zip(configuration.__struct_fields__, configuration.__struct_defaults__, strict=True):
        make = getattr(default, "factory", None)
        if isinstance(make, _Default):
            given = make.setting
            first, *others = field_name.split("_")
            name = given.name or first + "".join(word.capitalize() for word in others)
            group = given.group or found[-1].group
            found.append(structs.replace(given, field=field_name, name=name, group=group))
    return tuple(found)
