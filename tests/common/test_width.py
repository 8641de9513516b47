"""Widths are those that terminals use."""

from __future__ import annotations

import pytest

from spielleiter.common.text import shortened, text_width


@pytest.mark.parametrize(
    ("text", "width"),
    [
        ("", 0),
        ("Alice", 5),
        ("Jörg", 4),
        ("Jo\u0308rg", 4),
        ("日本", 4),
        ("ｱ", 1),
        ("Ａ", 2),
        ("🦔", 2),
        ("❤\ufe0f", 1),
        ("soft\u00adhyphen", 11),
        ("a\u200db", 2),
    ],
)
def test_the_width_is_that_in_a_terminal(text: str, width: int) -> None:
    assert text_width(text) == width


@pytest.mark.parametrize(
    ("text", "columns", "end", "expected"),
    [
        ("Alice", 5, "..", "Alice"),
        ("Alice", 4, "..", "Al.."),
        ("日本日本", 8, "..", "日本日本"),
        ("日本日本", 7, "..", "日本.."),
        ("日本日本", 6, "…", "日本…"),
        ("Jo\u0308rgelchen", 5, "..", "Jo\u0308r.."),
        ("Alice", 1, "..", ".."),
    ],
)
def test_a_shortened_text_fits_together_with_its_end(text: str, columns: int, end: str, expected: str) -> None:
    assert shortened(text, columns, end) == expected
