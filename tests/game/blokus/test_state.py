"""Positions, rule sets and options."""

from __future__ import annotations

import pickle
import random

import pytest
from msgspec.structs import replace

from spielleiter.game.api import GameError, GameOptionError, IllegalMoveError, IncompleteMoveError, Outcome
from spielleiter.game.blokus.moves import BlokusMistake, IncompleteMove, IncompletePiece, SetMove, SkipMove
from spielleiter.game.blokus.pieces import BOARD, EMPTY, Color, Rotation, Shape, bit
from spielleiter.game.blokus.state import BLOKUS_2021, BLOKUS_2027, SEAT_OF_COLOR, BlokusGame, BlokusState, Ruleset

both = pytest.mark.parametrize("game", [BLOKUS_2021, BLOKUS_2027], ids=lambda game: game.name)


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
def test_a_chosen_start_piece(game: BlokusGame) -> None:
    chosen = game.with_options({"startPiece": "PENTO_W"})
    assert chosen.new_state(random.Random(0)).start_shape is Shape.PENTO_W
    again = chosen.with_options({"startPiece": "PENTO_I"})
    assert again.new_state(random.Random(0)).start_shape is Shape.PENTO_I


def test_a_position_is_drawn_as_text() -> None:
    state = BLOKUS_2021.with_options({"startPiece": "PENTO_I"}).new_state(random.Random(0))
    drawn = str(state.play(SetMove(Color.BLUE, Shape.PENTO_I, Rotation.RIGHT, False, 0, 0))).splitlines()
    assert drawn == [" ".join("BBBBB" + 15 * "."), *(" ".join(20 * ".") for _ in range(19))]


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
    assert pickle.loads(pickle.dumps(state)) == state
    assert replace(state, turn=4 * rounds - 1).outcome() is None
    assert replace(state, turn=4 * rounds).outcome() is not None


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


PLAYS_ON = BLOKUS_2021.with_options({"gameEnd": "noMovesLeft"}).rules
ENDS = BLOKUS_2021.rules
BLUE, YELLOW, RED, GREEN = Color


def new(start: str = "PENTO_L") -> BlokusState:
    return BLOKUS_2021.with_options({"startPiece": start}).new_state(random.Random(0))


def place(
    color: Color, shape: Shape, x: int, y: int, rotation: Rotation = Rotation.NONE, flip: bool = False
) -> SetMove:
    return SetMove(color, shape, rotation, flip, x, y)


FIRST_PIECES = (
    place(BLUE, Shape.PENTO_L, 0, 16),
    place(YELLOW, Shape.PENTO_L, 0, 0, Rotation.MIRROR, flip=True),
    place(RED, Shape.PENTO_L, 18, 16, flip=True),
    place(GREEN, Shape.PENTO_L, 18, 0, Rotation.MIRROR),
)


def after_first_pieces() -> BlokusState:
    state = new()
    for move in FIRST_PIECES:
        state = state.play(move)
    return state


def almost_done(
    color: Color, *, turn: int, valid: tuple[Color, ...] = tuple(Color), last: Shape = Shape.MONO, rules: Ruleset = ENDS
) -> BlokusState:
    """Every colour has its first piece on the board; `color`, whose turn it is, has only `last` left."""
    state = after_first_pieces()
    remaining = list(state.remaining_masks)
    remaining[color] = 1 << last
    return replace(
        state,
        rules=rules,
        turn=turn,
        remaining_masks=(remaining[0], remaining[1], remaining[2], remaining[3]),
        valid_mask=sum(1 << each for each in valid),
    )


def first_legal(state: BlokusState) -> SetMove:
    return next(iter(state.generate_legal_moves()))


def test_the_first_round() -> None:
    state = new()
    for turn, move in enumerate(FIRST_PIECES):
        assert (state.turn, state.round, state.color_on_turn) == (turn, 1, Color(turn))
        assert state.seat_on_turn == turn % 2
        state = state.play(move)
        assert state.last_move == move
    assert (state.turn, state.round, state.color_on_turn, state.seat_on_turn) == (4, 2, BLUE, 0)
    assert state.points(0) == state.points(1) == (10,)
    for color in Color:
        assert state.cells[color].bit_count() == 5
        assert state.remaining_shapes(color) == tuple(shape for shape in Shape if shape is not Shape.PENTO_L)
    corners = {(0, 19): BLUE, (0, 0): YELLOW, (19, 19): RED, (19, 0): GREEN}
    assert {corner: state.color_at(*corner) for corner in corners} == corners
    assert state.color_at(10, 10) is None


@pytest.mark.parametrize(
    ("move", "mistake"),
    [
        (place(BLUE, Shape.PENTO_L, 0, 16), None),
        (place(YELLOW, Shape.PENTO_L, 0, 16), BlokusMistake.WRONG_COLOR),
        (place(YELLOW, Shape.MONO, -1, -1), BlokusMistake.WRONG_COLOR),
        (place(BLUE, Shape.MONO, -1, -1), BlokusMistake.WRONG_SHAPE),
        (place(BLUE, Shape.PENTO_L, 0, 17), BlokusMistake.OUT_OF_BOUNDS),
        (place(BLUE, Shape.PENTO_L, 1, 16), BlokusMistake.NOT_IN_CORNER),
        (SkipMove(BLUE), BlokusMistake.SKIP_FIRST_TURN),
        (SkipMove(), BlokusMistake.SKIP_FIRST_TURN),
        (SkipMove(YELLOW), BlokusMistake.WRONG_COLOR),
    ],
)
def test_the_first_move(move: SetMove | SkipMove, mistake: BlokusMistake | None) -> None:
    assert new().check(move) is mistake


@pytest.mark.parametrize(
    ("move", "mistake"),
    [
        (place(BLUE, Shape.PENTO_X, 1, 12), BlokusMistake.NO_SHARED_CORNER),
        (place(BLUE, Shape.PENTO_X, 1, 16), BlokusMistake.TOUCHES_SAME_COLOR),
        (place(BLUE, Shape.MONO, 1, 15), None),
        (place(BLUE, Shape.MONO, 2, 18), None),
        (place(BLUE, Shape.MONO, 0, 15), BlokusMistake.TOUCHES_SAME_COLOR),
        (place(BLUE, Shape.MONO, 0, 16), BlokusMistake.OBSTRUCTED),
        (place(BLUE, Shape.MONO, 0, 0), BlokusMistake.OBSTRUCTED),
        (place(BLUE, Shape.MONO, 10, 10), BlokusMistake.NO_SHARED_CORNER),
        (place(BLUE, Shape.MONO, 20, 10), BlokusMistake.OUT_OF_BOUNDS),
        (place(BLUE, Shape.PENTO_L, 10, 10), BlokusMistake.DUPLICATE_SHAPE),
        (place(RED, Shape.PENTO_L, 10, 10), BlokusMistake.WRONG_COLOR),
        (SkipMove(BLUE), None),
        (SkipMove(), None),
        (SkipMove(RED), BlokusMistake.WRONG_COLOR),
    ],
)
def test_a_later_move(move: SetMove | SkipMove, mistake: BlokusMistake | None) -> None:
    state = after_first_pieces()
    assert state.check(move) is mistake
    if mistake is None:
        assert state.play(move).turn == 5
    else:
        with pytest.raises(IllegalMoveError, match=mistake.name) as caught:
            state.play(move)
        assert (caught.value.mistake, caught.value.move) == (mistake, move)


def test_the_border_of_the_other_season() -> None:
    state = BLOKUS_2027.with_options({"startPiece": "PENTO_X"}).new_state(random.Random(0))
    assert state.check(place(BLUE, Shape.PENTO_X, 0, 8)) is None
    assert state.check(place(BLUE, Shape.PENTO_X, 1, 8)) is BlokusMistake.NOT_ON_BORDER
    assert len(list(state.generate_legal_moves())) == 68


def test_moves_of_other_games_raise_type_error() -> None:
    with pytest.raises(TypeError, match="e2e4"):
        new().check("e2e4")
    with pytest.raises(TypeError, match="e2e4"):
        new().play("e2e4")


def without(color: Color | None, shape: Shape | None) -> IncompleteMove:
    return IncompleteMove(IncompletePiece(color, shape, Rotation.NONE, False, 0, 0))


@pytest.mark.parametrize(
    "move",
    [
        IncompleteMove(is_skip=True),
        without(None, Shape.PENTO_L),
        without(None, None),
        without(RED, None),
    ],
)
def test_an_incomplete_move_may_have_the_wrong_color(move: IncompleteMove) -> None:
    assert new().check(move) is BlokusMistake.WRONG_COLOR
    with pytest.raises(IllegalMoveError):
        new().play(move)


@pytest.mark.parametrize("move", [without(BLUE, None), IncompleteMove()])
def test_nothing_else_in_an_incomplete_move_can_be_judged(move: IncompleteMove) -> None:
    for judge in (new().check, new().play):
        with pytest.raises(IncompleteMoveError, match="cannot be judged: incomplete placement") as error:
            judge(move)
        assert error.value.move is move


def test_a_colour_without_a_move_leaves_when_its_turn_comes() -> None:
    state = after_first_pieces()
    blue, yellow, red, green = state.cells
    shut_in = replace(state, turn=6, cells=(blue, yellow | bit(1, 15) | bit(2, 18), red, green))
    after = shut_in.play(SkipMove())
    assert (after.turn, after.valid_colors) == (7, (BLUE, YELLOW, RED, GREEN))
    after = after.play(SkipMove())
    assert (after.turn, after.color_on_turn, after.valid_colors) == (9, YELLOW, (YELLOW, RED, GREEN))
    assert after.outcome() is None


def test_the_turn_stays_where_the_last_colour_leaves() -> None:
    state = after_first_pieces()
    blue, yellow, _, green = state.cells
    full = replace(state, turn=6, cells=(blue, yellow, BOARD & ~(blue | yellow | green), green))
    after = full.play(SkipMove())
    assert (after.turn, after.valid_colors) == (10, ())
    assert after.outcome() is not None


@pytest.mark.parametrize(
    ("game", "last_turn", "limit"), [(BLOKUS_2021, 99, 100), (BLOKUS_2027, 95, 96)], ids=["2021", "2027"]
)
def test_the_limit_of_rounds(game: BlokusGame, last_turn: int, limit: int) -> None:
    state = replace(after_first_pieces(), rules=game.rules, turn=last_turn)
    assert state.outcome() is None
    after = state.play(SkipMove())
    assert after.turn == limit
    assert after.outcome() == Outcome(None, "points")


@pytest.mark.parametrize(
    ("seat_0", "seat_1", "winner"), [(Shape.PENTO_I, Shape.TETRO_I, 0), (Shape.DOMINO, Shape.TRIO_I, 1)]
)
def test_more_points_win(seat_0: Shape, seat_1: Shape, winner: int) -> None:
    state = after_first_pieces()
    blue, yellow, red, green = state.remaining_masks
    remaining = (blue, yellow & ~(1 << seat_1), red & ~(1 << seat_0), green)
    over = replace(state, turn=100, remaining_masks=remaining)
    assert over.outcome() == Outcome(winner, "points")


@pytest.mark.parametrize(("last", "points"), [(Shape.MONO, 109), (Shape.DOMINO, 104)])
@pytest.mark.parametrize("color", Color)
def test_the_last_piece(color: Color, last: Shape, points: int) -> None:
    state = almost_done(color, turn=40 + color, last=last)
    assert state.mono_last == (None, None, None, None)
    after = state.play(first_legal(state))
    assert after.remaining_shapes(color) == ()
    assert [after.mono_last[each] for each in Color if each is not color] == [None, None, None]
    assert after.mono_last[color] is (last is Shape.MONO)
    assert after.points(SEAT_OF_COLOR[color]) == (points + 5,)


@pytest.mark.parametrize("color", Color)
def test_the_round_of_the_last_piece_is_finished(color: Color) -> None:
    state = almost_done(color, turn=40 + color)
    state = state.play(first_legal(state))
    while state.turn < 44:
        assert state.outcome() is None
        state = state.play(SkipMove())
    assert state.outcome() == Outcome(SEAT_OF_COLOR[color], "points")
    assert state.turn == (45 if color is BLUE else 44)


@pytest.mark.parametrize("color", Color)
def test_with_the_other_option_the_others_play_on(color: Color) -> None:
    state = almost_done(color, turn=40 + color, rules=PLAYS_ON)
    state = state.play(first_legal(state))
    while state.turn < 50:
        assert state.outcome() is None
        assert (color in state.valid_colors) == (state.turn < 44 + color)
        state = state.play(SkipMove())


@pytest.mark.parametrize(
    ("color", "valid", "end_turn"),
    [
        (BLUE, (BLUE,), 44),
        (GREEN, (GREEN,), 47),
        (YELLOW, (BLUE, YELLOW), 44),
        (RED, (YELLOW, RED), 45),
        (BLUE, (BLUE, GREEN), 47),
        (YELLOW, (YELLOW, RED), 46),
    ],
)
def test_the_final_round_ends_even_if_colours_have_left(color: Color, valid: tuple[Color, ...], end_turn: int) -> None:
    state = almost_done(color, turn=40 + color, valid=valid)
    state = state.play(first_legal(state))
    while state.outcome() is None:
        assert state.round == 11
        state = state.play(SkipMove())
    assert state.turn == end_turn
    assert state.round == 12


@pytest.mark.parametrize("game", [BLOKUS_2021, BLOKUS_2027], ids=lambda game: game.name)
def test_a_move_is_drawn_as_from_the_list_of_legal_moves(game: BlokusGame) -> None:
    rng, other = random.Random(1), random.Random(1)
    state = game.new_state(rng)
    other.setstate(rng.getstate())
    while state.outcome() is None:
        drawn = state.draw_legal_move(rng)
        assert drawn == other.choice(list(state.generate_legal_moves()))
        assert drawn is not None
        state = state.play(drawn)
    assert state.draw_legal_move(rng) is None


def test_no_move_is_drawn_for_a_colour_that_can_place_nothing() -> None:
    state = replace(BLOKUS_2027.new_state(random.Random(1)), cells=(EMPTY, BOARD, EMPTY, EMPTY))
    assert state.draw_legal_move(random.Random(1)) is None


def test_placements_are_counted_for_a_colour_that_is_not_on_turn() -> None:
    state = after_first_pieces()
    assert state.count_placements(BLUE) == state.count_legal_moves()
    assert state.count_placements(RED) == replace(state, turn=state.turn + 2).count_legal_moves()
    assert state.count_placements(GREEN) > 0
    assert replace(state, valid_mask=state.valid_mask & ~(1 << GREEN)).count_placements(GREEN) == 0
    assert replace(state, turn=4 * state.rules.round_limit).count_placements(GREEN) == 0
