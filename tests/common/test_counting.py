"""Counted nouns are in the singular or the plural."""

from __future__ import annotations

import pytest

from spielleiter.common.text import count_text


@pytest.mark.parametrize(
    ("count", "words", "text"),
    [
        (0, ("game",), "0 games"),
        (1, ("game",), "1 game"),
        (2, ("game",), "2 games"),
        (1, ("crash", "crashes"), "1 crash"),
        (2, ("crash", "crashes"), "2 crashes"),
    ],
)
def test_only_one_is_singular(count: int, words: tuple[str, ...], text: str) -> None:
    assert count_text(count, *words) == text
