"""Measuring how long it takes to read a move and to write a position.

Invariants: a move is read as the server reads it, from received bytes to the message. A position is written in two
ways: alone, and as the server does, in its room after all previous positions.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Final

from spielleiter.bench.figures import Records
from spielleiter.bench.load.scripts import ROOM, SCRIPT_COUNT, game_of, load_of, play_game
from spielleiter.bench.options import Options
from spielleiter.protocol.connection import Connection, Role
from spielleiter.protocol.dialect import RoomWriter
from spielleiter.protocol.limits import AFTER_JOIN
from spielleiter.protocol.messages import Memento, RoomMessage
from spielleiter.server.editions import EDITIONS

PASSES: Final = 5
TURNS: Final = (0, 20, 60)


def measure_protocol(options: Options, records: Records) -> Iterator[str]:
    """Measure reading and writing; for the yielded texts see `spielleiter.bench.run.Part`."""
    for edition in options.editions:
        yield f"protocol, {edition}"
        values = {"decode a move": (1e6 * _decode_move(edition), "us")}
        for turn, (alone, in_room) in _encode_positions(edition).items():
            values[f"encode turn {turn} alone"] = (1e6 * alone, "us")
            values[f"encode turn {turn} in its room"] = (1e6 * in_room, "us")
        records.add({"part": "protocol", "edition": edition}, values)


def _decode_move(edition: str) -> float:
    count, seconds = 0, 0.0
    for _ in range(PASSES):
        for script in load_of(edition).scripts:
            connection = Connection(Role.SERVER, EDITIONS[edition].dialect, AFTER_JOIN)
            connection.receive_data(b"<protocol>")
            start = time.perf_counter()
            for packet in script.packets:
                connection.receive_data(packet)
                connection.next_event()
            seconds += time.perf_counter() - start
            count += len(script.packets)
    return seconds / count


def _encode_positions(edition: str) -> dict[int, tuple[float, float]]:
    """Return for each turn the seconds for writing its position alone, and in its room."""
    dialect = EDITIONS[edition].dialect
    spent = dict.fromkeys(TURNS, (0.0, 0.0, 0))
    for number in range(PASSES * SCRIPT_COUNT):
        room = RoomWriter(dialect, ROOM)
        for state, _ in play_game(game_of(edition), number % SCRIPT_COUNT, is_long=True):
            memento = Memento(state)
            start = time.perf_counter()
            room.encode(memento)
            between = time.perf_counter()
            if state.turn in spent:
                dialect.encode(RoomMessage(ROOM, memento))
                alone, in_room, count = spent[state.turn]
                spent[state.turn] = (
                    alone + time.perf_counter() - between,
                    in_room + between - start,
                    count + 1,
                )
    return {turn: (alone / count, in_room / count) for turn, (alone, in_room, count) in spent.items() if count}
