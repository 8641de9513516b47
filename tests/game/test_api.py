"""The invariants of `game.api`, for every game in the table of editions."""

from __future__ import annotations

import random

import pytest
from msgspec.structs import replace

from spielleiter.game.api import GameError, GameOverError, Move, State
from spielleiter.game.blokus import BlokusState
from spielleiter.game.perft import perft
from spielleiter.server.editions import EDITIONS

games = pytest.mark.parametrize("edition", EDITIONS)


def play_out(edition: str) -> list[tuple[State, Move | None]]:
    """A random game: each position with the move that follows it; None after the last position."""
    rng = random.Random(7)
    state = EDITIONS[edition].game.new_state(rng)
    played: list[tuple[State, Move | None]] = []
    while state.outcome() is None:
        move = rng.choice(list(state.generate_legal_moves()))
        played.append((state, move))
        state = state.play(move)
    return [*played, (state, None)]


@games
def test_generated_moves_are_legal_while_the_game_is_played(edition: str) -> None:
    *played, _ = play_out(edition)
    assert played
    for state, move in played:
        assert move is not None
        assert state.check(move) is None


@games
def test_no_move_is_legal_once_the_outcome_is_known(edition: str) -> None:
    *played, (over, _) = play_out(edition)
    assert list(over.generate_legal_moves()) == []
    assert perft(over, 1) == perft(over, 2) == 0
    for _, move in played:
        assert move is not None
        with pytest.raises(GameOverError) as checked:
            over.check(move)
        with pytest.raises(GameOverError) as refused:
            over.play(move)
        assert checked.value.move is refused.value.move is move
        assert isinstance(refused.value, GameError)


@pytest.mark.parametrize("edition", ["blokus-2027", "blokus-2021-r3", "hase-und-igel-2018"])
def test_a_position_stopped_by_the_round_limit_has_no_legal_move(edition: str) -> None:
    """The players could still move there; only the number of the turn ends the game."""
    (state, move), *_ = play_out(edition)
    assert move is not None
    over = replace(state, turn=1000)  # type: ignore[type-var]
    assert over.outcome() is not None
    assert list(over.generate_legal_moves()) == []
    if isinstance(over, BlokusState):
        assert not over.has_legal_move()
        assert over.count_legal_moves() == 0
        assert over.draw_legal_move(random.Random(0)) is None
    with pytest.raises(GameOverError, match=r"the game is over, no move is legal: "):
        over.play(move)
