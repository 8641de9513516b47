"""The result of an encounter: winner, points and programs that cannot play."""

from __future__ import annotations

import dataclasses

import pytest

from spielleiter.match.pairings import (
    Encounter,
    Outcome,
    Reason,
    absent_programs,
    outcome_of,
    point_difference,
    score_of,
)
from spielleiter.match.records import GameRecord
from spielleiter.match.verdict import FAILED_AS_WELL, Verdict
from tests.match.sample_records import absence, fault, game

ENCOUNTER = Encounter(1, 1, (2, 5), "final")
RANKS = {2: 1, 5: 0}  # the second one is seeded higher
WON = [game(1, 0), game(2, 0)]
EVEN = [game(1, 0), game(2, 1)]
LOST = [game(1, None), game(2, 1)]


def absent(offender: int) -> list[GameRecord]:
    return [absence(number, offender) for number in (1, 2)]


@pytest.mark.parametrize(
    ("parts", "winner", "reason"),
    [
        ([WON], 2, Reason.SCORE),
        ([LOST], 5, Reason.SCORE),
        ([EVEN, EVEN, LOST], 5, Reason.PLAY_OFF),
        ([EVEN, WON], 2, Reason.PLAY_OFF),
        ([[game(1, 0, points=(90, 10)), game(2, 1)], EVEN], 2, Reason.POINTS),
        ([[game(1, 0), game(2, 1, points=(10, 90))]], 5, Reason.POINTS),
        ([EVEN], 5, Reason.SEEDING),
        ([[]], 5, Reason.SEEDING),
        ([absent(0)], 5, Reason.ABSENCE),
        ([EVEN, absent(1)], 2, Reason.ABSENCE),
    ],
)
def test_a_knock_out_match_has_a_winner(parts: list[list[GameRecord]], winner: int, reason: Reason) -> None:
    outcome = outcome_of(ENCOUNTER, parts, RANKS)
    assert (outcome.winner, outcome.loser, outcome.reason) == (winner, 7 - winner, reason)
    assert outcome.play_offs == len(parts) - 1
    assert outcome.score == score_of(parts[0])
    assert outcome.match_points == ((1, 0) if winner == 2 else (0, 1))


def test_in_other_kinds_an_encounter_may_be_drawn() -> None:
    outcome = outcome_of(ENCOUNTER, [[game(1, 0, points=(90, 10)), game(2, 1)]])
    assert outcome == Outcome(ENCOUNTER, (1, 1), None, Reason.DRAWN)
    assert (outcome.loser, outcome.match_points) == (None, (0.5, 0.5))


def test_neither_gets_points_if_neither_can_play() -> None:
    both = [*absent(0), *absent(1)]
    crossed = [both[0], both[2], both[1]]  # program 0 is the first one that is found absent
    assert outcome_of(ENCOUNTER, [crossed]).winner == 5
    never = [fault(number, number % 2, Verdict.CRASH) for number in range(1, 6)]
    assert outcome_of(ENCOUNTER, [never]).reason is Reason.SCORE


def test_an_encounter_that_neither_can_play_has_no_winner() -> None:
    remarks = ((), (f"{FAILED_AS_WELL}does not start",))
    neither = [dataclasses.replace(record, remarks=remarks, winner=None, is_counted=False) for record in absent(0)]
    outcome = outcome_of(ENCOUNTER, [neither])
    assert (outcome.winner, outcome.reason, outcome.match_points) == (None, Reason.ABSENCE, (0, 0))
    cup = outcome_of(ENCOUNTER, [neither], RANKS)
    assert (cup.winner, cup.reason) == (5, Reason.SEEDING)


def test_a_program_that_cannot_play_is_absent_whatever_comes_later() -> None:
    """Games that were running when this ended the match are in the records as well."""
    failed = [fault(number, 0, Verdict.CRASH) for number in (1, 2, 3)]
    assert absent_programs(failed[:2]) == ()
    assert absent_programs(failed) == (0,)
    assert absent_programs([*failed, game(4, 0)]) == (0,)
    assert absent_programs([game(4, 0), *failed]) == ()


def test_points_are_summed_over_games_that_were_played_to_their_end() -> None:
    records = [game(1, 0, points=(30, 20)), fault(2, 0, Verdict.CRASH), game(3, 1, points=(None, 7))]
    assert point_difference(records) == 10
