"""Text for people: counted nouns, escapes for untrusted text, and widths in columns of a terminal.

Names from the wire, error texts, reasons and outputs of programs may contain anything: control sequences for a
terminal, characters that change the direction of writing, characters that XML does not allow. They are escaped as in a
Python string where they are shown, and nowhere else: records and JSON keep the original text.
"""

from __future__ import annotations

import re
from typing import Final
from unicodedata import category, east_asian_width


def count_text(count: int, one: str, more: str = "") -> str:
    """Return ``1 pair``, ``2 pairs``; `more` is the plural if it is not `one` with an s."""
    return f"{count} {one if count == 1 else more or one + 's'}"


_UNSAFE: Final = (
    "[\x00-\x1f\x7f-\x9f"  # C0, DEL and C1
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # bidirectional
    "\u2028\u2029"  # line and paragraph separator
    "\ud800-\udfff\ufeff\ufffe\uffff]"  # not valid characters of a text
)
_SHORT: Final = {"\t": r"\t", "\n": r"\n", "\r": r"\r"}


def escaped(text: str) -> str:
    r"""Return `text` in one line; unsafe characters are shown as escapes such as ``\n``, ``\x1b`` or ``\u202e``.

    The result has no control character, none that changes the direction of text, no line or paragraph separator, no
    lone surrogate and none that XML 1.0 forbids. All other characters are unchanged.
    """
    return text if text.isprintable() else re.sub(_UNSAFE, _escape, text)


def escaped_lines(text: str) -> str:
    """Return `text` of several lines, escaped; line ends (LF or CRLF) become LF, and tabs are kept."""
    return "\n".join(
        "\t".join(escaped(piece) for piece in line.removesuffix("\r").split("\t")) for line in text.split("\n")
    )


def _escape(found: re.Match[str]) -> str:
    char = found[0]
    code = ord(char)
    return _SHORT.get(char) or (f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}")


_NO_COLUMN: Final = frozenset({"Mn", "Me", "Cf"})
_SOFT_HYPHEN: Final = "\u00ad"  # of category Cf, but terminals display it


def text_width(text: str) -> int:
    """Return the number of columns of `text`, which must not contain control characters.

    Wide characters of East Asian scripts take two, marks that combine with the character before them take none.
    """
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


# -- lines of a terminal ----------------------------------------------------------------------------------------------

JOINT: Final = "\u00a0"
"""Shown as a space, but the words it joins are kept on one line."""
_PAIR: Final = re.compile(r"\((\d+), (\d+)\)")
_WORD: Final = re.compile("( *)([^ ]+)")


def printable(text: str) -> str:
    """Return `text` as one line; control characters are escaped, other unprintable characters become question marks."""
    return "".join(" " if char.isspace() else char if char.isprintable() else "?" for char in escaped(text))


def wrapped(text: str, columns: int) -> list[str]:
    """Return `text` in lines of at most `columns` columns, split as by `filled`; at least one line.

    Further lines are indented unless there is very little space. A pair of coordinates is not split.
    """
    joined = _PAIR.sub(rf"(\1,{JOINT}\2)", text)
    return filled(joined, columns, "" if columns < 20 else "  ") or [""]


def filled(text: str, columns: int, indent: str) -> list[str]:
    """Return `text` in lines of at most `columns` columns, split between words. Each further line begins with `indent`.

    The displayed width counts. A word that is too long is not split, so that a path can be copied, and words that are
    joined by `JOINT` are not separated.
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
