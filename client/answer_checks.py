"""Checks of what strategies and responders return, for mistakes that would otherwise go unnoticed."""

from __future__ import annotations

import reprlib

from spielleiter.client.errors import StrategyError


def refuse_wrong_hints(hints: object) -> None:
    """Check that `hints` are texts. Raises StrategyError, for example for a single text instead of a tuple."""
    if not isinstance(hints, tuple | list) or not all(isinstance(hint, str) for hint in hints):
        raise StrategyError(
            f"the hints {reprlib.repr(hints)} cannot be sent; expected a tuple of texts, such as ('a hint',)"
        )


def refuse_return_value(value: object) -> None:
    """Check that a responder returned None. Raises StrategyError: a move that is returned is not sent."""
    if value is not None:
        raise StrategyError(
            f"the responder returned a {type(value).__name__}, which is not sent; "
            "for a function that returns its move, use Player.play"
        )
