"""Text that crosses the border of the process: command-line arguments, and the standard streams.

Their encoding is the terminal's or the locale's choice, not ours. Files, packets and JSON are always UTF-8 and need
none of this.

Invariants: writing to standard output or standard error never raises UnicodeEncodeError once `prepare_streams` was
called, whatever their encoding. Text that comes from `recovered` can always be encoded as UTF-8.
"""

from __future__ import annotations

import codecs
import io
import os
import re
import sys
from typing import TYPE_CHECKING, Any, Final, TextIO

import click

if TYPE_CHECKING:
    _ParamType = click.ParamType[str]
else:  # not generic in every version of click that will do
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
"""What is written instead of a character that the stream's encoding lacks."""


def prepare_streams() -> None:
    """Let standard output and standard error write the nearest spelling of what their encoding lacks."""
    codecs.register_error(_HANDLER, _write_nearest)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # there may be none, or one that somebody put there
            stream.reconfigure(errors=_HANDLER)


def _write_nearest(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(_nearest(sign) for sign in error.object[error.start : error.end]), error.end


def _nearest(sign: str) -> str:
    """An ASCII spelling of the character; a question mark where there is none."""
    if sign in _SPELLINGS:
        return _SPELLINGS[sign]
    import unicodedata  # seldom needed, and every command imports this file

    return unicodedata.normalize("NFKD", sign).encode("ascii", "ignore").decode() or "?"


def json_text(value: Any, stream: TextIO | None = None) -> str:
    """The value as one line of JSON, in ASCII with escapes if `stream` (standard output) cannot write it as it is.

    So it is if a terminal might take a character of it for a command.
    """
    import json  # not for commands that write none

    text = json.dumps(value, ensure_ascii=False)
    if not text.isprintable():
        return json.dumps(value)
    try:
        text.encode((stream or sys.stdout).encoding or "ascii")
    except UnicodeEncodeError:
        return json.dumps(value)
    return text


def is_clean(text: str) -> bool:
    """Whether the text can be encoded as UTF-8, which text from bytes that could not be decoded cannot."""
    return _SURROGATE.search(text) is None


def recovered(text: str) -> str:
    """The argument as text that can be encoded as UTF-8.

    Python keeps bytes of an argument that the locale cannot decode as lone surrogates. They are read as UTF-8 here;
    what is not UTF-8 either becomes U+FFFD.
    """
    if is_clean(text):
        return text
    try:
        return os.fsencode(text).decode("utf-8", "replace")
    except UnicodeEncodeError:  # surrogates that no byte stands behind
        return _SURROGATE.sub("\ufffd", text)


class TextType(_ParamType):
    """An option whose value ends in packets, JSON or reports."""

    name = "text"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:  # noqa: ARG002
        """The text, recovered."""
        return recovered(str(value))


class PasswordType(_ParamType):
    """A password; it is not repaired but refused if it is not UTF-8, since no repaired one would be right."""

    name = "password"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The password. Raises BadParameter, without showing it."""
        text = recovered(str(value))
        if "\ufffd" in text and not is_clean(str(value)):
            self.fail("the password is not UTF-8, and no server can be told it; expected text in UTF-8", param, ctx)
        return text


TEXT: Final = TextType()
PASSWORD: Final = PasswordType()
