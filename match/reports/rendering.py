"""Rendering the reports from their templates, escaping texts, and writing files.

Whatever a program or its author chose stays text in every format: it cannot become a tag, a table or a formula.
Templates need no filter for that, since every value that they print is escaped for the format that their name ends
with. Control characters are escaped first, in the same way for all formats.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from spielleiter.common.errors import JournalError
from spielleiter.common.files import write_whole
from spielleiter.common.text import escaped

if TYPE_CHECKING:
    import jinja2  # imported when the first report is rendered: most commands write none

_FORMULA: Final = re.compile(r"""(^|;)([ "]*)(?=[-=+@\t\r\n＝＋－＠])""")
"""What makes a cell a formula. Spreadsheets accept full-width signs as well, and some begin a cell at a semicolon."""
_MARKDOWN: Final = re.compile(r"([\\`*_\[\]|~$])")
_PACKAGE: Final = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True)
class LinkedText:
    """A cell of a table with a link to a file or folder; `path` is relative to the page."""

    text: str
    path: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class ReportTable:
    """A table as both HTML and Markdown show it; `texts` are the indices of columns with words, not numbers."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str | int | LinkedText, ...], ...]
    texts: frozenset[int] = frozenset({0})


def escape_html(text: str) -> str:
    """Escape a text for HTML and SVG, in an element or a quoted attribute."""
    return html.escape(escaped(text))


def escape_markdown(text: str) -> str:
    """Escape a text for GitHub's Markdown, within a line or a cell of a table."""
    return _MARKDOWN.sub(r"\\\1", html.escape(escaped(text), quote=False))


def escape_cell(text: str) -> str:
    """Escape a text for a cell of a CSV file; if a spreadsheet would take it for a formula, it gets an apostrophe."""
    return escaped(_FORMULA.sub(r"\1'\2", text))


def render(template: str, **values: Any) -> str:
    """The text of a report.

    `template` is a path below the package, such as ``match/reports/templates/report.html.j2``. What `values` holds of
    HTML that is not to be escaped has to be marked by `safe` in the template.
    """
    return (
        _environment(escape_markdown if template.endswith(".md.j2") else escape_html)
        .get_template(template)
        .render(**values)
    )


@cache
def _environment(escape: Callable[[str], str]) -> jinja2.Environment:
    import jinja2
    from markupsafe import Markup

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_PACKAGE),
        # jinja2's own escaping leaves control characters, and knows no Markdown: all it still does is to tell apart
        # what has been escaped, such as the result of a macro
        autoescape=True,
        finalize=lambda value: value if isinstance(value, Markup) else Markup(escape(str(value))),  # noqa: S704
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    # "./" prevents a name with a colon from being taken for a URL with a scheme
    environment.filters["href"] = lambda path: Markup("./" + quote(path, errors="surrogatepass"))  # noqa: S704
    return environment


def write_text(path: Path, text: str) -> None:
    """Write a report, replacing an existing one; a reader sees either the old or the new one. Raises JournalError."""
    try:
        write_whole(path, text)
    except OSError as error:
        # Windows replaces no file that is open, for example a table in a spreadsheet
        hint = "; close it if another program has opened it" if isinstance(error, PermissionError) else ""
        raise JournalError(f"{path}: cannot be written ({error.strerror or error}){hint}") from None
