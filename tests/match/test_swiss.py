"""Pairings and standings of Swiss tournaments."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

import spielleiter.match.pairings
from spielleiter.match.pairings import (
    Encounter,
    Outcome,
    Reason,
    Round,
    SwissStanding,
    default_rounds,
    most_rounds,
    pair_round,
    swiss,
    swiss_standings,
)


def play(count: int, number: int, seed: int | None = None) -> tuple[list[Round], dict[int, Outcome]]:
    """`number` rounds in which the higher number wins; with a `seed`, results are random, and a third are draws."""
    progress = swiss(range(count), number)
    rng = random.Random(seed)
    rounds = [next(progress)]
    outcomes: dict[Encounter, Outcome] = {}
    while True:
        for each in rounds[-1].encounters:
            winner = max(each.pairing) if seed is None else rng.choice([*each.pairing, None])
            outcomes[each] = Outcome(each, (1, 3) if winner == each.pairing[1] else (2, 2), winner, Reason.SCORE)
        try:
            rounds.append(progress.send(outcomes))
        except StopIteration:
            return rounds, {encounter.number: outcome for encounter, outcome in outcomes.items()}


def pairings(rounds: list[Round]) -> list[list[tuple[int, int]]]:
    return [[each.pairing for each in round_.encounters] for round_ in rounds]


def test_programs_with_equal_points_meet() -> None:
    rounds, outcomes = play(6, 3)
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
    rounds, outcomes = play(5, 3)
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
        1: Outcome(encounter, (3, 1), 0, Reason.SCORE),
        2: Outcome(other, (0, 4), 3, Reason.SCORE),
    }
    assert [line.program for line in swiss_standings(range(4), rounds, outcomes)] == [3, 0, 1, 2]
    outcomes[2] = Outcome(other, (1, 3), 3, Reason.SCORE)  # equal in everything, so the seeding decides
    assert [line.program for line in swiss_standings(range(4), rounds, outcomes)] == [0, 3, 1, 2]
    assert [line.program for line in swiss_standings([3, 2, 1, 0], rounds, outcomes)] == [3, 0, 2, 1]


def test_an_encounter_that_neither_can_play_gives_no_points() -> None:
    encounter = Encounter(1, 1, (0, 1))
    outcomes = {1: Outcome(encounter, (0, 0), None, Reason.ABSENCE)}
    lines = swiss_standings(range(2), [Round(1, "round 1", (encounter,))], outcomes)
    assert [(line.points, line.share) for line in lines] == [(0, 0), (0, 0)]


@given(count=st.integers(2, 24), seed=st.integers(0, 1000), data=st.data())
def test_no_pairing_and_no_bye_is_repeated(count: int, seed: int, data: st.DataObject) -> None:
    number = data.draw(st.integers(1, default_rounds(count)))
    rounds, _ = play(count, number, seed)
    met = [pairing for round_ in pairings(rounds) for pairing in round_]
    assert len(met) == len(set(met)) == number * (count // 2)
    byes = [program for round_ in rounds for program in round_.byes]
    assert len(byes) == len(set(byes)) == (number if count % 2 else 0)
    for round_ in rounds:
        paired = [program for each in round_.encounters for program in each.pairing]
        assert sorted([*paired, *round_.byes]) == list(range(count))


@pytest.mark.parametrize("count", [4, 5, 8, 12])
def test_with_the_highest_number_of_rounds_few_pairings_are_repeated(count: int) -> None:
    rounds, _ = play(count, most_rounds(count), seed=1)
    met = [pairing for round_ in pairings(rounds) for pairing in round_]
    assert len(met) == most_rounds(count) * (count // 2)
    assert max(map(met.count, met)) <= 2


def test_the_same_outcomes_give_the_same_rounds() -> None:
    assert play(9, 4, seed=3) == play(9, 4, seed=3)


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
