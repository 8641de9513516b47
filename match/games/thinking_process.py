"""The process that computes the moves of built-in players.

match/games/builtin_players.py starts it as `python -m spielleiter.match.games.thinking_process`.

Invariants: it reads requests from standard input and writes answers to standard output, each behind its length, in
order; it ends with its input. A strategy that fails costs its player the move and nobody else anything. It loads no
event loop, so that it starts soon.
"""

from __future__ import annotations

import pickle
import struct
import sys
import time
from collections.abc import Callable
from typing import BinaryIO, Final

from spielleiter.client.choosers import make_chooser
from spielleiter.game.api import Move, State

_HEAD: Final = struct.Struct("!I")


def serve(requests: BinaryIO, answers: BinaryIO) -> None:
    """Answer until the input ends."""
    players: dict[int, Callable[[State], Move]] = {}
    while len(head := requests.read(_HEAD.size)) == _HEAD.size:
        kind, key, *values = pickle.loads(requests.read(_HEAD.unpack(head)[0]))  # noqa: S301 - from our own parent
        if kind == "new":
            players[key] = make_chooser(values[0], seed=values[1])
        elif kind == "end":
            del players[key]
        else:
            data = pickle.dumps((key, _think(players[key], values[0])), pickle.HIGHEST_PROTOCOL)
            answers.write(_HEAD.pack(len(data)) + data)
            answers.flush()


def _think(choose: Callable[[State], Move], state: State) -> tuple[Move | None, float, float, str]:
    started, cpu_started = time.perf_counter(), time.process_time()
    move, problem = None, ""
    try:
        move = choose(state)
    except Exception as error:
        problem = f"{type(error).__name__}: {error}"
    return move, time.perf_counter() - started, time.process_time() - cpu_started, problem


if __name__ == "__main__":
    serve(sys.stdin.buffer, sys.stdout.buffer)
