from __future__ import annotations

import math

import pytest

from spielleiter.bench.figures import Figure
from spielleiter.bench.table import WIDTH, Table, figure_text, number_text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (0.05234, "0.0523"),
        (0.5, "0.500"),
        (1.234, "1.23"),
        (87.14, "87.1"),
        (100, "100"),
        (123.4, "123"),
        (12345.6, "12,346"),
        (4_668_000, "4.67M"),
        (-2.5, "-2.50"),
        (math.nan, "-"),
    ],
)
def test_three_digits_are_shown(value: float, text: str) -> None:
    assert number_text(value) == text


def test_the_spread_is_shown_where_there_is_one() -> None:
    assert figure_text(Figure("ms", (1.0, 2.5, 2.0))) == "2 (1-2.50)"
    assert figure_text(Figure("ms", (2.0, 2.0))) == "2"
    assert figure_text(Figure("ms", (math.nan,))) == "-"
    assert figure_text(None) == ""


def test_words_stand_to_the_left_and_figures_to_the_right() -> None:
    table = Table("Title", ("name",), ("us",), note="word " * 30)
    table.add("a", "1,000")
    table.add("longer", "2")
    lines = table.text().split("\n")
    assert lines[:5] == ["Title", "", "  name       us", "  a       1,000", "  longer      2"]
    assert lines[-1] == ""
    assert all(len(line) <= WIDTH for line in lines)


def test_a_row_has_a_cell_for_every_column() -> None:
    with pytest.raises(ValueError, match="zip"):
        Table("Title", ("name",), ("us",)).add("a")
