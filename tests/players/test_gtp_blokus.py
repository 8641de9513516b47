"""A Blokus engine's cells and symmetries, positions and moves in its terms."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import takewhile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spielleiter.game.blokus import BLOKUS_2021, BLOKUS_2027, BlokusGame, BlokusState, Color, SkipMove
from spielleiter.players.gtp_blokus import (
    START_CORNERS,
    SYMMETRIES,
    EnginePosition,
    Steps,
    Symmetry,
    first_placements,
    fitting_symmetries,
    is_first_piece,
    pieces_of,
    read_cells,
    read_move,
    steps_to,
    write_cells,
    write_move,
)
from tests.players.blokus_engine import BlokusEngine


def test_cells_are_written_row_by_row_from_below() -> None:
    assert write_cells([(1, 18), (0, 18), (4, 19)]) == "e1,a2,b2"


@pytest.mark.parametrize("text", ["", "a", "a0", "a21", "u1", "a01", "a1,", "a1,a1", "a1 b1", "1a", "pass", "a1;b1"])
def test_other_text_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a list of cells"):
        read_cells(text)


GAMES = (BLOKUS_2021, BLOKUS_2027)


def _positions(game: BlokusGame, seed: int, *, fits: bool) -> Iterator[BlokusState]:
    """Yield the positions of a random game; with `fits`, the first pieces are placed so that a symmetry fits."""
    rng = random.Random(seed)
    state = game.new_state(rng)
    while state.outcome() is None:
        yield state
        if fits and is_first_piece(state):
            state = state.play(rng.choice(first_placements(state)))
        elif not is_first_piece(state) and rng.random() < 0.05:
            state = state.play(SkipMove())
        else:
            state = state.play(rng.choice(list(state.generate_legal_moves())))
    yield state


def _follow(engine: BlokusEngine, steps: Steps) -> None:
    if steps.clears:
        engine.answer("clear_board")
    for color, cells in steps.moves:
        engine.answer(f"play {color} {cells}")


def _engine() -> BlokusEngine:
    engine = BlokusEngine()
    engine.answer("set_game Blokus Two-Player")
    return engine


def _legal_of(engine: BlokusEngine, state: BlokusState, symmetry: Symmetry) -> set[object]:
    return {read_move(state, symmetry, text) for text in engine.legal(state.color_on_turn)}


@pytest.mark.parametrize("game", GAMES, ids=lambda game: game.name)
@pytest.mark.parametrize("seed", range(2))
def test_an_engine_follows_a_game_and_has_the_same_moves(game: BlokusGame, seed: int) -> None:
    engine, known = _engine(), None
    for state in [each for each in _positions(game, seed, fits=True) if each.turn >= 4]:
        steps = steps_to(state, known, loads_files=False)
        assert steps is not None
        assert steps.clears == (known is None)
        _follow(engine, steps)
        known = steps.position
        if state.outcome() is None:
            assert _legal_of(engine, state, known.symmetry) == set(state.generate_legal_moves())


def test_a_position_that_no_symmetry_fits_is_a_file_or_nothing() -> None:
    found = 0
    for seed in range(20):
        *_, state = takewhile(lambda each: each.turn <= 4, _positions(BLOKUS_2027, seed, fits=False))
        if any(fitting_symmetries(state)):
            continue
        found += 1
        assert steps_to(state, None, loads_files=False) is None
        steps = steps_to(state, None, loads_files=True)
        assert steps is not None
        assert (steps.clears, steps.moves, steps.position.symmetry) == (False, (), SYMMETRIES[0])
        assert steps.file is not None
        assert steps.file.startswith("(;GM[Blokus Two-Player]\nA1[")
        assert steps.file.endswith(f"PL[{state.color_on_turn + 1}])\n")
        following = state.play(next(state.generate_legal_moves()))
        more = steps_to(following, steps.position, loads_files=True)
        assert more is not None
        assert (more.file, more.clears, len(more.moves)) == (None, False, 1)
    assert found > 10


def test_an_engine_with_other_pieces_begins_again() -> None:
    *_, state = takewhile(lambda each: each.turn <= 12, _positions(BLOKUS_2021, 1, fits=True))
    pieces = pieces_of(state)
    foreign = EnginePosition(SYMMETRIES[0], frozenset({(Color.RED, frozenset({(9, 9)}))}))  # type: ignore[arg-type]
    steps = steps_to(state, foreign, loads_files=False)
    assert steps is not None
    assert steps.clears
    assert len(steps.moves) == len(pieces)


@pytest.mark.parametrize("game", GAMES, ids=lambda game: game.name)
@pytest.mark.parametrize("seat", [0, 1])
def test_first_pieces_keep_a_symmetry_whenever_the_opponent_leaves_one(game: BlokusGame, seat: int) -> None:
    rng = random.Random(seat)
    kept = 0
    for _ in range(10):
        state = game.new_state(rng)
        while is_first_piece(state):
            could_fit = any(fitting_symmetries(state))
            own = state.seat_on_turn == seat
            state = state.play(rng.choice(first_placements(state) if own else list(state.generate_legal_moves())))
            if own and could_fit and game is BLOKUS_2021:
                kept += 1
                assert any(fitting_symmetries(state))
    assert kept > 0 or game is not BLOKUS_2021


def test_every_arrangement_in_which_the_colours_of_a_player_are_opposite_has_a_symmetry() -> None:
    """Eight of the 24 arrangements of the colours in the corners."""
    game = BLOKUS_2021.with_options({"startPiece": "PENTO_V"})
    fitting = set()

    def place(state: BlokusState, corners: tuple[int, ...]) -> None:
        if len(corners) == 4:
            if any(fitting_symmetries(state)):
                fitting.add(corners)
            return
        for move in state.generate_legal_moves():
            following = state.play(move)
            corner = next(
                number for number, (x, y) in enumerate(START_CORNERS) if following.color_at(x, y) is state.color_on_turn
            )
            if corner not in corners:
                place(following, (*corners, corner))

    state = game.new_state(random.Random(1))
    place(state, ())
    assert fitting == {
        (blue, yellow, (blue + 2) % 4, (yellow + 2) % 4)
        for blue in range(4)
        for yellow in range(4)
        if (blue - yellow) % 2
    }


@given(st.sampled_from(SYMMETRIES), st.integers(0, 10_000), st.sampled_from(GAMES))
def test_reading_a_move_is_the_inverse_of_writing_it(symmetry: Symmetry, seed: int, game: BlokusGame) -> None:
    rng = random.Random(seed)
    state = game.new_state(rng)
    for _ in range(rng.randrange(12)):
        state = state.play(rng.choice(list(state.generate_legal_moves())))
    for move in list(state.generate_legal_moves())[:: rng.randrange(1, 50)]:
        assert read_move(state, symmetry, write_move(symmetry, move)) == move


@pytest.mark.parametrize("text", ["a1,c1", "a1,b1,c1,d1,e1,f1", "pass"])
def test_an_answer_that_is_no_piece_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"not a (piece|list of cells)"):
        read_move(BLOKUS_2021.new_state(random.Random(1)), SYMMETRIES[0], text)
