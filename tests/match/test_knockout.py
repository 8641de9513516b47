"""Brackets and standings of knock-out tournaments."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spielleiter.match.pairings import (
    THIRD_PLACE,
    Encounter,
    Outcome,
    Reason,
    Round,
    bracket,
    knock_out,
    knockout_standings,
)


def play(
    count: int, *, has_third_place: bool = False, stop: int | None = None
) -> tuple[list[Round], dict[int, Outcome]]:
    """A knock-out of `count` programs in which the higher number wins, to its end or for `stop` rounds."""
    seeding = list(reversed(range(count)))
    progress = knock_out(seeding, has_third_place=has_third_place)
    rounds = [next(progress)]
    outcomes: dict[Encounter, Outcome] = {}
    while True:
        outcomes |= {each: Outcome(each, (1, 3), max(each.pairing), Reason.SCORE) for each in rounds[-1].encounters}
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
