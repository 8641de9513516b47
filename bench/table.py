"""Tables in plain text: words are left-aligned, figures (with the minimum and maximum of their rounds) right-aligned.

Invariants: the text is the same on a terminal and in a file.
"""

from __future__ import annotations

import math
import textwrap
from typing import Final

from spielleiter.bench.figures import Figure

WIDTH: Final = 100
"""The number of columns at which notes are wrapped."""
_INDENT: Final = "  "


def number_text(value: float) -> str:
    """Return a number with three significant digits, and with all digits before the point; NaN becomes ``-``.

    Examples: ``12,345``, ``87.1``, ``0.0523``, ``4.67M``.
    """
    if math.isnan(value):
        return "-"
    if abs(value) >= 1e6:
        return f"{number_text(value / 1e6)}M"
    if value == 0 or abs(value) >= 1000 or float(value).is_integer():
        return f"{value:,.0f}"
    digits = max(0, 2 - math.floor(math.log10(abs(value))))
    return f"{value:.{digits}f}"


def figure_text(figure: Figure | None) -> str:
    """Return the median, with the minimum and maximum if they differ: ``87.1 (85.0-90.2)``; an empty text for None."""
    if figure is None:
        return ""
    text = number_text(figure.median)
    least, most = number_text(figure.least), number_text(figure.most)
    return text if least == most or math.isnan(figure.median) else f"{text} ({least}-{most})"


class Table:
    """A table with a title: left-aligned columns with the headers `words`, then right-aligned ones with `figures`."""

    def __init__(self, title: str, words: tuple[str, ...], figures: tuple[str, ...], note: str = "") -> None:
        self.title = title
        self.words = words
        self.header = (*words, *figures)
        self.rows: list[tuple[str, ...]] = []
        self.notes = [note] if note else []

    def add(self, *cells: str) -> None:
        """Add a row with a cell for every column. Raises ValueError for any other number of cells."""
        self.rows.append(tuple(cell for cell, _ in zip(cells, self.header, strict=True)))

    def text(self) -> str:
        """Return the text of the table, which ends with an empty line."""
        rows = (self.header, *self.rows)
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        count = len(self.words)
        lines = [
            _INDENT
            + "  ".join(
                cell.ljust(width) if column < count else cell.rjust(width)
                for column, (cell, width) in enumerate(zip(row, widths, strict=True))
            )
            for row in rows
        ]
        for note in self.notes:
            lines += textwrap.wrap(note, WIDTH, initial_indent=_INDENT, subsequent_indent=_INDENT)
        return "\n".join((self.title, "", *(line.rstrip() for line in lines), ""))
