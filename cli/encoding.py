"""Encoding of command-line arguments and of the standard streams.

The terminal or the locale chooses this encoding. Files, packets and JSON are always UTF-8 and do not need this module.

Invariants: after `prepare_streams`, writing to standard output or standard error never raises UnicodeEncodeError,
whatever their encoding is. Text returned by `recovered` can always be encoded as UTF-8.
"""

from __future__ import annotations

import codecs
import io
import os
import re
import sys
from functools import cache
from typing import TYPE_CHECKING, Any, Final, TextIO

import click

from spielleiter.common.terminal import end_quietly_without_readers

if TYPE_CHECKING:
    _ParamType = click.ParamType[str]
else:  # not generic in every supported version of click
    _ParamType = click.ParamType

_HANDLER: Final = "spielleiter.nearest"
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_SPELLINGS: Final = {
    "∞": "inf",
    "±": "+/-",
    "−": "-",
    "–": "-",
    "—": "-",
    "½": "1/2",
    "×": "x",
    "·": ".",
    "…": "...",
    "→": "->",
    "≤": "<=",
    "≥": ">=",
    "„": '"',
    "“": '"',
    "”": '"',
    "‘": "'",
    "’": "'",
    "ä": "ae",
    "ö": "oe",
    "ü": "ue",
    "Ä": "Ae",
    "Ö": "Oe",
    "Ü": "Ue",
    "ß": "ss",
}
"""Replacements for characters that the encoding of a stream lacks."""


def prepare_streams() -> None:
    """Make standard output and standard error replace characters that their encoding lacks by similar ones.

    A stream that is missing becomes one that discards what is written. A command whose standard output nobody reads any
    more ends without a message.
    """
    end_quietly_without_readers()
    codecs.register_error(_HANDLER, _write_nearest)
    sys.stdout, sys.stderr = sys.stdout or _null_device(), sys.stderr or _null_device()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # it may be a replacement
            stream.reconfigure(errors=_HANDLER)


@cache
def _null_device() -> TextIO:
    # pathlib would take more time than everything else that this file imports
    return open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123


def _write_nearest(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(_nearest(char) for char in error.object[error.start : error.end]), error.end


def _nearest(char: str) -> str:
    """An ASCII replacement for the character; a question mark if there is none."""
    if char in _SPELLINGS:
        return _SPELLINGS[char]
    import unicodedata  # rarely needed, and every command imports this file

    return unicodedata.normalize("NFKD", char).encode("ascii", "ignore").decode() or "?"


def json_text(value: Any, stream: TextIO | None = None) -> str:
    """The value as one line of JSON.

    It is ASCII with escapes if `stream` (default: standard output) cannot encode it, or if it contains characters that
    a terminal might interpret as commands.
    """
    import json  # here, since most commands write no JSON

    text = json.dumps(value, ensure_ascii=False)
    if not text.isprintable():
        return json.dumps(value)
    try:
        text.encode((stream or sys.stdout).encoding or "ascii")
    except UnicodeEncodeError:
        return json.dumps(value)
    return text


def is_clean(text: str) -> bool:
    """Whether the text can be encoded as UTF-8; text with undecodable bytes cannot."""
    return _SURROGATE.search(text) is None


def recovered(text: str) -> str:
    """The argument as text that can be encoded as UTF-8.

    Python represents bytes of an argument that the locale cannot decode as lone surrogates. This function decodes them
    as UTF-8; bytes that are not UTF-8 either become U+FFFD.
    """
    if is_clean(text):
        return text
    try:
        return os.fsencode(text).decode("utf-8", "replace")
    except UnicodeEncodeError:  # surrogates that do not represent bytes
        return _SURROGATE.sub("\ufffd", text)


class TextType(_ParamType):
    """An option whose value appears in packets, JSON or reports."""

    name = "text"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:  # noqa: ARG002
        """The value, converted by `recovered`."""
        return recovered(str(value))


class PasswordType(_ParamType):
    """A password; refused if it is not UTF-8, since a repaired password would be wrong."""

    name = "password"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The password. Raises BadParameter with a text that does not contain the password."""
        text = recovered(str(value))
        if "\ufffd" in text and not is_clean(str(value)):
            self.fail("the password is not UTF-8 and cannot be sent to a server; expected text in UTF-8", param, ctx)
        return text


TEXT: Final = TextType()
PASSWORD: Final = PasswordType()
