"""The ways a step of a check can fail: by the program's fault, tolerated or not, or because this machine was too busy.

Invariants: the text of an error is one sentence for people. A delay caused by this machine has a type of its own. It
excuses an answer here more readily than in a match, since nobody gains anything by it: the step is tried again.
"""

from __future__ import annotations

from typing import Final

from spielleiter.match.errors import MatchError

_MIN_SHARE: Final = 0.02  # of the time; less is measured on an idle machine as well
UNFINISHED_SHARE: Final = 0.1
"""The share of the time for what has not happened by its limit: how late it would have been is not known."""
_MIN_MENTIONED: Final = 0.001  # seconds of waiting for a processor


class UnexpectedBehaviourError(MatchError):
    """The program did not do what was expected; the text says what it did."""


class InconclusiveError(UnexpectedBehaviourError):
    """The program took too long only because this machine was busy; the text says how long."""


class ToleratedError(UnexpectedBehaviourError):
    """The program depends on something that the official server does not do, but the contest does not punish that.

    `remark` says what the official server does.
    """

    def __init__(self, text: str, remark: str) -> None:
        super().__init__(text)
        self.remark = remark


class PlainJoinError(UnexpectedBehaviourError):
    """The program has a seat, but did not use its reservation code to take it."""


def too_slow(
    text: str, seconds: float, seconds_lost: float, limit: float, min_share: float = _MIN_SHARE
) -> UnexpectedBehaviourError:
    """Return the error for something that took longer than `limit`: InconclusiveError if this machine was too busy.

    All times are in seconds; `seconds_lost` is the part of `seconds` that was spent waiting for a processor. A part of
    less than `min_share` excuses nothing.
    """
    if seconds_lost >= _MIN_MENTIONED:
        text += f"; {seconds_lost:.3f} s of it waiting for a processor"
    kind = InconclusiveError if is_delayed(seconds, seconds_lost, limit, min_share) else UnexpectedBehaviourError
    return kind(text)


def is_delayed(seconds: float, seconds_lost: float, limit: float, min_share: float = _MIN_SHARE) -> bool:
    """Return whether something took longer than `limit` seconds only because it waited for a processor."""
    return seconds_lost >= min_share * seconds and seconds - seconds_lost <= limit
