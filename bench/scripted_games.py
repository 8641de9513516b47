"""Scripted games: whole games as bytes, which the driver sends without any computation.

The same seed gives the same games. Moves are in the short form that most clients send; the room id is inserted when it
is known. There are several different games, so that a server gains nothing by caching positions.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Final

from spielleiter.game.api import Game, Seat
from spielleiter.game.blokus.moves import SetMove, SkipMove
from spielleiter.game.blokus.state import BlokusGame, BlokusState
from spielleiter.protocol.dialect import Dialect
from spielleiter.protocol.messages import Memento, MoveData, MoveRequest, RoomMessage
from spielleiter.server.editions import EDITIONS

ROOM: Final = "00000000-0000-4000-8000-000000000000"
START_PIECE: Final = "PENTO_L"
"""The start piece of every game, in both seasons, since scripts cannot depend on what a server draws."""
SCRIPT_COUNT: Final = 8


@dataclass(frozen=True)
class Script:
    """One game as bytes."""

    seats: tuple[Seat, ...]
    """For each move the seat of its player."""
    packets: tuple[bytes, ...]
    """The packets of the moves, with `ROOM` in place of the room id."""
    mementos: tuple[bytes, ...]
    """The packets of the positions: one before each move, and the last one."""


@dataclass(frozen=True)
class Load:
    """The scripted games of one edition."""

    edition: str
    game_type: str
    scripts: tuple[Script, ...]
    request: bytes
    """The packet that requests a move, with `ROOM` in place of the room id."""


def play_game(game: Game, seed: int) -> Iterator[tuple[BlokusState, SetMove | SkipMove | None]]:
    """Yield every position of a game of Blokus with the move that is made in it; None for the last position.

    Large pieces are placed first, as real players do.
    """
    rng = random.Random(seed)
    assert isinstance(game, BlokusGame)
    state = game.new_state(rng)
    while state.outcome() is None:
        moves = list(state.generate_legal_moves())
        largest = max(move.shape for move in moves)
        move = rng.choice([move for move in moves if move.shape == largest])
        yield state, move
        state = state.play(move)
    yield state, None


def play_script(game: Game, dialect: Dialect, seed: int) -> Script:
    """Return a game of `play_game` as bytes, written in `dialect`."""
    seats: list[Seat] = []
    packets: list[bytes] = []
    mementos: list[bytes] = []
    for state, move in play_game(game, seed):
        mementos.append(dialect.encode(RoomMessage(ROOM, Memento(state))))
        if move is not None:
            seats.append(state.seat_on_turn)
            packets.append(dialect.encode(RoomMessage(ROOM, MoveData(move))))
    return Script(tuple(seats), tuple(packets), tuple(mementos))


def game_of(edition_name: str) -> Game:
    """Return the game of an edition with the start piece of the scripts."""
    return EDITIONS[edition_name].game.with_options({"startPiece": START_PIECE})


@cache
def load_of(edition_name: str) -> Load:
    """Return the scripted games of an edition of Blokus."""
    edition, game = EDITIONS[edition_name], game_of(edition_name)
    scripts = tuple(play_script(game, edition.dialect, seed) for seed in range(SCRIPT_COUNT))
    request = edition.dialect.encode(RoomMessage(ROOM, MoveRequest()))
    return Load(edition_name, edition.game_type, scripts, request)
