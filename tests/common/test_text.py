"""Counted nouns, escapes that are safe in terminals and in XML, and widths that terminals use."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from spielleiter.common.text import count_text, escaped, escaped_lines, shortened, text_width

BIDIRECTIONAL = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"


def test_only_one_is_singular() -> None:
    assert [count_text(count, "game") for count in (0, 1, 2)] == ["0 games", "1 game", "2 games"]
    assert [count_text(count, "crash", "crashes") for count in (1, 2)] == ["1 crash", "2 crashes"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Müller & Söhne <b> 日本 \U0001f600", "Müller & Söhne <b> 日本 \U0001f600"),
        ("\x1b[31mred\x07\x00", r"\x1b[31mred\x07\x00"),
        ("a\nb\tc\rd", r"a\nb\tc\rd"),
        ("\x7f\x85\x9b2J", r"\x7f\x85\x9b2J"),
        ("\u202etxt.exe\u2066", r"\u202etxt.exe\u2066"),
        ("\u2028\ufeff\ud800\uffff", r"\u2028\ufeff\ud800\uffff"),
        ("no\u00a0break", "no\u00a0break"),
        (r"C:\new", r"C:\new"),
    ],
)
def test_unsafe_characters_are_escaped(text: str, expected: str) -> None:
    assert escaped(text) == expected


def test_line_ends_and_tabs_are_kept() -> None:
    assert escaped_lines("one\r\n\ttwo\x1b[2J\n\nthree\rfour") == "one\n\ttwo\\x1b[2J\n\nthree\\rfour"


@given(st.text(st.characters(codec=None)))
def test_escaped_text_is_valid_in_xml(text: str) -> None:
    for result in (escaped(text), escaped_lines(text)):
        element = etree.Element("a", b=escaped(text))
        element.text = result
        assert etree.fromstring(etree.tostring(element, encoding="utf-8")).text == (result or None)
        assert not any(unicodedata.category(char) in {"Cc", "Cs"} for char in result if char not in "\n\t")
        assert not set(result) & set(BIDIRECTIONAL)
    assert escaped(text).splitlines() == ([escaped(text)] if text else [])


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
