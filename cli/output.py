"""What commands write: lines that fit into a terminal, JSON, and streams that can write every character.

The terminal or the locale chooses the encoding of arguments and standard streams. Files, packets and JSON are always
UTF-8. Most imports are inside functions, since every command imports this module.
"""

from __future__ import annotations

import codecs
import io
import os
import re
import sys
from functools import cache
from typing import Any, Final, TextIO

import click

from spielleiter.common.terminal import end_quietly_without_readers

_HANDLER: Final = "spielleiter.nearest"
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

JOINT: Final = "\u00a0"
"""Shown as a space, but the words it joins are kept on one line."""
_IN_BACKTICKS: Final = re.compile("`[^`]+`")
_PAIR: Final = re.compile(r"\((\d+), (\d+)\)")
_WORD: Final = re.compile("( *)([^ ]+)")

# -- streams ----------------------------------------------------------------------------------------------------------


def prepare_streams() -> None:
    """Make standard output and standard error replace characters that their encoding lacks by similar ones.

    Afterwards, writing to them never raises UnicodeEncodeError. A stream that is missing becomes one that discards what
    is written. A command whose standard output nobody reads any more ends without a message.
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
    import unicodedata

    text = ""
    for char in error.object[error.start : error.end]:
        plain = unicodedata.normalize("NFKD", char).encode("ascii", "ignore").decode()
        text += _SPELLINGS.get(char) or plain or "?"
    return text, error.end


def json_text(value: Any, stream: TextIO | None = None) -> str:
    """The value as one line of JSON.

    It is ASCII with escapes if `stream` (default: standard output) cannot encode it, or if it contains characters that
    a terminal might interpret as commands.
    """
    import json

    text = json.dumps(value, ensure_ascii=False)
    if not text.isprintable():
        return json.dumps(value)
    try:
        text.encode((stream or sys.stdout).encoding or "ascii")
    except UnicodeEncodeError:
        return json.dumps(value)
    return text


# -- lines ------------------------------------------------------------------------------------------------------------


def print_line(line: str = "", *, err: bool = False) -> None:
    """Write a line to standard output, or to standard error with `err`; control characters are escaped.

    On a terminal that is too narrow the line is wrapped.
    """
    from spielleiter.common.text import escaped

    click.echo(fitted(escaped(line), sys.stderr if err else sys.stdout), err=err)


def fitted(line: str, out: TextIO) -> str:
    """`line`, wrapped between words if `out` is a terminal that is too narrow for it.

    Text in backticks is not split, so that a command can be copied. Further lines are indented by two more columns than
    the first one.
    """
    try:
        columns = os.get_terminal_size(out.fileno()).columns - 1
    except (OSError, ValueError):  # no terminal
        return line
    from spielleiter.common.text import text_width

    if not 0 < columns < text_width(line):
        return line
    indent = " " * (len(line) - len(line.lstrip(" ")) + 2)
    joined = _IN_BACKTICKS.sub(lambda found: found[0].replace(" ", JOINT), line)
    return "\n".join(filled(joined, columns, indent if len(indent) < columns // 2 else ""))


def printable(text: str) -> str:
    """`text` as one line; control characters are escaped, other unprintable characters become question marks."""
    from spielleiter.common.text import escaped

    return "".join(" " if char.isspace() else char if char.isprintable() else "?" for char in escaped(text))


def wrapped(text: str, columns: int) -> list[str]:
    """`text` in lines of at most `columns` columns, split as by `filled`; at least one line.

    Further lines are indented unless there is very little space. A pair of coordinates is not split.
    """
    joined = _PAIR.sub(rf"(\1,{JOINT}\2)", text)
    return filled(joined, columns, "" if columns < 20 else "  ") or [""]


def filled(text: str, columns: int, indent: str) -> list[str]:
    """`text` in lines of at most `columns` columns, split between words. Each further line begins with `indent`.

    The displayed width counts. A word that is too long is not split, so that a path can be copied, and words that are
    joined by `JOINT` are not separated.
    """
    from spielleiter.common.text import text_width

    lines: list[str] = []
    line, width = "", 0
    for gap, word in _WORD.findall(text):
        more = text_width(word)
        if line and width + len(gap) + more > columns:
            lines.append(line)
            line, width = indent + word, len(indent) + more
        else:
            line += gap + word
            width += len(gap) + more
    return [each.replace(JOINT, " ") for each in (*lines, line) if each]
