"""When a match is decided before its last game.

Invariants: the same records give the same answer; a match without a test is decided by its last game only. Both tests
may be asked after every game and keep their error rates all the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from match.errors import SetupError
from match.records import GameRecord
from match.runner import never
from match.setup import MatchSetup
from match.significance import better_by_evidence
from match.sprt import Sprt, SprtError
from match.statistics import count_pairs, count_results


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
        return never

    def is_decided(records: Sequence[GameRecord]) -> bool:
        if count_results(records).games < min_games:
            return False
        pairs = count_pairs(records)
        if sprt is not None and sprt.decide(pairs) is not None:
            return True
        return significance is not None and better_by_evidence(pairs, significance) is not None

    return is_decided
