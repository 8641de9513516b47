"""The worker process that chooses the moves of built-in players.

match/games/builtin_players.py starts it as `python -P -m spielleiter.match.games.thinking_process`.

Invariants: it reads requests from standard input and writes answers to standard output, in the same order, each one
preceded by its length. It ends when its input ends. If a strategy fails, only its player is affected, and only for that
move. It does not import trio, so that it starts quickly.
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
    """Answer requests until the input ends."""
    players: dict[int, Callable[[State], Move]] = {}
    while len(head := requests.read(_HEAD.size)) == _HEAD.size:
        kind, key, *values = pickle.loads(requests.read(_HEAD.unpack(head)[0]))  # noqa: S301 - from the parent process
        if kind == "new":
            players[key] = make_chooser(values[0], seed=values[1])
        elif kind == "end":
            del players[key]
        else:
            data = pickle.dumps((key, _choose_move(players[key], values[0])), pickle.HIGHEST_PROTOCOL)
            answers.write(_HEAD.pack(len(data)) + data)
            answers.flush()


def _choose_move(choose: Callable[[State], Move], state: State) -> tuple[Move | None, float, float, str]:
    started, cpu_started = time.perf_counter(), time.process_time()
    move, problem = None, ""
    try:
        move = choose(state)
    except Exception as error:
        problem = f"{type(error).__name__}: {error}"
    return move, time.perf_counter() - started, time.process_time() - cpu_started, problem


if __name__ == "__main__":
    serve(sys.stdin.buffer, sys.stdout.buffer)
