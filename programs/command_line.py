r"""Splitting a command line into words, by the rules of the platform.

On Windows, a backslash is part of a path and escapes nothing but a quotation mark. On other systems it escapes the
next character, as in a shell. A line that begins with a Windows path (``C:\bots\bot.exe``, ``\\server\bot.exe``) is
read by the rules of Windows on every system.

Invariants: `split_windows` is the inverse of `subprocess.list2cmdline`.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Iterable
from typing import Final

_WINDOWS_PATH: Final = re.compile(r'\s*"?(?:[A-Za-z]:\\|\\\\)')
_TOKEN: Final = re.compile(r'(?P<slashes>\\*)(?P<quote>")|(?P<blank>[ \t\r\n]+)|(?P<text>\\+|[^\\" \t\r\n]+)')
_NOT_CLOSED: Final = "no closing quotation"


def split_command(text: str, platform: str = sys.platform) -> list[str]:
    """Split `text` by the rules of `platform`, a value of `sys.platform`.

    Raises ValueError if a quotation is not closed, or a backslash at the end escapes nothing.
    """
    if platform == "win32" or _WINDOWS_PATH.match(text):
        return split_windows(text)
    return shlex.split(text)


def join_command(words: Iterable[str], platform: str = sys.platform) -> str:
    """The command line that `split_command` splits into `words`."""
    return subprocess.list2cmdline(list(words)) if platform == "win32" else shlex.join(words)


def split_windows(text: str) -> list[str]:
    """Split `text` as Windows programs do with their command line. Raises ValueError if a quotation is not closed."""
    words: list[str] = []
    word: str | None = None  # None: between two words
    is_quoted = False
    for token in _TOKEN.finditer(text):
        if token["quote"]:
            slashes = len(token["slashes"])
            word = (word or "") + "\\" * (slashes // 2)
            if slashes % 2:  # the last backslash escapes the quotation mark
                word += '"'
            else:
                is_quoted = not is_quoted
        elif token["blank"] and not is_quoted:
            if word is not None:
                words.append(word)
            word = None
        else:
            word = (word or "") + token[0]
    if is_quoted:
        raise ValueError(_NOT_CLOSED)
    return words if word is None else [*words, word]
