"""The differences between the seasons, and the effect of the options."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from spielleiter.game.api import Game, GameError, GameOptionError, State
from spielleiter.game.blokus.moves import BlokusMistake
from spielleiter.game.blokus.pieces import Color, Shape
from spielleiter.game.blokus.state import BLOKUS_2021, BLOKUS_2027, BlokusGame, BlokusState

both = pytest.mark.parametrize("game", [BLOKUS_2021, BLOKUS_2027], ids=lambda game: game.name)


@both
def test_is_a_game(game: BlokusGame) -> None:
    checked: Game = game
    assert isinstance(checked, Game)
    assert checked.option_names == {"startPiece", "gameEnd"}
    assert isinstance(checked.new_state(random.Random(1)), State)


def test_the_seasons() -> None:
    rules_2021, rules_2027 = BLOKUS_2021.rules, BLOKUS_2027.rules
    assert (BLOKUS_2021.name, BLOKUS_2027.name) == ("blokus-2021", "blokus-2027")
    assert set(rules_2027.start_shapes) - set(rules_2021.start_shapes) == {Shape.PENTO_X}
    assert (len(rules_2021.start_shapes), len(rules_2027.start_shapes)) == (11, 12)
    assert rules_2021.first_piece_mistake is BlokusMistake.NOT_IN_CORNER
    assert rules_2027.first_piece_mistake is BlokusMistake.NOT_ON_BORDER
    assert (rules_2021.round_limit, rules_2027.round_limit) == (25, 24)
    assert (rules_2021.ends_with_finished_color, rules_2027.ends_with_finished_color) == (True, False)


@both
def test_every_start_piece_is_drawn(game: BlokusGame) -> None:
    rng = random.Random(0)
    drawn = {game.new_state(rng).start_shape for _ in range(200)}
    assert drawn == set(game.rules.start_shapes)


@both
def test_the_same_seed_draws_the_same_piece(game: BlokusGame) -> None:
    first, second = ([game.new_state(rng) for _ in range(20)] for rng in (random.Random(7), random.Random(7)))
    assert first == second


@both
def test_a_new_state_is_the_empty_board(game: BlokusGame) -> None:
    state = game.new_state(random.Random(3))
    assert state == BlokusState(game.rules, state.start_shape)
    assert (state.turn, state.round, state.color_on_turn, state.seat_on_turn) == (0, 1, Color.BLUE, 0)
    assert state.valid_colors == tuple(Color)
    assert all(state.remaining_shapes(color) == tuple(Shape) for color in Color)
    assert state.cells == (0, 0, 0, 0)
    assert state.last_move is None
    assert state.outcome() is None
    assert (state.points(0), state.points(1)) == ((0,), (0,))


@both
def test_a_chosen_start_piece(game: BlokusGame) -> None:
    chosen = game.with_options({"startPiece": "PENTO_W"})
    assert chosen.new_state(random.Random(0)).start_shape is Shape.PENTO_W
    again = chosen.with_options({"startPiece": "PENTO_I"})
    assert again.new_state(random.Random(0)).start_shape is Shape.PENTO_I


def test_only_one_season_starts_with_the_cross() -> None:
    state = BLOKUS_2027.with_options({"startPiece": "PENTO_X"}).new_state(random.Random(0))
    assert state.start_shape is Shape.PENTO_X
    with pytest.raises(GameOptionError):
        BLOKUS_2021.with_options({"startPiece": "PENTO_X"})


@pytest.mark.parametrize(
    ("game", "text", "ends", "rounds"),
    [
        (BLOKUS_2021, "colorFinished", True, 25),
        (BLOKUS_2021, "noMovesLeft", False, 25),
        (BLOKUS_2027, "colorFinished", True, 25),  # the published rules
        (BLOKUS_2027, "noMovesLeft", False, 24),  # release 27.0.4
    ],
)
def test_how_the_game_ends(game: BlokusGame, text: str, ends: bool, rounds: int) -> None:
    chosen = game.with_options({"gameEnd": text})
    assert chosen.rules == replace(game.rules, ends_with_finished_color=ends, round_limit=rounds)
    state = chosen.new_state(random.Random(0))
    assert state.rules == chosen.rules
    assert replace(state, turn=4 * rounds - 1).outcome() is None
    assert replace(state, turn=4 * rounds).outcome() is not None


@both
def test_the_end_can_be_chosen_again(game: BlokusGame) -> None:
    for text in ("colorFinished", "noMovesLeft"):
        other = game.with_options({"gameEnd": "noMovesLeft"}).with_options({"gameEnd": text})
        assert other == game.with_options({"gameEnd": text})


def test_the_default_end_is_the_published_one_in_2021_and_that_of_the_release_in_2027() -> None:
    assert BLOKUS_2021.with_options({"gameEnd": "colorFinished"}) == BLOKUS_2021
    assert BLOKUS_2027.with_options({"gameEnd": "noMovesLeft"}) == BLOKUS_2027


@both
def test_options_of_other_games_change_nothing(game: BlokusGame) -> None:
    assert game.with_options({"port": "13050"}) == game
    both_set = game.with_options({"startPiece": "PENTO_Y"}).with_options({"gameEnd": "noMovesLeft", "x": "y"})
    assert both_set == game.with_options({"startPiece": "PENTO_Y", "gameEnd": "noMovesLeft"})


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (
            {"startPiece": "PENTO_X"},
            "startPiece: 'PENTO_X' is not one of PENTO_L, PENTO_T, PENTO_V, .*, PENTO_R, PENTO_Y",
        ),
        ({"startPiece": "MONO"}, "startPiece: 'MONO' is not one of PENTO_L"),
        ({"startPiece": "pento_l"}, "startPiece: 'pento_l' is not one of PENTO_L"),
        ({"startPiece": ""}, "startPiece: '' is not one of PENTO_L"),
        ({"gameEnd": "never"}, "gameEnd: 'never' is not one of colorFinished, noMovesLeft"),
    ],
)
def test_unknown_values(options: dict[str, str], text: str) -> None:
    with pytest.raises(GameOptionError, match=text):
        BLOKUS_2021.with_options(options)


def test_resumed_under_other_options() -> None:
    state = replace(BLOKUS_2021.with_options({"startPiece": "PENTO_V"}).new_state(random.Random(0)), turn=8)
    game = BLOKUS_2021.with_options({"startPiece": "PENTO_L", "gameEnd": "noMovesLeft"})
    resumed = game.resume(state)
    assert resumed == replace(state, rules=game.rules)
    assert resumed.start_shape is Shape.PENTO_V


def test_positions_of_other_games_are_refused() -> None:
    with pytest.raises(GameError, match="not a position of blokus-2021"):
        BLOKUS_2021.resume(BLOKUS_2027.new_state(random.Random(0)))
    with pytest.raises(GameError, match="not a position of blokus-2021"):
        BLOKUS_2021.resume("e2e4")  # type: ignore[arg-type]
