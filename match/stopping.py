"""The rule that decides whether a match ends before its last game.

Invariants: the same records give the same answer. A match without a test is never decided before its last game. Both
tests may be evaluated after every game without exceeding their error rates.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from spielleiter.common.errors import SetupError
from spielleiter.match.records.game_record import GameRecord
from spielleiter.match.runner import play_to_the_end
from spielleiter.match.setup import MatchSetup
from spielleiter.match.stats.counts import half_points
from spielleiter.match.stats.significance import PairCounts, better_program_by_evidence
from spielleiter.match.stats.sprt import Sprt, SprtError


def sprt_of(setup: MatchSetup) -> Sprt | None:
    """The sequential test of the match; None if it has none. Raises SetupError if it cannot be parsed."""
    try:
        return None if setup.sprt is None else Sprt.parse(setup.sprt)
    except SprtError as error:
        raise SetupError(str(error)) from None


def stop_rule(setup: MatchSetup) -> Callable[[Sequence[GameRecord]], bool]:
    """A function that says whether the records so far decide the match.

    It must be called with a growing sequence of records: each call's records begin with those of the previous call.
    Raises SetupError if the sequential test cannot be parsed.
    """
    sprt = sprt_of(setup)
    significance, min_games = setup.significance, setup.min_games
    if sprt is None and significance is None:
        return play_to_the_end

    so_far = _RunningCounts()

    def is_decided(records: Sequence[GameRecord]) -> bool:
        so_far.update(records)
        if so_far.games < min_games:
            return False
        if sprt is not None and sprt.decide(so_far.pairs) is not None:
            return True
        return significance is not None and better_program_by_evidence(so_far.pairs, significance) is not None

    return is_decided


class _RunningCounts:
    """The number of counted games and the results of complete pairs; each record is evaluated only once."""

    def __init__(self) -> None:
        self.games = 0
        self._seen = 0
        self._halves: dict[int, GameRecord] = {}
        """The finished game of each incomplete pair, by the number of the pair."""
        self._pairs = [0] * 5

    @property
    def pairs(self) -> PairCounts:
        lost, half, drawn, more, won = self._pairs
        return lost, half, drawn, more, won

    def update(self, records: Sequence[GameRecord]) -> None:
        """Count the new ones of `records`, which must begin with those of the previous call."""
        for record in records[self._seen :]:
            if not record.is_counted:
                continue
            self.games += 1
            if (other := self._halves.pop(record.pair, None)) is None:
                self._halves[record.pair] = record
            else:
                self._pairs[half_points(record) + half_points(other)] += 1
        self._seen = len(records)
