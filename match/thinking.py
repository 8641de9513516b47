"""A process that thinks for built-in players: `python -m match.thinking`, started by match/builtin.py.

Invariants: it reads requests from standard input and writes answers to standard output, each behind its length, in
order; it ends with its input. A strategy that fails costs its player the move and nobody else anything.
"""

from __future__ import annotations

import pickle
import struct
import sys
import time
from collections.abc import Callable
from typing import Any, BinaryIO, Final

from client.player import Player, Strategy
from client.strategies import make_strategy
from game.api import Move, State

_HEAD: Final = struct.Struct("!I")

Choose = Callable[[State], Move]


def chooser(strategy: Strategy) -> Choose:
    """The function that a strategy is which only chooses among moves and waits for nothing."""

    def choose(state: State) -> Move:
        chosen = _Chosen()
        answering: Any = strategy(chosen, state)
        try:
            answering.send(None)
        except StopIteration:
            assert chosen.move is not None
            return chosen.move
        raise TypeError("a strategy that waits cannot be asked for a move")

    return choose


class _Chosen(Player):
    """A player that keeps the move instead of sending it."""

    def __init__(self) -> None:
        self.move: Move | None = None

    async def send_move(self, move: Move, hints: tuple[str, ...] = ()) -> None:  # noqa: ARG002 - nobody reads hints
        self.move = move


def serve(requests: BinaryIO, answers: BinaryIO) -> None:
    """Answer until the input ends."""
    players: dict[int, Choose] = {}
    while len(head := requests.read(_HEAD.size)) == _HEAD.size:
        kind, key, *values = pickle.loads(requests.read(_HEAD.unpack(head)[0]))  # noqa: S301 - from our own parent
        if kind == "new":
            players[key] = chooser(make_strategy(values[0], seed=values[1]))
        elif kind == "end":
            del players[key]
        else:
            data = pickle.dumps((key, _think(players[key], values[0])), pickle.HIGHEST_PROTOCOL)
            answers.write(_HEAD.pack(len(data)) + data)
            answers.flush()


def _think(choose: Choose, state: State) -> tuple[Move | None, float, float, str]:
    started, cpu_started = time.perf_counter(), time.process_time()
    move, problem = None, ""
    try:
        move = choose(state)
    except Exception as error:
        problem = f"{type(error).__name__}: {error}"
    return move, time.perf_counter() - started, time.process_time() - cpu_started, problem


if __name__ == "__main__":
    serve(sys.stdin.buffer, sys.stdout.buffer)
