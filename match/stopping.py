"""When a match is decided before its last game.

Invariants: the same records give the same answer; a match without a test is decided by its last game only. Both tests
may be asked after every game and keep their error rates all the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from spielleiter.match.errors import SetupError
from spielleiter.match.records.game_record import GameRecord
from spielleiter.match.runner import play_to_the_end
from spielleiter.match.setup import MatchSetup
from spielleiter.match.stats.counts import half_points
from spielleiter.match.stats.significance import PairCounts, better_program_by_evidence
from spielleiter.match.stats.sprt import Sprt, SprtError


def sprt_of(setup: MatchSetup) -> Sprt | None:
    """The sequential test that was asked for. Raises SetupError."""
    try:
        return None if setup.sprt is None else Sprt.parse(setup.sprt)
    except SprtError as error:
        raise SetupError(str(error)) from None


def stop_rule(setup: MatchSetup) -> Callable[[Sequence[GameRecord]], bool]:
    """Says of the records so far whether the match is decided. Raises SetupError."""
    sprt = sprt_of(setup)
    significance, min_games = setup.significance, setup.min_games
    if sprt is None and significance is None:
        return play_to_the_end

    so_far = _SoFar()

    def is_decided(records: Sequence[GameRecord]) -> bool:
        so_far.take(records)
        if so_far.games < min_games:
            return False
        if sprt is not None and sprt.decide(so_far.pairs) is not None:
            return True
        return significance is not None and better_program_by_evidence(so_far.pairs, significance) is not None

    return is_decided


class _SoFar:
    """Counted games and complete pairs of records that become more: each is looked at once."""

    def __init__(self) -> None:
        self.games = 0
        self._seen = 0
        self._halves: dict[int, GameRecord] = {}
        """By the number of the pair, the game whose counterpart is not there yet."""
        self._pairs = [0] * 5

    @property
    def pairs(self) -> PairCounts:
        lost, half, drawn, more, won = self._pairs
        return lost, half, drawn, more, won

    def take(self, records: Sequence[GameRecord]) -> None:
        """`records` begin with those that were given before."""
        for record in records[self._seen :]:
            if not record.is_counted:
                continue
            self.games += 1
            if (other := self._halves.pop(record.pair, None)) is None:
                self._halves[record.pair] = record
            else:
                self._pairs[half_points(record) + half_points(other)] += 1
        self._seen = len(records)
