"""Positions and options."""

from __future__ import annotations

import random
from dataclasses import dataclass
from unittest.mock import create_autospec

import pytest
from msgspec.structs import replace

from spielleiter.game.api import GameError, GameOptionError, Outcome, State
from spielleiter.game.hase_und_igel import (
    GOAL,
    HASE_UND_IGEL_2018,
    ROUND_LIMIT_REACHED,
    Advance,
    Card,
    CardType,
    HaseUndIgelMove,
    HaseUndIgelState,
    Player,
    generate_board,
)

START = HASE_UND_IGEL_2018.new_state(random.Random(1))


def with_players(turn: int, red: tuple[int, int], blue: tuple[int, int]) -> HaseUndIgelState:
    """A position in which the players have these fields and carrots."""
    players = (Player(red[0], red[1], salads=0), Player(blue[0], blue[1], salads=0))
    return replace(START, players=players, turn=turn)


def test_the_last_move_is_kept_as_it_was_carried_out() -> None:
    hare = Advance(str(START.board).index("H"))
    salad = Card(CardType.EAT_SALAD, value=3, order=1)
    after = START.play(HaseUndIgelMove((salad, hare)))
    assert after.last_move == HaseUndIgelMove((hare, salad))
    assert after.players[0].last_action == salad


@dataclass(frozen=True)
class ForeignMove:
    piece: str


def test_a_move_of_another_game_raises_type_error() -> None:
    move = ForeignMove("PENTO_Y")
    with pytest.raises(TypeError, match=r"not a HaseUndIgelMove: .*PENTO_Y"):
        START.check(move)
    with pytest.raises(TypeError, match=r"not a HaseUndIgelMove: .*PENTO_Y"):
        START.play(move)


def test_the_start() -> None:
    assert (START.turn, START.round, START.last_move) == (0, 1, None)
    assert START.points(0) == START.points(1) == (0, 68)


@pytest.mark.parametrize(
    ("turn", "red", "blue", "outcome"),
    [
        (2, (63, 5), (10, 0), None),
        (30, (64, 5), (63, 1), Outcome(0, GOAL)),
        (30, (63, 5), (64, 9), Outcome(1, GOAL)),
        # RED is in the goal, and BLUE still has its move in this round.
        (31, (64, 5), (63, 1), None),
        (30, (64, 5), (64, 4), Outcome(1, GOAL)),
        (30, (64, 4), (64, 5), Outcome(0, GOAL)),
        (30, (64, 5), (64, 5), Outcome(0, GOAL)),
        (59, (20, 5), (63, 5), None),
        (60, (20, 5), (63, 5), Outcome(1, ROUND_LIMIT_REACHED)),
        (60, (21, 5), (20, 5), Outcome(0, ROUND_LIMIT_REACHED)),
        (60, (64, 5), (20, 5), Outcome(0, GOAL)),
        # Apart from the goal, the start is the only field that both may be on.
        (60, (0, 5), (0, 4), Outcome(1, ROUND_LIMIT_REACHED)),
        (60, (0, 5), (0, 5), Outcome(0, ROUND_LIMIT_REACHED)),
    ],
)
def test_outcome(turn: int, red: tuple[int, int], blue: tuple[int, int], outcome: Outcome | None) -> None:
    state = with_players(turn, red, blue)
    assert state.outcome() == outcome
    assert (state.points(0), state.points(1)) == (red, blue)


BOARD = generate_board(random.Random(5))


def test_a_board_is_generated_for_every_game() -> None:
    rng = random.Random(3)
    boards = {HASE_UND_IGEL_2018.new_state(rng).board for _ in range(5)}
    assert len(boards) == 5
    assert all(board.is_regular() for board in boards)
    assert HASE_UND_IGEL_2018.new_state(random.Random(3)).board in boards


def test_the_option_prescribes_the_board() -> None:
    game = HASE_UND_IGEL_2018.with_options({"board": str(BOARD), "startPiece": "PENTO_Y"})
    assert game.new_state(random.Random(0)).board == BOARD
    assert game.name == HASE_UND_IGEL_2018.name
    assert game.with_options({}) is game


@pytest.mark.parametrize(
    ("letters", "text"),
    [
        ("x", "board: a letter of 'x' is none of S C H 1 2 I L G"),
        ("", "board: '' is not a board of this game, for example S"),
        ("SG", "board: 'SG' is not a board of this game"),
        (str(BOARD)[::-1], "is not a board of this game"),
    ],
)
def test_a_board_of_another_kind_is_refused(letters: str, text: str) -> None:
    with pytest.raises(GameOptionError) as caught:
        HASE_UND_IGEL_2018.with_options({"board": letters})
    assert text in str(caught.value)


def test_a_position_is_resumed_as_it_is() -> None:
    state = HASE_UND_IGEL_2018.new_state(random.Random(2))
    after = state.play(next(iter(state.generate_legal_moves())))
    assert HASE_UND_IGEL_2018.with_options({"board": str(BOARD)}).resume(after) is after


def test_a_position_of_another_game_is_refused() -> None:
    state = create_autospec(State, instance=True)
    with pytest.raises(GameError, match="not a position of hase-und-igel-2018"):
        HASE_UND_IGEL_2018.resume(state)
