"""[reports.escaping]
Escaping texts for the formats of reports.

Invariants: a text that a program or its author chose stays text in every format: it cannot become a tag, a table or a
formula. Control characters are escaped first, in the same way for all formats (`spielleiter.common.text`).


[reports.files]
Writing reports into their folder.

Invariants: a file is written as a whole; a reader sees either the old or the new one.


[reports.page]
The parts of HTML reports: the page with its style sheet, tables and links.

Invariants: the page has no script and fetches nothing, and a policy in its head forbids both. Plain texts are escaped
here; a `Markup` is not.

"""

from __future__ import annotations

import html
import re
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Final
from urllib.parse import quote

from spielleiter.common.errors import JournalError
from spielleiter.common.files import write_whole
from spielleiter.common.text import escaped
from spielleiter.match.reports.texts import PLATFORM_GAPS

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


def write_text(path: Path, text: str) -> None:
    """Write a report, replacing an existing one. Raises JournalError."""
    try:
        write_whole(path, text)
    except OSError as error:
        # Windows replaces no file that is open, for example a table in a spreadsheet
        hint = "; close it if another program has opened it" if isinstance(error, PermissionError) else ""
        raise JournalError(f"{path}: cannot be written ({error.strerror or error}){hint}") from None


_STYLE: Final = """
:root { color-scheme: light dark; --ink: #1b1b1b; --page: #fff; --line: #ccc; --p0: #0072b2; --p1: #d55e00;
        --draw: #8a8a8a; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e6e6; --page: #16181b; --line: #444; --p0: #56b4e9; --p1: #e69f00; --draw: #9a9a9a; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--page); margin: 2em auto;
       max-width: 60em; padding: 0 1em; }
table { border-collapse: collapse; margin: 1em 0; } caption { text-align: left; font-weight: 600; }
th, td { padding: .2em .8em; border-bottom: 1px solid var(--line); text-align: right; vertical-align: top; }
th:first-child, td:first-child, .text { text-align: left; } td.text { overflow-wrap: anywhere; }
svg { width: 100%; height: auto; font-size: 12px; fill: var(--ink); } figure { margin: 1.5em 0; }
figcaption { font-weight: 600; } .p0 { fill: var(--p0); } .p1 { fill: var(--p1); } .draw { fill: var(--draw); }
circle { fill-opacity: .7; } .band { fill: var(--p0); opacity: .12; } line { stroke: var(--line); }
polyline.curve { fill: none; stroke: var(--p0); stroke-width: 2; }
line.bound { stroke: var(--ink); stroke-dasharray: 6 4; }
rect.box { fill: none; stroke: var(--line); } g.won { font-weight: 700; }
line.zero { stroke: var(--ink); } line.mean { stroke: var(--p0); stroke-width: 2; }
.key { display: inline-block; width: .8em; height: .8em; margin: 0 .3em 0 1em; } .key.p0 { background: var(--p0); }
.key.p1 { background: var(--p1); } .key.draw { background: var(--draw); } details { margin: 1em 0; }
a { color: inherit; } h1, p, li, caption, td:first-child { overflow-wrap: anywhere; } td { white-space: nowrap; }
td.text, td:first-child { white-space: normal; min-width: 6em; } details td:first-child { min-width: 0; }
.narrow td:first-child:not(.text) { min-width: 0; }
.state { color: #fff; border-radius: .3em; padding: .05em .5em; white-space: nowrap; }
.state.green { background: #1a7f37; }
.state.yellow { background: #8a6100; } .state.red { background: #c62828; } .state.grey { background: #666; }
td ul { margin: .3em 0; padding-left: 1.2em; } .demand { margin: .2em 0; opacity: .75; font-size: .9em; }
.wide, figure { overflow-x: auto; } svg { min-width: 34em; }
@media (max-width: 40em) { body { margin: 1em auto; } h1 { font-size: 1.4em; } ul { padding-left: 1.2em; }
  th, td { padding: .2em .4em; } figure { margin: 1.5em 0; } }
"""


class Markup(str):
    """HTML that must not be escaped again."""

    __slots__ = ()


def platform_gaps_list(gaps: Iterable[str]) -> str:
    """A list of what was not possible on this operating system; empty if nothing was."""
    items = "".join(f"<li>{escape_html(gap)}</li>" for gap in gaps)
    return f"<p>{PLATFORM_GAPS}:</p><ul>{items}</ul>" if items else ""


def page(title: str, body: Iterable[str]) -> str:
    """The complete text of a page; the lines of `body` are HTML."""
    return "\n".join([
        "<!DOCTYPE html>",
        '<html lang="en"><head><meta charset="utf-8">',
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">",
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{escape_html(title)}</title>",
        f"<style>{_STYLE}</style></head><body>",
        *body,
        "</body></html>",
        "",
    ])  # fmt: skip


def table(caption: str, head: Sequence[str], rows: Iterable[Sequence[str | int]], texts: Collection[int] = ()) -> str:
    """A table that scrolls horizontally on narrow screens; `texts` are the indices of columns with words."""
    kinds = [' class="text"' if index in texts else "" for index in range(len(head))]
    narrow = ' class="narrow"' if texts else ""
    lines = [f'<div class="wide"><table{narrow}><caption>{escape_html(caption)}</caption>']
    if any(head):
        cells = (f"<th{kind}>{escape_html(cell)}</th>" for cell, kind in zip(head, kinds, strict=True))
        lines.append(f"<thead><tr>{''.join(cells)}</tr></thead>")
    for row in rows:
        cells = (f"<td{kind}>{_cell(cell)}</td>" for cell, kind in zip(row, kinds, strict=True))
        lines.append(f"<tr>{''.join(cells)}</tr>")
    return "\n".join([*lines, "</table></div>"])


def _cell(cell: str | int) -> str:
    return cell if isinstance(cell, Markup) else escape_html(str(cell))


def link(path: str, text: str) -> Markup:
    """A link to the file or folder `path`, which is relative to the page."""
    # "./" prevents a name with a colon from being taken for a URL with a scheme
    return Markup(f'<a href="./{quote(path, errors="surrogatepass")}">{escape_html(text)}</a>')
