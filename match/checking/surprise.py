"""What a program did that was not expected of it, and whose fault it is.

Invariants: the text is one sentence for people. What this machine spoilt is told apart by its type, by the same rule as
in a match.
"""

from __future__ import annotations

from typing import Final

from spielleiter.match.errors import MatchError
from spielleiter.match.games.verdict import is_machines_fault

_MENTIONED: Final = 0.001  # seconds of waiting for a processor


class SurpriseError(MatchError):
    """The program did something else than was expected; the text says what."""


class SpoiltError(SurpriseError):
    """The program took too long only because this machine was busy; the text says how long."""


def too_slow(text: str, seconds: float, seconds_lost: float, limit: float) -> SurpriseError:
    """What is to be raised: whose fault it is that something took longer than `limit`."""
    if seconds_lost >= _MENTIONED:
        text += f"; {seconds_lost:.3f} s of it waiting for a processor"
    return SpoiltError(text) if is_machines_fault(seconds, seconds_lost, limit) else SurpriseError(text)
