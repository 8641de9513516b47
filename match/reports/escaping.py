"""Escaping texts for the formats of reports.

Invariants: a text that a program or its author chose stays text in every format: it cannot become a tag, a table or a
formula. Control characters are escaped first, in the same way for all formats (`spielleiter.common.text`).
"""

from __future__ import annotations

import html
import re
from typing import Final

from spielleiter.common.text import escaped

_FORMULA: Final = (
    "=",
    "+",
    "-",
    "@",
    "\t",
    "\r",
    "\n",
    "＝",
    "＋",
    "－",
    "＠",
)  # spreadsheets accept full-width signs as well
_MARKDOWN: Final = re.compile(r"([\\`*_\[\]|~$])")


def escape_html(text: str) -> str:
    """Escape a text for HTML and SVG, in an element or a quoted attribute."""
    return html.escape(escaped(text))


def escape_markdown(text: str) -> str:
    """Escape a text for GitHub's Markdown, within a line or a cell of a table."""
    return _MARKDOWN.sub(r"\\\1", html.escape(escaped(text), quote=False))


def escape_cell(text: str) -> str:
    """Escape a text for a cell of a CSV file; if a spreadsheet would take it for a formula, it gets an apostrophe."""
    return f"'{escaped(text)}" if text.startswith(_FORMULA) else escaped(text)
