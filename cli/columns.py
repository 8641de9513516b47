"""Text that fits into the columns of a terminal.

Invariants: what counts is how wide text is shown, never how many characters it has. No word is cut in two.
"""

from __future__ import annotations

import re
from typing import Final

from spielleiter.server.text.escaping import escaped
from spielleiter.server.text.width import text_width

JOINT: Final = "\u00a0"
"""Shown as a blank, but what it joins is one word."""

_PAIR: Final = re.compile(r"\((\d+), (\d+)\)")
_WORD: Final = re.compile("( *)([^ ]+)")


def printable(text: str) -> str:
    """`text` in one line; control characters are escaped, and what else no terminal can show is a question mark."""
    return "".join(" " if char.isspace() else char if char.isprintable() else "?" for char in escaped(text))


def wrapped(text: str, columns: int) -> list[str]:
    """`text` in lines of at most so many columns, as `filled` divides it; at least one line.

    Further lines are indented unless there is very little space. A pair of coordinates is one word.
    """
    joined = _PAIR.sub(rf"(\1,{JOINT}\2)", text)
    return filled(joined, columns, "" if columns < 20 else "  ") or [""]


def filled(text: str, columns: int, indent: str) -> list[str]:
    """`text` in lines of at most so many columns, divided between words; a word that is too long is left whole.

    Each further line begins with `indent`. What is joined by `JOINT` is one word.
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
