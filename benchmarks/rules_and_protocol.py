"""The time of each method of a position, the speed of perft, and the time of reading a move and writing a position.

Run it as `python -m benchmarks.rules_and_protocol [EDITION...]`. The figures are the processor time of this process,
each the median of five passes over the positions of scripted games. A move is read as the server reads it, from bytes
to the message. A position is written alone, and as the server does, in its room after all previous positions.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from statistics import mean, median
from time import process_time
from typing import Final, TypeAlias

from spielleiter.bench.scripted_games import ROOM, SCRIPT_COUNT, game_of, load_of, play_game
from spielleiter.game.blokus.moves import SetMove, SkipMove
from spielleiter.game.blokus.state import BlokusState
from spielleiter.game.perft import perft
from spielleiter.protocol.connection import Connection, Role
from spielleiter.protocol.dialect import RoomWriter
from spielleiter.protocol.limits import AFTER_JOIN
from spielleiter.protocol.messages import Memento, RoomMessage
from spielleiter.server.editions import EDITIONS

Played: TypeAlias = tuple[BlokusState, SetMove | SkipMove]
PASSES: Final = 5
PERFT_PLIES: Final = (10, 20, 30)  # of a scripted game: early, in the middle, late
PERFT_DEPTH: Final = 2
TURNS: Final = (0, 20, 40)
QUESTIONS: Final[dict[str, Callable[[Played], object]]] = {
    "count of legal moves": lambda played: played[0].count_legal_moves(),
    "list of legal moves": lambda played: list(played[0].generate_legal_moves()),
    "has_legal_move": lambda played: played[0].has_legal_move(),
    "check": lambda played: played[0].check(played[1]),
    "play": lambda played: played[0].play(played[1]),
    "outcome": lambda played: played[0].outcome(),
}


def seconds_of(action: Callable[[], object]) -> float:
    start = process_time()
    action()
    return process_time() - start


def rules(edition: str) -> dict[str, float]:
    """Return the microseconds of each question, and the nodes per second of perft, by name."""
    games = [list(play_game(game_of(edition), seed)) for seed in range(SCRIPT_COUNT)]
    played = [(state, move) for game in games for state, move in game if move is not None]
    figures = {}
    for name, question in QUESTIONS.items():
        passes = [seconds_of(lambda question=question: [question(each) for each in played]) for _ in range(PASSES)]  # type: ignore[misc]
        figures[name] = 1e6 * median(passes) / len(played)
    start = process_time()
    nodes = sum(perft(games[1][ply][0], PERFT_DEPTH) for ply in PERFT_PLIES)
    return {**figures, "perft, nodes/s": nodes / (process_time() - start)}


def protocol(edition: str) -> dict[str, float]:
    """Return the microseconds for reading a move and for writing positions, by name."""
    dialect, scripts = EDITIONS[edition].dialect, load_of(edition).scripts

    def decode() -> None:
        for script in scripts:
            connection = Connection(Role.SERVER, dialect, AFTER_JOIN)
            connection.receive_data(b"<protocol>")
            for packet in script.packets:
                connection.receive_data(packet)
                connection.next_event()

    moves = sum(len(script.packets) for script in scripts)
    figures = {"decode a move": 1e6 * median(seconds_of(decode) for _ in range(PASSES)) / moves}
    alone: dict[int, list[float]] = {turn: [] for turn in TURNS}
    in_room: dict[int, list[float]] = {turn: [] for turn in TURNS}
    for number in range(PASSES * SCRIPT_COUNT):
        room = RoomWriter(dialect, ROOM)
        for state, _ in play_game(game_of(edition), number % SCRIPT_COUNT):
            memento = Memento(state)
            seconds = seconds_of(lambda memento=memento, room=room: room.encode(memento))  # type: ignore[misc]
            if state.turn in TURNS:
                in_room[state.turn].append(seconds)
                message = RoomMessage(ROOM, memento)
                alone[state.turn].append(seconds_of(lambda message=message: dialect.encode(message)))  # type: ignore[misc]
    for turn in TURNS:
        figures[f"encode turn {turn} alone"] = 1e6 * mean(alone[turn])
        figures[f"encode turn {turn} in its room"] = 1e6 * mean(in_room[turn])
    return figures


def main(editions: Sequence[str]) -> None:
    for edition in editions or ("blokus-2021-r3", "blokus-2027"):
        print(edition)
        for name, value in {**rules(edition), **protocol(edition)}.items():
            print(f"  {name:30} {value:12,.2f}" + ("" if "perft" in name else " us"))


if __name__ == "__main__":
    main(sys.argv[1:])
