"""Reads the values of settings from a properties file, the environment and the command line.

Invariants: sources are read from the lowest precedence to the highest, and a later value replaces an earlier one. An
unknown name or an invalid value is a ConfigError with one line that names the source.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeAlias

from spielleiter.server.config.properties import ConfigError, read_properties
from spielleiter.server.config.setting import Setting, suggestion

CONFIG_VARIABLE = "SPIELLEITER_CONFIG"

RESERVED_VARIABLES = frozenset({CONFIG_VARIABLE, "SPIELLEITER_SHARED"})
"""Variables with this project's prefix that are not settings; the second one is for the tests."""

IGNORED = MappingProxyType({"plugins": "games are built in, no plugins are loaded"})
"""Keys of the official releases that have no effect here, with the reason; on the command line, each takes a value."""

Options: TypeAlias = Mapping[str, str | Sequence[str] | None]
"""Texts from the command line by field of `Config`; None means that the option was not given."""


class SettingReader:
    """Collects values from the source of the lowest precedence to that of the highest."""

    def __init__(self, settings: Sequence[Setting], edition_setting: Setting) -> None:
        """Read values of `settings`; `edition_setting` is the one that has a property for each gameType."""
        self._settings = settings
        self._edition_setting = edition_setting
        self.values: dict[str, Any] = {}
        """The values by field."""
        self.precedence: dict[str, int] = {}
        """The precedence of the source of each value, by field."""
        self._edition_precedence: dict[str, int] = {}
        """The same for the chosen edition of each gameType."""
        self._current_precedence = 0
        self.ignored: list[str] = []
        """The accepted settings without effect, each with its source and the reason."""

    def read_file(self, file: Path) -> None:
        """Read a properties file. Raises ConfigError."""
        prefix = self._edition_setting.name + "."
        self._current_precedence = 1
        by_name = {name: each for each in self._settings for name in (each.name, *each.other_names)}
        for line, name, value in read_properties(file):
            place = f"{file}:{line}: {name}"
            if name in IGNORED:
                self.ignored.append(f"{place} ({IGNORED[name]})")
            elif name.startswith(prefix):
                self._read(self._edition_setting, f"{name.removeprefix(prefix)}={value.strip()}", place)
            elif known := by_name.get(name):
                self._read(known, value, place)
            else:
                raise ConfigError(f"{place}: there is no such property{suggestion(name, by_name)}")

    def read_environment(self, environ: Mapping[str, str]) -> None:
        """Read the environment variables with the prefix of this project. Raises ConfigError."""
        self._current_precedence = 2
        by_variable = {each.variable: each for each in self._settings}
        for name, value in sorted(environ.items()):
            if not name.startswith("SPIELLEITER_") or name in RESERVED_VARIABLES:
                continue
            if name not in by_variable:
                raise ConfigError(f"{name}: there is no such environment variable{suggestion(name, by_variable)}")
            self._read(by_variable[name], value, name)

    def read_options(self, options: Options) -> None:
        """Read the texts from the command line. Raises ConfigError."""
        self._current_precedence = 3
        for each in self._settings:
            given = options.get(each.field)
            for content in (given,) if isinstance(given, str) else given or ():
                self._read(each, content, each.option)
        self.ignored += [f"--{name} ({why})" for name, why in IGNORED.items() if options.get(name) is not None]

    def _read(self, which: Setting, content: str, place: str) -> None:
        try:
            value = which.read(content, place)
        except ValueError as error:
            raise ConfigError(str(error)) from None
        if which is self._edition_setting:
            self._require_new_editions(value, place)
            value = MappingProxyType({**self.values.get(which.field, {}), **value})
        self.values[which.field] = value
        self.precedence[which.field] = self._current_precedence

    def _require_new_editions(self, editions: Mapping[str, str], place: str) -> None:
        """Check that one source chooses only one edition of a game. Raises ConfigError.

        A source of higher precedence may choose another edition.
        """
        for game_type in editions:
            if self._edition_precedence.get(game_type) == self._current_precedence:
                chosen = self.values[self._edition_setting.field][game_type]
                raise ConfigError(
                    f"{place}: {game_type} is already played in {chosen}, expected one edition for each gameType"
                )
            self._edition_precedence[game_type] = self._current_precedence
