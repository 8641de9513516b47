"""Encounters and their outcomes, brackets, Swiss pairings and standings."""

from __future__ import annotations

import dataclasses
import random
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

import spielleiter.match.pairings
from spielleiter.match.pairings import (
    THIRD_PLACE,
    Encounter,
    EncounterOutcome,
    Reason,
    Round,
    SwissStanding,
    absent_programs,
    bracket,
    default_rounds,
    knock_out,
    knockout_standings,
    most_rounds,
    outcome_of,
    pair_round,
    point_difference,
    score_of,
    swiss,
    swiss_standings,
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
    assert outcome == EncounterOutcome(ENCOUNTER, (1, 1), None, Reason.DRAWN)
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


def play(
    count: int, *, has_third_place: bool = False, stop: int | None = None
) -> tuple[list[Round], dict[int, EncounterOutcome]]:
    """A knock-out of `count` programs in which the higher number wins, to its end or for `stop` rounds."""
    seeding = list(reversed(range(count)))
    progress = knock_out(seeding, has_third_place=has_third_place)
    rounds = [next(progress)]
    outcomes: dict[Encounter, EncounterOutcome] = {}
    while True:
        outcomes |= {
            each: EncounterOutcome(each, (1, 3), max(each.pairing), Reason.SCORE) for each in rounds[-1].encounters
        }
        if len(rounds) == stop:
            break
        try:
            rounds.append(progress.send(outcomes))
        except StopIteration:
            break
    return rounds, {encounter.number: outcome for encounter, outcome in outcomes.items()}


def test_a_bracket_keeps_the_highest_seeds_apart() -> None:
    assert bracket(1) == [0]
    assert bracket(2) == [0, 1]
    assert bracket(4) == [0, 3, 1, 2]
    assert bracket(8) == [0, 7, 3, 4, 1, 6, 2, 5]


def test_eight_programs_play_three_rounds() -> None:
    rounds, _ = play(8)
    assert [each.title for each in rounds] == ["quarter-final", "semi-final", "final"]
    # program 7 is seeded first
    assert [each.pairing for each in rounds[0].encounters] == [(0, 7), (3, 4), (1, 6), (2, 5)]
    assert [each.pairing for each in rounds[1].encounters] == [(4, 7), (5, 6)]
    assert [each.pairing for each in rounds[2].encounters] == [(6, 7)]
    assert [each.number for round_ in rounds for each in round_.encounters] == list(range(1, 8))


def test_the_highest_seeds_have_byes_in_the_first_round() -> None:
    rounds, outcomes = play(5)
    assert [each.pairing for each in rounds[0].encounters] == [(0, 1)]
    assert rounds[0].byes == (4, 3, 2)
    assert [
        (place.text, place.program, place.until) for place in knockout_standings([4, 3, 2, 1, 0], rounds, outcomes)
    ] == [
        ("1", 4, "champion"),
        ("2", 3, "final"),
        ("3–4", 2, "semi-final"),
        ("3–4", 1, "semi-final"),
        ("5", 0, "quarter-final"),
    ]


def test_the_third_place_is_played_for_before_the_final() -> None:
    rounds, outcomes = play(4, has_third_place=True)
    assert [each.title for each in rounds] == ["semi-final", THIRD_PLACE, "final"]
    assert rounds[1].encounters == (Encounter(3, 2, (0, 1), THIRD_PLACE),)
    assert [(place.text, place.program) for place in knockout_standings([3, 2, 1, 0], rounds, outcomes)] == [
        ("1", 3),
        ("2", 2),
        ("3", 1),
        ("4", 0),
    ]


def test_three_programs_have_no_match_for_the_third_place() -> None:
    rounds, _ = play(3, has_third_place=True)
    assert [each.title for each in rounds] == ["semi-final", "final"]


def test_standings_before_the_end() -> None:
    rounds, outcomes = play(4, stop=1)
    assert [(place.text, place.until) for place in knockout_standings([3, 2, 1, 0], rounds, outcomes)] == [
        ("1–2", "still in"),
        ("1–2", "still in"),
        ("3–4", "semi-final"),
        ("3–4", "semi-final"),
    ]


@pytest.mark.parametrize("has_third_place", [False, True])
@given(count=st.integers(2, 70))
def test_every_program_except_the_champion_loses_once(count: int, has_third_place: bool) -> None:
    rounds, outcomes = play(count, has_third_place=has_third_place)
    own = [each for each in rounds if each.title != THIRD_PLACE]
    losers = [outcomes[encounter.number].loser for each in own for encounter in each.encounters]
    assert set(losers) == set(range(count - 1))
    assert len(losers) == count - 1
    assert len(own) == (count - 1).bit_length()
    assert {outcomes[each.encounters[0].number].winner for each in own[-1:]} == {count - 1}
    assert len({place.program for place in knockout_standings(range(count), rounds, outcomes)}) == count


def play_of_swiss(count: int, number: int, seed: int | None = None) -> tuple[list[Round], dict[int, EncounterOutcome]]:
    """`number` rounds in which the higher number wins; with a `seed`, results are random, and a third are draws."""
    progress = swiss(range(count), number)
    rng = random.Random(seed)
    rounds = [next(progress)]
    outcomes: dict[Encounter, EncounterOutcome] = {}
    while True:
        for each in rounds[-1].encounters:
            winner = max(each.pairing) if seed is None else rng.choice([*each.pairing, None])
            outcomes[each] = EncounterOutcome(
                each, (1, 3) if winner == each.pairing[1] else (2, 2), winner, Reason.SCORE
            )
        try:
            rounds.append(progress.send(outcomes))
        except StopIteration:
            return rounds, {encounter.number: outcome for encounter, outcome in outcomes.items()}


def pairings(rounds: list[Round]) -> list[list[tuple[int, int]]]:
    return [[each.pairing for each in round_.encounters] for round_ in rounds]


def test_programs_with_equal_points_meet() -> None:
    rounds, outcomes = play_of_swiss(6, 3)
    assert pairings(rounds) == [
        [(0, 3), (1, 4), (2, 5)],
        # 3, 4 and 5 have a point each: two of them meet, and the third one meets the best of the others
        [(3, 4), (0, 5), (1, 2)],
        [(4, 5), (2, 3), (0, 1)],
    ]
    assert [each.title for each in rounds] == ["round 1", "round 2", "round 3"]
    assert [(line.program, line.points, line.buchholz) for line in swiss_standings(range(6), rounds, outcomes)] == [
        (5, 3, 3),
        (4, 2, 6),
        (3, 2, 3),
        (2, 1, 6),
        (1, 1, 3),
        (0, 0, 6),
    ]


def test_a_program_without_an_opponent_has_a_bye_and_a_point() -> None:
    rounds, outcomes = play_of_swiss(5, 3)
    assert [each.byes for each in rounds] == [(4,), (1,), (0,)]
    lines = {line.program: line for line in swiss_standings(range(5), rounds, outcomes)}
    for round_ in rounds:
        (lucky,) = round_.byes
        line = lines[lucky]
        assert line.byes == 1
        assert line.points == line.wins + 1
        own = [lines[other].points for other in line.opponents]
        assert line.buchholz == sum(own) + line.points


def test_ties_are_broken_by_the_opponents_points_and_then_by_games() -> None:
    encounter, other = Encounter(1, 1, (0, 1)), Encounter(2, 1, (2, 3))
    rounds = [Round(1, "round 1", (encounter, other))]
    outcomes = {
        1: EncounterOutcome(encounter, (3, 1), 0, Reason.SCORE),
        2: EncounterOutcome(other, (0, 4), 3, Reason.SCORE),
    }
    assert [line.program for line in swiss_standings(range(4), rounds, outcomes)] == [3, 0, 1, 2]
    outcomes[2] = EncounterOutcome(other, (1, 3), 3, Reason.SCORE)  # equal in everything, so the seeding decides
    assert [line.program for line in swiss_standings(range(4), rounds, outcomes)] == [0, 3, 1, 2]
    assert [line.program for line in swiss_standings([3, 2, 1, 0], rounds, outcomes)] == [3, 0, 2, 1]


def test_an_encounter_that_neither_can_play_gives_no_points() -> None:
    encounter = Encounter(1, 1, (0, 1))
    outcomes = {1: EncounterOutcome(encounter, (0, 0), None, Reason.ABSENCE)}
    lines = swiss_standings(range(2), [Round(1, "round 1", (encounter,))], outcomes)
    assert [(line.points, line.share) for line in lines] == [(0, 0), (0, 0)]


@given(count=st.integers(2, 24), seed=st.integers(0, 1000), data=st.data())
def test_no_pairing_and_no_bye_is_repeated(count: int, seed: int, data: st.DataObject) -> None:
    number = data.draw(st.integers(1, default_rounds(count)))
    rounds, _ = play_of_swiss(count, number, seed)
    met = [pairing for round_ in pairings(rounds) for pairing in round_]
    assert len(met) == len(set(met)) == number * (count // 2)
    byes = [program for round_ in rounds for program in round_.byes]
    assert len(byes) == len(set(byes)) == (number if count % 2 else 0)
    for round_ in rounds:
        paired = [program for each in round_.encounters for program in each.pairing]
        assert sorted([*paired, *round_.byes]) == list(range(count))


@pytest.mark.parametrize("count", [4, 5, 8, 12])
def test_with_the_highest_number_of_rounds_few_pairings_are_repeated(count: int) -> None:
    rounds, _ = play_of_swiss(count, most_rounds(count), seed=1)
    met = [pairing for round_ in pairings(rounds) for pairing in round_]
    assert len(met) == most_rounds(count) * (count // 2)
    assert max(map(met.count, met)) <= 2


def test_the_same_outcomes_give_the_same_rounds() -> None:
    assert play_of_swiss(9, 4, seed=3) == play_of_swiss(9, 4, seed=3)


def test_a_program_that_has_met_all_others_meets_one_again(monkeypatch: pytest.MonkeyPatch) -> None:
    order = [SwissStanding(program, opponents=[1 - program]) for program in (0, 1)]
    assert pair_round(order) == ([(0, 1)], None)
    order = [SwissStanding(0), SwissStanding(1, opponents=[3]), SwissStanding(2), SwissStanding(3, opponents=[1])]
    assert pair_round(order) == ([(0, 3), (1, 2)], None)
    monkeypatch.setattr(spielleiter.match.pairings, "MAX_STEPS", 2)  # the search ends after MAX_STEPS
    assert pair_round(order) == ([(0, 2), (1, 3)], None)


def test_the_default_number_of_rounds_is_that_of_a_knock_out() -> None:
    counts = (2, 3, 4, 5, 8, 9, 16, 17)
    assert [default_rounds(count) for count in counts] == [1, 2, 2, 3, 3, 4, 4, 5]
    assert [most_rounds(count) for count in counts] == [1, 3, 3, 5, 7, 9, 15, 17]
    assert all(default_rounds(first) <= default_rounds(second) for first, second in pairwise(counts))
