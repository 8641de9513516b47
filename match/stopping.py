"""When a match is decided before its last game.

Law: the same records give the same answer; a match without a test is decided by nothing but its last game.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from match.errors import SetupError
from match.records import GameRecord
from match.runner import never
from match.setup import MatchSetup
from match.sprt import Sprt, SprtError
from match.statistics import count_pairs, count_results, likelihood_of_superiority


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
        likelihood = likelihood_of_superiority(pairs)
        return significance is not None and likelihood is not None and min(likelihood, 1 - likelihood) <= significance

    return is_decided
