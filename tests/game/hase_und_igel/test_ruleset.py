"""The game as a `Game`: its name, options and first position."""

from __future__ import annotations

import random
from unittest.mock import create_autospec

import pytest

from spielleiter.game.api import Game, GameError, GameOptionError, State
from spielleiter.game.hase_und_igel import HASE_UND_IGEL_2018, Board, generate_board

BOARD = generate_board(random.Random(5))


def test_it_is_a_game() -> None:
    assert isinstance(HASE_UND_IGEL_2018, Game)
    assert HASE_UND_IGEL_2018.name == "hase-und-igel-2018"
    assert HASE_UND_IGEL_2018.option_names == {"board"}


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


def test_the_example_in_the_error_is_a_regular_board() -> None:
    with pytest.raises(GameOptionError) as caught:
        HASE_UND_IGEL_2018.with_options({"board": "SG"})
    assert Board.from_letters(str(caught.value).split()[-1]).is_regular()
