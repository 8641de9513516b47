"""Whole games as bytes, ready to be sent: what the driver plays without thinking.

Law: the same seed gives the same games. A move is sent as the short form most clients send; the room id is put in when
it is known.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from game.api import Seat
from game.blokus.move import SetMove
from game.blokus.rulesets import BlokusGame
from protocol.dialect import Dialect
from protocol.messages import Memento, MoveData, RoomMessage

ROOM = "00000000-0000-4000-8000-000000000000"


@dataclass(frozen=True)
class Script:
    """One game: who moves, with which packet, and how many bytes the position after it has on the wire."""

    seats: tuple[Seat, ...]
    packets: tuple[bytes, ...]
    """With ROOM where the room id belongs."""
    mementos: tuple[bytes, ...]
    """The position before each move, and the last one."""


def play_script(game: BlokusGame, dialect: Dialect, seed: int) -> Script:
    """A game of large stones first, as real players play them."""
    rng = random.Random(seed)
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
