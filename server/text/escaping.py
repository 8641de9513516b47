"""Escapes untrusted text before it is shown.

Names from the wire, error texts, reasons and outputs of programs may contain anything: control sequences for a
terminal, characters that change the direction of writing, characters that XML does not allow. They are escaped as in a
Python string where they are shown, and nowhere else: records and JSON keep the original text.

Invariants: an escaped text contains no control character (C0, DEL, C1), no character that changes the direction of
text, no line or paragraph separator, no lone surrogate and no character that XML 1.0 forbids. All other characters are
unchanged.
"""

from __future__ import annotations

import re
from typing import Final

_UNSAFE: Final = re.compile(
    "[\x00-\x1f\x7f-\x9f"  # C0, DEL and C1
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # bidirectional
    "\u2028\u2029"  # line and paragraph separator
    "\ud800-\udfff\ufeff\ufffe\uffff]"  # not valid characters of a text
)
_SHORT: Final = {"\t": r"\t", "\n": r"\n", "\r": r"\r"}


def escaped(text: str) -> str:
    r"""Return `text` in one line; unsafe characters are shown as escapes such as ``\n``, ``\x1b`` or ``\u202e``."""
    return text if text.isprintable() else _UNSAFE.sub(_escape, text)


def escaped_lines(text: str) -> str:
    """Return `text` of several lines, escaped; line ends (LF or CRLF) become LF, and tabs are kept."""
    return "\n".join(
        "\t".join(escaped(piece) for piece in line.removesuffix("\r").split("\t")) for line in text.split("\n")
    )


def _escape(found: re.Match[str]) -> str:
    char = found[0]
    code = ord(char)
    return _SHORT.get(char) or (f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}")
