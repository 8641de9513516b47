"""Judging the think times of a program for the slower or faster processor of the contest.

Invariants: a scaled time is an estimate. Only processor time is scaled, and an answer cannot have used more of it than
the whole game; so neither a sleeping program nor a busy machine makes a time longer. A program that watches the clock
thinks for the same time on every processor, so its times are not scaled; it is recognised by answers that mostly take
equally long.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

LIMIT: Final = 2.0
"""Seconds that a move may take in the contest."""
WARNING_FROM: Final = 1.5
"""Seconds from which a move is close to the limit."""

_SIMILAR: Final = 0.95  # of the longest time; answers above this take equally long
_MIN_SIMILAR: Final = 5
_MIN_SIMILAR_SHARE: Final = 0.2
_MIN_BUDGET: Final = 0.1  # seconds; nobody gives a program less than this on purpose


@dataclass(frozen=True, slots=True)
class ThinkTimes:
    """The answers of a program: the slowest as measured here, and as expected in the contest, in seconds."""

    count: int
    slowest: float
    expected: float
    watches_clock: bool

    @property
    def is_too_slow(self) -> bool:
        return self.expected >= LIMIT

    @property
    def is_close(self) -> bool:
        return WARNING_FROM <= self.expected < LIMIT


@dataclass(frozen=True, slots=True)
class GameTimes:
    """The think times of one game, and the processor time that the program has used in it, in seconds."""

    answers: Sequence[float]
    processor: float


def judge_think_times(games: Sequence[GameTimes], speed: float) -> ThinkTimes:
    """Return the judgement on the answers of all `games`; `speed` is this machine's compared with the contest's."""
    times = [time for game in games for time in game.answers]
    slowest = max(times, default=0.0)
    watches_clock = _watches_clock(times, slowest)
    expected = slowest if watches_clock else max((_expected(game, speed) for game in games), default=0.0)
    return ThinkTimes(len(times), slowest, expected, watches_clock)


def _expected(game: GameTimes, speed: float) -> float:
    """Return how long the slowest answer of a game may take in the contest."""
    slowest = max(game.answers, default=0.0)
    computing = min(slowest, game.processor)
    return computing * speed + slowest - computing


def _watches_clock(times: Sequence[float], slowest: float) -> bool:
    """Return whether the longest answers take equally long, as those of a program that stops at a time of its own."""
    similar = sum(time >= _SIMILAR * slowest for time in times)
    return slowest >= _MIN_BUDGET and similar >= max(_MIN_SIMILAR, _MIN_SIMILAR_SHARE * len(times))
