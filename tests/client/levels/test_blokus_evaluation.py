"""The evaluation of moves and positions."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

import pytest

from spielleiter.client.levels.blokus_evaluation import (
    CELL,
    RatedMove,
    Reach,
    position_value,
    rate_moves,
    reach_from,
    reach_of,
    sample_moves,
)
from spielleiter.game.blokus.pieces import BOARD, EMPTY, bit, draw
from spielleiter.game.blokus.state import BLOKUS_2021, BLOKUS_2027, BlokusGame
from tests.client.levels.positions import positions

GAMES = (BLOKUS_2021, BLOKUS_2027)


@pytest.mark.parametrize("game", GAMES, ids=lambda game: game.name)
def test_the_rated_moves_are_the_legal_moves_in_their_order(game: BlokusGame) -> None:
    for state in positions(game, seed=1, step=9):
        assert [rated.set_move(state) for rated in rate_moves(state)] == list(state.generate_legal_moves())


def test_near_and_far_cells_are_within_one_and_two_steps() -> None:
    wall = sum(bit(3, y) for y in range(20))
    reach = reach_from(BOARD & ~wall, bit(0, 0))
    assert draw(reach.near, 6, 4) == "# # . . . .\n# # . . . .\n. . . . . .\n. . . . . ."
    assert draw(reach.far, 6, 4) == "# # # . . .\n# # # . . .\n# # # . . .\n. . . . . ."
    blocked = reach_from(BOARD & ~wall, bit(2, 0))
    assert draw(blocked.far, 6, 4) == "# # # . . .\n# # # . . .\n# # # . . .\n. . . . . ."


def without(reach: Reach, piece: int) -> tuple[int, int, int]:
    return reach.attach & ~piece, reach.near & ~piece, reach.far & ~piece


@pytest.mark.parametrize("game", GAMES, ids=lambda game: game.name)
def test_a_rated_value_is_that_of_the_piece_and_of_the_position_after_it(game: BlokusGame) -> None:
    """Exactly so if the piece cuts off no cells from other colours, which is not counted."""
    compared: Counter[str] = Counter()
    for state in positions(game, seed=2, step=3):
        color = state.turn % 4
        for rated in rate_moves(state)[::5]:
            after = state.play(rated.set_move(state))
            piece = rated.turned.mask << rated.corner
            others = {name: (color + turns) % 4 for turns, name in enumerate(("opponent", "partner", "opponent"), 1)}
            if after.valid_mask != state.valid_mask or any(
                without(reach_of(state, other), piece) != without(reach_of(after, other), piece)
                for other in range(4)
                if other != color
            ):
                continue
            compared["all"] += 1
            compared.update(name for name, other in others.items() if reach_of(state, other).far & piece)
            assert rated.value == pytest.approx(rated.piece_value + position_value(after, color % 2))
    assert all(compared[name] >= 5 for name in ("all", "partner", "opponent"))


def test_the_value_of_a_position_is_the_opposite_for_the_other_side() -> None:
    for state in positions(BLOKUS_2021, seed=3, step=8):
        assert position_value(state, 0) == pytest.approx(-position_value(state, 1))


def test_a_colour_that_has_left_the_game_reaches_nothing() -> None:
    *_, last = positions(BLOKUS_2021, seed=3)
    gone = [color for color in range(4) if not last.valid_mask >> color & 1]
    assert gone
    assert all(reach_of(last, color).far == EMPTY for color in gone)


@pytest.mark.parametrize("game", GAMES, ids=lambda game: game.name)
def test_after_its_last_piece_a_colour_reaches_nothing(game: BlokusGame) -> None:
    state = list(positions(game, seed=2))[14]
    color = state.turn % 4
    blue, yellow, red, green = (1 if each == color else mask for each, mask in enumerate(state.remaining_masks))
    last = replace(state, remaining_masks=(blue, yellow, red, green))
    assert reach_of(last, color).far
    for rated in rate_moves(last):
        after = last.play(rated.set_move(last))
        assert reach_of(after, color).far == EMPTY
        assert rated.value == pytest.approx(rated.piece_value + position_value(after, color % 2), abs=1)


def test_a_larger_piece_counts_for_its_cells() -> None:
    state = next(positions(BLOKUS_2021, seed=1))
    assert {rated.piece_value for rated in rate_moves(state)} == {CELL * 5}


def test_a_sample_has_rated_moves_with_the_largest_pieces_only() -> None:
    rng, complete = random.Random(1), 0
    for state in positions(BLOKUS_2021, seed=4, step=3):
        rated = rate_moves(state)
        most = max(each.piece_value for each in rated)
        largest = [each for each in rated if each.piece_value == most]
        sample = sample_moves(state, 20, rng)
        assert set(sample.moves) <= set(largest)
        assert len(sample.moves) <= 28
        if sample.is_complete:
            assert sample.moves == largest
            complete += 1
    assert complete >= 5


def test_every_move_with_the_largest_pieces_is_sampled_equally_often() -> None:
    state = list(positions(BLOKUS_2021, seed=4))[12]
    rng, drawn = random.Random(2), Counter[RatedMove]()
    for _ in range(400):
        sample = sample_moves(state, 20, rng)
        assert not sample.is_complete
        drawn.update(sample.moves)
    largest = sample_moves(state, 10_000, rng).moves
    assert set(drawn) == set(largest)
    expected = drawn.total() / len(largest)
    assert all(0.2 * expected < drawn[each] < 2.5 * expected for each in largest)


def test_a_sample_is_never_empty() -> None:
    state = list(positions(BLOKUS_2021, seed=4))[12]
    assert {len(sample_moves(state, 1, random.Random(seed)).moves) for seed in range(20)} == {1}
