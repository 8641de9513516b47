"""Scripted games: whole games as bytes, which the driver sends without any computation.

The same seed gives the same games. Moves are in the short form that most clients send; the room id is inserted when it
is known. There are several different games, so that a server gains nothing by caching positions.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import cache
from typing import Final

from spielleiter.game.api import Seat
from spielleiter.game.blokus.state import BlokusGame
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


@cache
def load_of(edition_name: str) -> Load:
    """Return the scripted games of an edition of Blokus."""
    edition = EDITIONS[edition_name]
    game = edition.game.with_options({"startPiece": START_PIECE})
    assert isinstance(game, BlokusGame)
    scripts = tuple(play_script(game, edition.dialect, seed) for seed in range(SCRIPT_COUNT))
    request = edition.dialect.encode(RoomMessage(ROOM, MoveRequest()))
    return Load(edition_name, edition.game_type, scripts, request)


def play_script(game: BlokusGame, dialect: Dialect, seed: int) -> Script:
    """Play a game and return it as bytes, written in `dialect`. Large pieces are placed first, as by real players."""
    rng = random.Random(seed)
    seats: list[Seat] = []
    packets: list[bytes] = []
    state = game.new_state(rng)
    mementos = [dialect.encode(RoomMessage(ROOM, Memento(state)))]
    while state.outcome() is None:
        moves = list(state.generate_legal_moves())
        largest = max(move.shape for move in moves)
        move = rng.choice([move for move in moves if move.shape == largest])
        seats.append(state.seat_on_turn)
        packets.append(dialect.encode(RoomMessage(ROOM, MoveData(move))))
        state = state.play(move)
        mementos.append(dialect.encode(RoomMessage(ROOM, Memento(state))))
    return Script(tuple(seats), tuple(packets), tuple(mementos))
