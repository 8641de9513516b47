"""Encounters and their outcomes, brackets, Swiss pairings and standings."""

from __future__ import annotations

import dataclasses
import itertools
import random
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spielleiter.match.pairings import (
    THIRD_PLACE,
    Encounter,
    Reason,
    Round,
    Rounds,
    ScheduledMatch,
    SwissStanding,
    absent_programs,
    default_rounds,
    knock_out,
    knock_out_standings,
    most_rounds,
    outcome_of,
    pair_round,
    swiss,
    swiss_standings,
)
from spielleiter.match.records import GameRecord
from spielleiter.match.verdict import FAILED_AS_WELL, Verdict
from tests.match.sample_records import absence, fault, game

RANKS = {2: 1, 5: 0}  # the second one is seeded higher
WON = [game(1, 0), game(2, 0)]
EVEN = [game(1, 0), game(2, 1)]
LOST = [game(1, None), game(2, 1)]
AHEAD = [game(1, 0, points=(90, 10)), game(2, 1)]
NEITHER = [
    dataclasses.replace(
        absence(number, 0), remarks=((), (f"{FAILED_AS_WELL}does not start",)), winner=None, is_counted=False
    )
    for number in (1, 2)
]


def encounter_of(*parts: list[GameRecord]) -> Encounter:
    """An encounter of the programs 2 and 5: the records of its match and of its play-offs."""
    encounter = Encounter(1, 1, (2, 5), "final")
    encounter.matches = [(ScheduledMatch(encounter, ""), records) for records in parts]
    return encounter


def absent(offender: int) -> list[GameRecord]:
    return [absence(number, offender) for number in (1, 2)]


@pytest.mark.parametrize(
    ("parts", "winner", "reason"),
    [
        ([WON], 2, Reason.SCORE),
        ([LOST], 5, Reason.SCORE),
        ([EVEN, EVEN, LOST], 5, Reason.PLAY_OFF),
        ([EVEN, WON], 2, Reason.PLAY_OFF),
        ([AHEAD, EVEN], 2, Reason.POINTS),
        ([[game(1, 0), game(2, 1, points=(10, 90))]], 5, Reason.POINTS),
        # points of a game that was not played to its end say nothing
        ([[*EVEN, fault(3, 0, Verdict.CRASH), game(4, 0, verdict=Verdict.TIMEOUT, points=(90, 0))]], 5, Reason.SEEDING),
        ([[]], 5, Reason.SEEDING),
        ([absent(0)], 5, Reason.ABSENCE),
        ([EVEN, absent(1)], 2, Reason.ABSENCE),
        ([NEITHER], 5, Reason.SEEDING),
    ],
)
def test_a_knock_out_match_has_a_winner(parts: list[list[GameRecord]], winner: int, reason: Reason) -> None:
    encounter = encounter_of(*parts)
    assert outcome_of(encounter, RANKS) == (winner, reason)
    encounter.winner = winner
    assert encounter.loser == 7 - winner
    assert encounter.match_points == ((1, 0) if winner == 2 else (0, 1))


@pytest.mark.parametrize(
    ("records", "winner", "reason", "points"),
    [
        (AHEAD, None, Reason.DRAWN, (0.5, 0.5)),
        (NEITHER, None, Reason.ABSENCE, (0, 0)),
        ([absence(1, 0), absence(3, 1), absence(2, 0)], 5, Reason.ABSENCE, (0, 1)),  # the first that is found absent
    ],
)
def test_in_other_kinds_an_encounter_may_be_drawn(
    records: list[GameRecord], winner: int | None, reason: Reason, points: tuple[float, float]
) -> None:
    encounter = encounter_of(records)
    encounter.winner, encounter.reason = outcome_of(encounter)
    assert (encounter.winner, encounter.reason, encounter.match_points) == (winner, reason, points)
    assert encounter.loser == (None if winner is None else 7 - winner)


def test_a_program_that_cannot_play_is_absent_whatever_comes_later() -> None:
    """Games that were running when this ended the match are in the records as well."""
    failed = [fault(number, 0, Verdict.CRASH) for number in (1, 2, 3)]
    found = [absent_programs(each) for each in (failed[:2], failed, [*failed, game(4, 0)], [game(4, 0), *failed])]
    assert found == [(), (0,), (0,), ()]
    encounter = encounter_of([*failed, *(game(number, 0) for number in range(4, 9))])
    assert outcome_of(encounter) == (5, Reason.ABSENCE)
    assert outcome_of(encounter, keeps_playing=True) == (2, Reason.SCORE)


def decide(encounter: Encounter, winner: int | None, score: tuple[float, float] = (1, 3)) -> None:
    encounter.winner, encounter.reason, encounter.score = winner, Reason.SCORE, score


def play(
    progress: Rounds, winner_of: Callable[[Encounter], int | None] = lambda each: each.pairing[1], stop: int = 99
) -> list[Round]:
    """Play to the end, or `stop` rounds; the program with the higher number wins."""
    rounds = []
    for each in itertools.islice(progress, stop):
        rounds.append(each)
        for encounter in each.encounters:
            decide(encounter, winner_of(encounter))
    return rounds


def pairings(rounds: list[Round]) -> list[list[tuple[int, int]]]:
    return [[each.pairing for each in round_.encounters] for round_ in rounds]


def test_eight_programs_play_three_rounds_and_the_highest_seeds_meet_late() -> None:
    rounds = play(knock_out([7, 6, 5, 4, 3, 2, 1, 0]))
    assert [each.title for each in rounds] == ["quarter-final", "semi-final", "final"]
    assert pairings(rounds) == [[(0, 7), (3, 4), (1, 6), (2, 5)], [(4, 7), (5, 6)], [(6, 7)]]
    assert [each.number for round_ in rounds for each in round_.encounters] == list(range(1, 8))


@pytest.mark.parametrize(
    ("count", "stop", "titles", "standings"),
    [
        (
            5,
            99,
            ["quarter-final", "semi-final", "final"],
            ["1 champion", "2 final", "3–4 semi-final", "3–4 semi-final", "5 quarter-final"],
        ),
        (
            4,
            99,
            ["semi-final", THIRD_PLACE, "final"],
            ["1 champion", "2 final", f"3 {THIRD_PLACE}", "4 semi-final"],
        ),
        (3, 99, ["semi-final", "final"], ["1 champion", "2 final", "3 semi-final"]),
        (4, 1, ["semi-final"], ["1–2 still in", "1–2 still in", "3–4 semi-final", "3–4 semi-final"]),
    ],
)
def test_standings_of_a_knock_out(count: int, stop: int, titles: list[str], standings: list[str]) -> None:
    seeding = list(reversed(range(count)))
    rounds = play(knock_out(seeding, has_third_place=count == 4), stop=stop)
    assert [each.title for each in rounds] == titles
    assert rounds[0].byes == tuple(seeding[: (1 << (count - 1).bit_length()) - count])
    found = knock_out_standings(seeding, rounds)
    assert [f"{placing.text} {placing.until}" for placing in found] == standings
    assert [placing.program for placing in found] == seeding


@pytest.mark.parametrize("has_third_place", [False, True])
@given(count=st.integers(2, 70))
def test_every_program_except_the_champion_loses_once(count: int, has_third_place: bool) -> None:
    rounds = play(knock_out(list(reversed(range(count))), has_third_place=has_third_place))
    own = [each for each in rounds if each.title != THIRD_PLACE]
    losers = [encounter.loser for each in own for encounter in each.encounters]
    assert sorted(each for each in losers if each is not None) == list(range(count - 1))
    assert len(own) == (count - 1).bit_length()
    assert len({placing.program for placing in knock_out_standings(range(count), rounds)}) == count


def test_programs_with_equal_points_meet() -> None:
    rounds = play(swiss(range(6), 3))
    assert pairings(rounds) == [
        [(0, 3), (1, 4), (2, 5)],
        # 3, 4 and 5 have a point each: two of them meet, and the third one meets the best of the others
        [(3, 4), (0, 5), (1, 2)],
        [(4, 5), (2, 3), (0, 1)],
    ]
    assert [each.title for each in rounds] == ["round 1", "round 2", "round 3"]
    lines = [(line.program, line.points, line.buchholz) for line in swiss_standings(range(6), rounds)]
    assert lines == [(5, 3, 3), (4, 2, 6), (3, 2, 3), (2, 1, 6), (1, 1, 3), (0, 0, 6)]


def test_a_program_without_an_opponent_has_a_bye_and_a_point() -> None:
    rounds = play(swiss(range(5), 3))
    assert [each.byes for each in rounds] == [(4,), (1,), (0,)]
    lines = {line.program: line for line in swiss_standings(range(5), rounds)}
    for line in (lines[4], lines[1], lines[0]):
        assert (line.byes, line.points) == (1, line.wins + 1)
        assert line.buchholz == sum(lines[other].points for other in line.opponents) + line.points


def test_ties_are_broken_by_the_opponents_points_and_then_by_games() -> None:
    encounter, other = Encounter(1, 1, (0, 1)), Encounter(2, 1, (2, 3))
    rounds = [Round(1, "round 1", (encounter, other))]
    decide(encounter, 0, (3, 1))
    decide(other, 3, (0, 4))
    assert [line.program for line in swiss_standings(range(4), rounds)] == [3, 0, 1, 2]
    decide(other, 3, (1, 3))  # equal in everything, so the seeding decides
    assert [line.program for line in swiss_standings(range(4), rounds)] == [0, 3, 1, 2]
    assert [line.program for line in swiss_standings([3, 2, 1, 0], rounds)] == [3, 0, 2, 1]
    encounter, other = Encounter(1, 1, (0, 1), reason=Reason.ABSENCE), Encounter(2, 1, (2, 3))
    rounds = [Round(1, "round 1", (encounter, other))]
    assert {(line.points, line.share) for line in swiss_standings(range(4), rounds)} == {(0, 0)}


@given(count=st.integers(2, 24), seed=st.integers(0, 1000), data=st.data())
def test_no_pairing_and_no_bye_is_repeated(count: int, seed: int, data: st.DataObject) -> None:
    rng = random.Random(seed)
    number = data.draw(st.integers(1, default_rounds(count)))
    rounds = play(swiss(range(count), number), lambda encounter: rng.choice([*encounter.pairing, None]))
    met = [pairing for round_ in pairings(rounds) for pairing in round_]
    assert len(met) == len(set(met)) == number * (count // 2)
    byes = [program for round_ in rounds for program in round_.byes]
    assert len(byes) == len(set(byes)) == (number if count % 2 else 0)
    for round_ in rounds:
        paired = [program for each in round_.encounters for program in each.pairing]
        assert sorted([*paired, *round_.byes]) == list(range(count))


@pytest.mark.parametrize("count", [5, 8, 12])
def test_with_the_highest_number_of_rounds_few_pairings_are_repeated(count: int) -> None:
    rounds = play(swiss(range(count), most_rounds(count)))
    met = [pairing for round_ in pairings(rounds) for pairing in round_]
    assert len(met) == most_rounds(count) * (count // 2)
    assert max(map(met.count, met)) <= 2


def test_a_program_that_has_met_all_others_meets_one_again(monkeypatch: pytest.MonkeyPatch) -> None:
    order = [SwissStanding(program, opponents=[1 - program]) for program in (0, 1)]
    assert pair_round(order) == ([(0, 1)], None)
    order = [SwissStanding(0), SwissStanding(1, opponents=[3]), SwissStanding(2), SwissStanding(3, opponents=[1])]
    assert pair_round(order) == ([(0, 3), (1, 2)], None)
    monkeypatch.setattr("spielleiter.match.pairings.MAX_SEARCH_STEPS", 2)  # the search ends after MAX_SEARCH_STEPS
    assert pair_round(order) == ([(0, 2), (1, 3)], None)


def test_the_default_number_of_rounds_is_that_of_a_knock_out() -> None:
    counts = (2, 3, 4, 5, 8, 9, 16, 17)
    assert [default_rounds(count) for count in counts] == [1, 2, 2, 3, 3, 4, 4, 5]
    assert [most_rounds(count) for count in counts] == [1, 3, 3, 5, 7, 9, 15, 17]
