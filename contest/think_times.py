"""Judging the think times of a program for the slower or faster processor of the contest.

Invariants: a scaled time is an estimate. Only the processor time of an answer is scaled; time in which the program
slept is not, and time in which it waited for a processor is left out. A few outliers alone do not make a program too
slow. A program that watches the clock thinks for the same time on every processor, so its times are not scaled; it is
recognised by long answers that take equally long, within one game or for different moves, while few take a little less.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from spielleiter.programs.machine_delay import AnswerTimes

LIMIT: Final = 2.0
"""Seconds that a move may take in the contest."""
WARNING_FROM: Final = 1.5
"""Seconds from which a move is close to the limit."""

_OUTLIERS: Final = 0.02  # of the answers, and at least one; a single answer is delayed for many reasons
_SIMILAR: Final = 0.05  # of a time; answers in this range below it take equally long
_MIN_SIMILAR: Final = 5
_MIN_DENSITY: Final = 2.0  # how much more frequent these are than those in the range below
_MIN_BUDGET: Final = 0.1  # seconds; nobody gives a program less than this on purpose
_DISTURBING_WAIT: Final = 0.1  # of the time of an answer, in which it waited for a processor
_DISTURBING_LOAD: Final = 0.5  # processors that others used during an answer, which slows down shared caches and cores


@dataclass(frozen=True, slots=True)
class ThinkTimes:
    """The answers of a program; all times are in seconds."""

    count: int
    slowest: float
    """The longest time here."""
    expected: float
    """The longest time in the contest, except for outliers."""
    worst: float
    """The longest time in the contest."""
    watches_clock: bool
    is_disturbed: bool
    """Whether other programs of this machine used so much of it that the slow answers say nothing."""

    @property
    def is_too_slow(self) -> bool:
        """Whether the slow answers are too slow; meaningless if `is_disturbed`."""
        return self.expected >= LIMIT

    @property
    def is_close(self) -> bool:
        """Whether an answer is close to the limit, or is the only one beyond it."""
        return not self.is_too_slow and self.worst >= WARNING_FROM


def judge_think_times(games: Sequence[Sequence[AnswerTimes]], speed: float) -> ThinkTimes:
    """Return the judgement on the answers of all `games`; `speed` is this machine's compared with the contest's."""
    answers = list(itertools.chain.from_iterable(games))
    if not answers:
        return ThinkTimes(0, 0.0, 0.0, 0.0, watches_clock=False, is_disturbed=False)
    watches_clock = _watches_clock(games)
    factor = 1.0 if watches_clock else speed
    expected = sorted((_expected(each, factor) for each in answers), reverse=True)
    return ThinkTimes(
        len(answers),
        max(each.seconds for each in answers),
        expected[_outliers(len(answers))],
        expected[0],
        watches_clock,
        _is_disturbed([each for each in answers if _expected(each, factor) >= LIMIT]),
    )


def _outliers(count: int) -> int:
    """Return how many of `count` answers are left out; never all of them."""
    return min(count - 1, max(1, int(_OUTLIERS * count)))


def _expected(answer: AnswerTimes, factor: float) -> float:
    """Return how long an answer takes on one core whose processor takes `factor` times as long."""
    return answer.processor * factor + max(0.0, _undelayed(answer) - answer.processor)


def _undelayed(answer: AnswerTimes) -> float:
    return max(0.0, answer.seconds - answer.waited)


def _is_disturbed(slow: Sequence[AnswerTimes]) -> bool:
    seconds = sum(each.seconds for each in slow)
    waited, others = sum(each.waited for each in slow), sum(each.others for each in slow)
    return waited > _DISTURBING_WAIT * seconds or others > _DISTURBING_LOAD * seconds


def _watches_clock(games: Sequence[Sequence[AnswerTimes]]) -> bool:
    """Return whether the long answers take equally long, as those of a program that stops at its own limit.

    Answers of different games are compared only if they are not the same move of their games: the first moves of all
    games may take the same work.
    """
    times = [[_undelayed(answer) for answer in game] for game in games]
    longest = sorted(itertools.chain.from_iterable(times), reverse=True)
    limit = longest[_outliers(len(longest))]
    if limit < _MIN_BUDGET:
        return False
    least, most = (1 - _SIMILAR) * limit, (1 + _SIMILAR) * limit
    in_games = sum(max(0, _count(game, least, most) - 1) for game in times)
    moves = {move for game in times for move, seconds in enumerate(game) if least <= seconds < most}
    similar = max(in_games, len(moves) - 1)
    shorter = _count(longest, (1 - 3 * _SIMILAR) * limit, (1 - _SIMILAR) * limit)
    return similar >= max(_MIN_SIMILAR - 1, _MIN_DENSITY * shorter)


def _count(times: Sequence[float], least: float, most: float) -> int:
    return sum(least <= each < most for each in times)
