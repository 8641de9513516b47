"""Tables of plain text: words to the left, figures to the right, each with the least and the most of its rounds.

Law: no more than 100 columns for what the report shows, and the same text on a terminal and in a file.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from bench.figures import Figure


def number_text(value: float) -> str:
    """Three digits that matter, and no more before them than there are: ``12,345``, ``87.1``, ``0.0523``."""
    if math.isnan(value):
        return "-"
    if value == 0 or abs(value) >= 1000 or float(value).is_integer():
        return f"{value:,.0f}"
    digits = max(0, 2 - math.floor(math.log10(abs(value))))
    return f"{value:.{digits}f}"


def figure_text(figure: Figure | None) -> str:
    """The median, and what it is the middle of if that says more: ``87.1 (85.0-90.2)``."""
    if figure is None:
        return ""
    text = number_text(figure.median)
    if figure.least == figure.most or math.isnan(figure.median):
        return text
    return f"{text} ({number_text(figure.least)}-{number_text(figure.most)})"


def table_text(title: str, words: Sequence[str], figures: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A titled table; each row has a text for every one of `words`, then one for every one of `figures`."""
    header = (*words, *figures)
    widths = [max(len(row[column]) for row in (header, *rows)) for column in range(len(header))]
    lines = [
        "  ".join(
            cell.ljust(width) if column < len(words) else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in (header, *rows)
    ]
    return "\n".join((title, "", *(f"  {line}" for line in lines), ""))
