"""Reads `server.properties` as the official releases do.

Invariants: an unreadable file is an error of one line that names the file. Only regular files of limited size are read:
reading a device or a pipe might never end.
"""

from __future__ import annotations

import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from spielleiter.server.errors import StartError

MOST_BYTES: Final = 1024 * 1024


class ConfigError(StartError):
    """A setting is unknown or invalid; the text is one line: its source, the value, and what is allowed."""


def read_properties(file: Path) -> Iterator[tuple[int, str, str]]:
    """Yield the line number, key and value of each property in `file`. Raises ConfigError."""
    import javaproperties

    content = _read_text(file)
    line = 1
    elements = javaproperties.parse(content)
    while True:
        try:
            element = next(elements, None)
        except javaproperties.InvalidUEscapeError as error:
            raise ConfigError(
                f"{file}:{line}: {error.escape!r} is not an escape, expected \\u and four digits"
            ) from None
        if element is None:
            return
        if isinstance(element, javaproperties.KeyValue):
            yield line, element.key, element.value
        line += element.source.count("\n")


def _read_text(file: Path) -> str:
    """Return the text of `file` with LF as line ends. Raises ConfigError."""
    try:
        mode = file.stat().st_mode
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
            raise ConfigError(f"{file}: is a device or a pipe, expected a text file in UTF-8")
        with file.open("rb") as opened:
            content = opened.read(MOST_BYTES + 1)
        if len(content) > MOST_BYTES:
            raise ConfigError(f"{file}: has more than {MOST_BYTES} bytes, expected a text file with settings")
        return content.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except OSError as error:
        raise ConfigError(f"{file}: cannot be read ({error.strerror})") from None
    except UnicodeDecodeError as error:
        raise ConfigError(f"{file}: byte {error.start} is not UTF-8, expected a text file in UTF-8") from None
