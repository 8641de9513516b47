"""Splitting lines at the width of a terminal."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from spielleiter.cli.columns import JOINT, filled, printable, wrapped
from spielleiter.common.text import text_width


def test_control_characters_are_escaped() -> None:
    assert printable("a\033[2Jb\nc\td") == r"a\x1b[2Jb\nc\td"
    assert printable("wide\u3000blank, private \ue000") == "wide blank, private ?"


def test_lines_are_split_between_words() -> None:
    assert wrapped("over: nobody wins against (12, 3) at all", 30) == ["over: nobody wins against", "  (12, 3) at all"]
    assert wrapped("turn   1  a", 30) == ["turn   1  a"]
    assert wrapped("a-very-long-word-that-is-one", 10) == ["a-very-long-word-that-is-one"]
    assert wrapped("", 10) == [""]


def test_wide_characters_take_two_columns() -> None:
    assert wrapped("日本語 日本語 日本語", 20) == ["日本語 日本語 日本語"]
    assert wrapped("日本語 日本語 日本語 日本語", 20) == ["日本語 日本語 日本語", "  日本語"]


def test_combining_marks_take_no_column() -> None:
    assert wrapped("Jo\u0308rg " * 4, 19) == ["Jo\u0308rg Jo\u0308rg Jo\u0308rg Jo\u0308rg"]


def test_joined_words_stay_on_one_line() -> None:
    assert filled(f"one two{JOINT}three", 12, "> ") == ["one", "> two three"]


@given(st.lists(st.text("a日\u0308-", min_size=1, max_size=8), min_size=1).map(" ".join), st.integers(12, 60))
def test_no_line_is_too_long_and_no_word_is_lost(text: str, columns: int) -> None:
    lines = wrapped(text, columns)
    assert " ".join(line.strip() for line in lines) == text
    assert all(text_width(line) <= columns or " " not in line.strip() for line in lines)
