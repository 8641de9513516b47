"""The width of text in columns of a terminal.

Invariants: wide characters of East Asian scripts take two columns, marks that combine with the character before them
take none, and all others take one. The terminal that shows the text is not taken into account.
"""

from __future__ import annotations

from typing import Final
from unicodedata import category, east_asian_width

_NO_COLUMN: Final = frozenset({"Mn", "Me", "Cf"})
_SOFT_HYPHEN: Final = "\u00ad"  # of category Cf, but terminals display it


def text_width(text: str) -> int:
    """Return the number of columns of `text`, which must not contain control characters."""
    return len(text) if text.isascii() else sum(map(_width, text))


def _width(char: str) -> int:
    if category(char) in _NO_COLUMN and char != _SOFT_HYPHEN:
        return 0
    return 2 if east_asian_width(char) in "WF" else 1


def shortened(text: str, columns: int, end: str = "..") -> str:
    """Return `text` if it fits into `columns`, otherwise its longest prefix that fits together with `end`."""
    if text_width(text) <= columns:
        return text
    left, most = columns - text_width(end), 0
    for char in text:
        left -= _width(char)
        if left < 0:
            break
        most += 1
    return text[:most] + end
