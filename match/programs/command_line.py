r"""A command line as text, divided into the words that a program is started with.

The rules are those of the platform: on Windows a backslash is a character of paths and escapes nothing but a quotation
mark; elsewhere it escapes the character behind it, as in a shell. A line that begins with a path of Windows
(``C:\bots\bot.exe``, ``\\server\bot.exe``) is read by the rules of Windows everywhere.

Invariants: the words that `subprocess.list2cmdline` made into a line come out of `split_windows` as they were.
"""

from __future__ import annotations

import re
import shlex
import sys
from typing import Final

_WINDOWS_PATH: Final = re.compile(r'\s*"?(?:[A-Za-z]:\\|\\\\)')
_PIECE: Final = re.compile(r'(?P<slashes>\\*)(?P<quote>")|(?P<blank>[ \t\r\n]+)|(?P<text>\\+|[^\\" \t\r\n]+)')
_OPEN: Final = "no closing quotation"


def split_command(text: str, platform: str = sys.platform) -> list[str]:
    """The words of `text` by the rules of `platform`, a value of `sys.platform`.

    Raises ValueError for a quotation that is not closed, or a backslash at the end that escapes nothing.
    """
    if platform == "win32" or _WINDOWS_PATH.match(text):
        return split_windows(text)
    return shlex.split(text)


def split_windows(text: str) -> list[str]:
    """The words as programs of Windows read their command line. Raises ValueError for an open quotation."""
    words: list[str] = []
    word: str | None = None  # None between words
    is_quoted = False
    for piece in _PIECE.finditer(text):
        if piece["quote"]:
            slashes = len(piece["slashes"])
            word = (word or "") + "\\" * (slashes // 2)
            if slashes % 2:  # this one escapes the mark
                word += '"'
            else:
                is_quoted = not is_quoted
        elif piece["blank"] and not is_quoted:
            if word is not None:
                words.append(word)
            word = None
        else:
            word = (word or "") + piece[0]
    if is_quoted:
        raise ValueError(_OPEN)
    return words if word is None else [*words, word]
