"""Numbers with the thing that is counted, in the singular or the plural."""

from __future__ import annotations


def count_text(count: int, one: str, more: str = "") -> str:
    """``1 pair``, ``2 pairs``; `more` is the plural where it is not made with an s."""
    return f"{count} {one if count == 1 else more or one + 's'}"
