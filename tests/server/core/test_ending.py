"""Winners, causes and points by seat, for every way in which a game can end."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spielleiter.game.api import Outcome, State
from spielleiter.game.blokus.state import BLOKUS_2021
from spielleiter.protocol.dialects.blokus_2021 import BLOKUS_2021_R3
from spielleiter.protocol.messages import Cause
from spielleiter.server.core.policy import CancelWinner
from spielleiter.server.core.room import Ending, leaders

DEFINITION = BLOKUS_2021_R3.score_definition
START = BLOKUS_2021.new_state(random.Random(1))


def after_a_move() -> State:
    return START.play(next(iter(START.generate_legal_moves())))


@pytest.mark.parametrize(
    ("winner", "first_parts", "winners"), [(None, (1, 1), (0, 1)), (0, (2, 0), (0,)), (1, (0, 2), (1,))]
)
def test_a_game_that_was_played_to_its_end(
    winner: int | None, first_parts: tuple[int, int], winners: tuple[int, ...]
) -> None:
    ending = Ending.by_rules(Outcome(winner, "points"))
    assert (ending.causes, ending.reasons) == ((Cause.REGULAR, Cause.REGULAR), ("", ""))
    assert (ending.first_parts, ending.winners) == (first_parts, winners)


@given(st.integers(0, 1), st.sampled_from(Cause), st.text(), st.sampled_from([(), (0,), (1,), (0, 1)]))
def test_the_player_at_fault_has_lost_whoever_is_named_as_winner(
    seat: int, cause: Cause, reason: str, winners: tuple[int, ...]
) -> None:
    ending = Ending.against(seat, cause, reason, winners)
    assert (ending.causes[seat], ending.reasons[seat], ending.first_parts[seat]) == (cause, reason, 0)
    other = 1 - seat
    assert (ending.causes[other], ending.reasons[other], ending.first_parts[other]) == (Cause.REGULAR, "", 2)
    assert ending.winners == winners


def test_nobody_has_won_a_cancelled_game() -> None:
    ending = Ending.cancelled(())
    assert (ending.causes, ending.first_parts, ending.winners) == ((Cause.REGULAR, Cause.REGULAR), (0, 0), ())


def test_the_points_are_those_of_the_last_position() -> None:
    ending = Ending.against(1, Cause.LEFT, "gone", (0,))
    points = ending.points(after_a_move(), zeroes_offenders=False)
    result = ending.result(DEFINITION, points, ("Eins", "Zwei"))
    assert [score.parts for score in result.scores] == [(2, 5), (0, 0)]
    assert [(score.cause, score.reason) for score in result.scores] == [(Cause.REGULAR, ""), (Cause.LEFT, "gone")]
    assert (result.definition, result.winners, result.names) == (DEFINITION, (0,), ("Eins", "Zwei"))


def test_the_player_at_fault_has_no_points_if_the_edition_says_so() -> None:
    ending = Ending.against(0, Cause.RULE_VIOLATION, "wrong", (1,))
    assert ending.points(after_a_move(), zeroes_offenders=True) == ((0,), (0,))
    assert ending.points(after_a_move(), zeroes_offenders=False) == ((5,), (0,))


def test_players_missing_from_a_game_that_never_started_have_left() -> None:
    ending = Ending.by_faults({1: (Cause.LEFT, "never came")})
    assert (ending.causes, ending.reasons) == ((Cause.REGULAR, Cause.LEFT), ("", "never came"))
    assert (ending.first_parts, ending.winners) == ((2, 0), (0,))
    nobody = Ending.by_faults({0: (Cause.PROCESS_VIOLATION, "moved"), 1: (Cause.LEFT, "never came")})
    assert (nobody.causes, nobody.reasons) == ((Cause.PROCESS_VIOLATION, Cause.LEFT), ("moved", "never came"))
    assert (nobody.first_parts, nobody.winners) == ((0, 0), ())


def test_a_seat_that_nobody_was_expected_to_take_has_no_score() -> None:
    alone = Ending.by_faults({0: (Cause.LEFT, "went")}, (0,))
    assert (alone.causes, alone.winners) == ((Cause.LEFT, Cause.REGULAR), ())
    points = alone.points(START, zeroes_offenders=True)
    result = alone.result(DEFINITION, points, ("Eins", ""), seats=(0,))
    assert [(score.cause, score.parts) for score in result.scores] == [(Cause.LEFT, (0, 0))]
    assert Ending.by_command(CancelWinner.LEADER, START, (0,)).winners == (0,)
    assert Ending.by_command(CancelWinner.BY_RULES, START, (0,)).winners == (0, 1)


def test_the_leader_has_more_points() -> None:
    assert leaders(START) == (0, 1)
    one_move = after_a_move()
    assert leaders(one_move) == (0,)
    two_moves = one_move.play(next(iter(one_move.generate_legal_moves())))
    assert leaders(two_moves) == (0, 1)

    class SecondLeads:
        def points(self, seat: int) -> tuple[int, ...]:
            return (seat,)

    assert leaders(SecondLeads()) == (1,)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("winner", "first_parts", "winners"),
    [
        (CancelWinner.NOBODY, (0, 0), ()),
        (CancelWinner.LEADER, (0, 0), (0,)),
        (CancelWinner.BY_RULES, (2, 0), (0,)),
    ],
)
def test_endings_of_games_that_an_administrator_cancelled(
    winner: CancelWinner, first_parts: tuple[int, int], winners: tuple[int, ...]
) -> None:
    ending = Ending.by_command(winner, after_a_move())
    assert (ending.first_parts, ending.winners) == (first_parts, winners)
    assert ending.causes == (Cause.REGULAR, Cause.REGULAR)
