"""Tables: numbers, alignment and notes."""

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
def test_numbers_have_three_significant_digits(value: float, text: str) -> None:
    assert number_text(value) == text


def test_minimum_and_maximum_are_shown_if_they_differ() -> None:
    assert figure_text(Figure("ms", (1.0, 2.5, 2.0))) == "2 (1-2.50)"
    assert figure_text(Figure("ms", (2.0, 2.0))) == "2"
    assert figure_text(Figure("ms", (math.nan,))) == "-"
    assert figure_text(None) == ""


def test_words_are_left_aligned_and_figures_right_aligned() -> None:
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
