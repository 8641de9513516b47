"""Whole games as bytes, ready to be sent: what the driver plays without thinking.

Law: the same seed gives the same games. A move is sent as the short form most clients send; the room id is put in when
it is known. Several different games are played side by side, so that nobody gains by having met a position before.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Final

from spielleiter.game.api import Game, Seat
from spielleiter.game.blokus.move import SetMove, SkipMove
from spielleiter.game.blokus.polyomino import Color
from spielleiter.game.blokus.rulesets import BlokusGame
from spielleiter.game.blokus.state import BlokusState
from spielleiter.protocol.dialect import Dialect
from spielleiter.protocol.messages import Memento, MoveData, MoveRequest, RoomMessage
from spielleiter.server.editions import EDITIONS

ROOM: Final = "00000000-0000-4000-8000-000000000000"
START_PIECE: Final = "PENTO_L"
"""Every game begins with this piece, in both seasons: scripts cannot wait for what a server draws."""
SCRIPT_COUNT: Final = 8
SKIPPED_SHARE: Final = 0.3
"""Of the turns of a long game; about so many more turns it has."""


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


def play_game(
    game: Game, seed: int, *, is_long: bool = False
) -> Iterator[tuple[BlokusState, SetMove | SkipMove | None]]:
    """Every position of a game of Blokus with the move that is made there, None in the last one.

    Large pieces are laid first, as real players lay them. In a long game now and then a turn is skipped.
    """
    rng = random.Random(seed)
    assert isinstance(game, BlokusGame)
    state = game.new_state(rng)
    while state.outcome() is None:
        move: SetMove | SkipMove
        if is_long and state.turn >= len(Color) and rng.random() < SKIPPED_SHARE:
            move = SkipMove(state.color_on_turn)
        else:
            moves = list(state.generate_legal_moves())
            largest = max(move.shape for move in moves)
            move = rng.choice([move for move in moves if move.shape == largest])
        yield state, move
        state = state.play(move)
    yield state, None


def play_script(game: Game, dialect: Dialect, seed: int, *, is_long: bool = False) -> Script:
    """A game of `play_game` as bytes."""
    seats: list[Seat] = []
    packets: list[bytes] = []
    mementos: list[bytes] = []
    for state, move in play_game(game, seed, is_long=is_long):
        mementos.append(dialect.encode(RoomMessage(ROOM, Memento(state))))
        if move is not None:
            seats.append(state.seat_on_turn)
            packets.append(dialect.encode(RoomMessage(ROOM, MoveData(move))))
    return Script(tuple(seats), tuple(packets), tuple(mementos))


def game_of(edition_name: str) -> Game:
    """The rules of an edition, with the piece that scripts begin with."""
    return EDITIONS[edition_name].game.with_options({"startPiece": START_PIECE})


@cache
def load_of(edition_name: str, *, is_long: bool = False) -> Load:
    """The games that are played of an edition of Blokus."""
    edition, game = EDITIONS[edition_name], game_of(edition_name)
    scripts = tuple(play_script(game, edition.dialect, seed, is_long=is_long) for seed in range(SCRIPT_COUNT))
    request = edition.dialect.encode(RoomMessage(ROOM, MoveRequest()))
    return Load(edition_name, edition.game_type, scripts, request)
