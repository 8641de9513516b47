"""Names of files and folders that every common system accepts.

Invariants: `portable_name` never returns a name that Windows, macOS or Linux refuses or changes: no forbidden or
control character, no reserved word (``con``, ``com1.xml``), no blank or dot at the end, no more than `MAX_BYTES` bytes.
A name that is portable already is returned as it is.
"""

from __future__ import annotations

import re
from typing import Final

MAX_BYTES: Final = 240
"""The most bytes of a name; common systems allow 255, and some callers add a number."""
FORBIDDEN: Final = re.compile(r'[\x00-\x1f\x7f/\\:*?"<>|\ud800-\udfff]')
"""The characters that a name cannot contain on one of these systems, and lone surrogates."""

_RESERVED: Final = re.compile(r"(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[0-9¹²³]) *(?:\.|$)", re.IGNORECASE)
_LONGEST_SUFFIX: Final = 20


def portable_name(name: str) -> str:
    """Return `name` with an underscore in place of everything that a system refuses; a name that is too long is cut.

    A suffix, such as ``.xml``, is kept.
    """
    name = FORBIDDEN.sub("_", name)
    if len(name.encode()) > MAX_BYTES:
        stem, dot, suffix = name.rpartition(".")
        ending = f"{dot}{suffix}" if stem and len(suffix) < _LONGEST_SUFFIX else ""
        name = cut_to(name.removesuffix(ending), MAX_BYTES - len(ending.encode())) + ending
    if name.endswith((" ", ".")):
        name = name[:-1] + "_"
    if _RESERVED.match(name):
        name = f"_{name}" if len(name.encode()) < MAX_BYTES else f"_{name[1:]}"
    return name or "_"


def cut_to(text: str, size: int) -> str:
    """Return the beginning of `text` that takes at most `size` bytes in UTF-8."""
    return text.encode()[:size].decode(errors="ignore")
