"""Wrapping text to the width of a terminal.

Invariants: the displayed width of the text counts, never the number of its characters. No word is split.
"""

from __future__ import annotations

import re
from typing import Final

from spielleiter.common.text import escaped, text_width

JOINT: Final = "\u00a0"
"""Shown as a space, but the words it joins are kept on one line."""

_PAIR: Final = re.compile(r"\((\d+), (\d+)\)")
_WORD: Final = re.compile("( *)([^ ]+)")


def printable(text: str) -> str:
    """`text` as one line; control characters are escaped, other unprintable characters become question marks."""
    return "".join(" " if char.isspace() else char if char.isprintable() else "?" for char in escaped(text))


def wrapped(text: str, columns: int) -> list[str]:
    """`text` in lines of at most `columns` columns, split as by `filled`; at least one line.

    Further lines are indented unless there is very little space. A pair of coordinates is not split.
    """
    joined = _PAIR.sub(rf"(\1,{JOINT}\2)", text)
    return filled(joined, columns, "" if columns < 20 else "  ") or [""]


def filled(text: str, columns: int, indent: str) -> list[str]:
    """`text` in lines of at most `columns` columns, split between words; a word that is too long is not split.

    Each further line begins with `indent`. Words that are joined by `JOINT` are not separated.
    """
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
