"""What commands write: lines that fit into a terminal, JSON, and streams that can write every character.

The terminal or the locale chooses the encoding of arguments and standard streams. Files, packets and JSON are always
UTF-8. Most imports are inside functions, since every command imports this module.
"""

from __future__ import annotations

import atexit
import codecs
import io
import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, Final, TextIO

import click

from spielleiter.common.terminal import end_quietly_without_readers, understands_escapes

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

_IN_BACKTICKS: Final = re.compile("`[^`]+`")

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
    device = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115
    atexit.register(device.close)  # otherwise Python warns of it when it ends
    return device


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
    from spielleiter.common.text import JOINT, filled, text_width

    if not 0 < columns < text_width(line):
        return line
    indent = " " * (len(line) - len(line.lstrip(" ")) + 2)
    joined = _IN_BACKTICKS.sub(lambda found: found[0].replace(" ", JOINT), line)
    return "\n".join(filled(joined, columns, indent if len(indent) < columns // 2 else ""))


# -- what goes on -----------------------------------------------------------------------------------------------------


@contextmanager
def changing_line() -> Iterator[Callable[[str], None]]:
    """What shows a text in one line that changes on a terminal, and otherwise each new text as a line of its own.

    On leaving, the line on the terminal is empty again. It is on standard error.
    """
    import shutil

    from spielleiter.common.text import escaped

    is_live = understands_escapes(sys.stderr)
    shown = ""

    def show(text: str) -> None:
        nonlocal shown
        text = escaped(text)
        if text == shown:
            return
        shown = text
        if is_live:
            click.echo(f"\r\x1b[K{text[: shutil.get_terminal_size().columns - 1]}", nl=False, err=True)
        else:
            print_line(text, err=True)

    try:
        yield show
    finally:
        if is_live and shown:
            click.echo("\r\x1b[K", nl=False, err=True)


@contextmanager
def showing_share(doing: str) -> Iterator[Callable[[float], None]]:
    """What shows how much is done of `doing`, a share up to 1: each percent on a terminal, otherwise each tenth."""
    step = 1 if understands_escapes(sys.stderr) else 10
    with changing_line() as show:
        yield lambda share: show(f"{doing}: {int(100 * share) // step * step} %")
