"""Whole games as bytes, ready to be sent: what the driver plays without thinking.

Law: the same seed gives the same games. A move is sent as the short form most clients send; the room id is put in when
it is known. Several different games are played side by side, so that nobody gains by having met a position before.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import cache
from typing import Final

from game.api import Game, Seat
from game.blokus.move import SetMove
from game.blokus.rulesets import BlokusGame
from protocol.dialect import Dialect
from protocol.messages import Memento, MoveData, MoveRequest, RoomMessage
from server.editions import EDITIONS

ROOM: Final = "00000000-0000-4000-8000-000000000000"
START_PIECE: Final = "PENTO_L"
"""Every game begins with this stone, in both seasons: scripts cannot wait for what a server draws."""
SCRIPT_COUNT: Final = 8


@dataclass(frozen=True)
class Script:
    """One game: who moves, with which packet, and how many bytes the position after it has on the wire."""

    seats: tuple[Seat, ...]
    packets: tuple[bytes, ...]
    """With ROOM where the room id belongs."""
    mementos: tuple[bytes, ...]
    """The position before each move, and the last one."""


@dataclass(frozen=True)
class Load:
    """What is played of one edition."""

    edition: str
    game_type: str
    scripts: tuple[Script, ...]
    request: bytes
    """The packet that asks for a move, with ROOM in it."""


def play_script(game: Game, dialect: Dialect, seed: int) -> Script:
    """A game of large stones first, as real players play them."""
    rng = random.Random(seed)
    assert isinstance(game, BlokusGame)
    state = game.new_state(rng)
    seats: list[Seat] = []
    packets: list[bytes] = []
    mementos = [dialect.encode(RoomMessage(ROOM, Memento(state)))]
    while state.outcome() is None:
        moves = list(state.generate_legal_moves())
        largest = max(move.shape for move in moves)
        move: SetMove = rng.choice([move for move in moves if move.shape == largest])
        seats.append(state.seat_on_turn)
        packets.append(dialect.encode(RoomMessage(ROOM, MoveData(move))))
        state = state.play(move)
        mementos.append(dialect.encode(RoomMessage(ROOM, Memento(state))))
    return Script(tuple(seats), tuple(packets), tuple(mementos))


@cache
def load_of(edition_name: str) -> Load:
    """The games that are played of an edition of Blokus."""
    edition = EDITIONS[edition_name]
    game = edition.game.with_options({"startPiece": START_PIECE})
    scripts = tuple(play_script(game, edition.dialect, seed) for seed in range(SCRIPT_COUNT))
    request = edition.dialect.encode(RoomMessage(ROOM, MoveRequest()))
    return Load(edition_name, edition.game_type, scripts, request)
