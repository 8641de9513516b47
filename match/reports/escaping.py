"""Text for each form of report.

Invariants: whatever a program or its author chose stays text in the form that it is put into: no tag, no table, no
formula. Control characters are escaped first, in all of them alike (`spielleiter.server.text.escaping`).
"""

from __future__ import annotations

import html
import re
from typing import Final

from spielleiter.server.text.escaping import escaped

_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")  # spreadsheets take wide signs, too
_MARKDOWN: Final = re.compile(r"([\\`*_\[\]|~$])")


def escape_html(text: str) -> str:
    """For HTML and SVG, in an element or a quoted attribute."""
    return html.escape(escaped(text))


def escape_markdown(text: str) -> str:
    """For GitHub's Markdown, within a line or a cell of a table."""
    return _MARKDOWN.sub(r"\\\1", html.escape(escaped(text), quote=False))


def escape_cell(text: str) -> str:
    """For a cell of a CSV file: what a spreadsheet would take for a formula is preceded by an apostrophe."""
    return f"'{escaped(text)}" if text.startswith(_FORMULA) else escaped(text)
