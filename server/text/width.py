"""How wide text is where every character has a column or two, as in a terminal.

Invariants: only widths are known here, not where the text is shown. Characters of East Asian scripts take two columns,
marks that belong to the character before them take none, and all others take one.
"""

from __future__ import annotations

from typing import Final
from unicodedata import category, east_asian_width

_NO_COLUMN: Final = frozenset({"Mn", "Me", "Cf"})
_SOFT_HYPHEN: Final = "\u00ad"  # of category Cf, but terminals show it


def text_width(text: str) -> int:
    """How many columns `text` takes; it holds no control characters."""
    return len(text) if text.isascii() else sum(map(_width, text))


def _width(char: str) -> int:
    if category(char) in _NO_COLUMN and char != _SOFT_HYPHEN:
        return 0
    return 2 if east_asian_width(char) in "WF" else 1


def shortened(text: str, columns: int, end: str = "..") -> str:
    """`text`, or as much of it as fits into so many columns together with `end` behind it."""
    if text_width(text) <= columns:
        return text
    left, most = columns - text_width(end), 0
    for char in text:
        left -= _width(char)
        if left < 0:
            break
        most += 1
    return text[:most] + end
