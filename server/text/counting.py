"""Numbers with their nouns, in the singular or the plural."""

from __future__ import annotations


def count_text(count: int, one: str, more: str = "") -> str:
    """Return ``1 pair``, ``2 pairs``; `more` is the plural if it is not `one` with an s."""
    return f"{count} {one if count == 1 else more or one + 's'}"
