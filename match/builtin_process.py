"""[games.thinking_messages]
The messages between a match and the worker processes that compute the moves of its built-in players.

Invariants: a message is a pickled object, preceded by its length. Both sides belong to the same match, so what they
read is trusted. Bytes that are not a message are an error, and never wait for more bytes. The module does not import
trio, so that a worker starts quickly.


[games.thinking_process]
The worker process that chooses the moves of built-in players.

match/games/thinking_pool.py starts it as `python -P -m spielleiter.match.builtin_process`.

Invariants: it reads requests from standard input and writes answers to standard output, in the same order
(`thinking_messages.py`). First of all it writes None, which says that it is ready. Every other answer contains the
state of the player's generator, with which another worker can continue. It ends when its input ends. If a strategy
fails, only its player is affected, and only for that move. What a strategy prints goes to standard error. It does not
import trio, so that it starts quickly, and it has a single thread, so that it never uses more than one processor core.

"""

from __future__ import annotations

import pickle
import random
import struct
import sys
import time
from collections.abc import Iterator
from typing import Any, BinaryIO, Final

from spielleiter.client.choosers import CHOOSERS
from spielleiter.client.levels.budget import SearchBudget
from spielleiter.game.api import Move, State

MAX_SIZE: Final = 1 << 24
"""The size of a message in bytes is below this, so text is never taken for its length: the first byte is 0."""
_HEAD: Final = struct.Struct("!I")


class BadMessageError(Exception):
    """What was received is not a message."""


def encode(message: object) -> bytes:
    """Return the bytes of `message`."""
    data = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
    return _HEAD.pack(len(data)) + data


def read_messages(stream: BinaryIO) -> Iterator[Any]:
    """Yield the messages that `stream` contains, each one as soon as it is complete, until the stream ends."""
    while len(head := stream.read(_HEAD.size)) == _HEAD.size:
        data = stream.read(_HEAD.unpack(head)[0])
        yield pickle.loads(data)  # noqa: S301 - from the other side, see the docstring of the module


class Decoder:
    """Takes the bytes of messages in pieces of any size. After an error it must not be used any more."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes | bytearray) -> Iterator[Any]:
        """Add `data`, and yield the messages that are complete. Raises BadMessageError."""
        buffer = self._buffer
        buffer += data
        while len(buffer) >= _HEAD.size:
            size = _HEAD.unpack_from(buffer)[0]
            if size >= MAX_SIZE:
                raise BadMessageError
            end = _HEAD.size + size
            if len(buffer) < end:
                return
            data = bytes(buffer[_HEAD.size : end])
            del buffer[:end]
            try:
                message = pickle.loads(data)  # noqa: S301 - as above
            except Exception as error:  # any bytes, any error
                raise BadMessageError from error
            yield message


def serve(requests: BinaryIO, answers: BinaryIO) -> None:
    """Answer requests until the input ends."""
    players: dict[int, _Player] = {}
    _write(answers, None)  # ready
    for kind, key, *values in read_messages(requests):
        if kind == "end":
            players.pop(key, None)
            continue
        strategy, generator, state, wait = values
        if generator is not None:
            players[key] = _Player(strategy, generator)
        player = players[key]
        thought = _choose_move(player, state, wait)
        _write(answers, (thought, player.generator()))


def _write(answers: BinaryIO, message: object) -> None:
    answers.write(encode(message))
    answers.flush()


class _Player:
    """A player's chooser and its generator, which begins from a seed or continues from a state."""

    def __init__(self, strategy: str, generator: int | bytes) -> None:
        self.choose = CHOOSERS[strategy]
        self.rng = random.Random()
        if isinstance(generator, bytes):
            self.rng.setstate(pickle.loads(generator))  # noqa: S301 - made by another worker
        else:
            self.rng.seed(generator)

    def generator(self) -> bytes:
        """Return the state of the generator."""
        return pickle.dumps(self.rng.getstate(), pickle.HIGHEST_PROTOCOL)


def _choose_move(player: _Player, state: State, wait: float) -> tuple[Move | None, float, float, str, bool]:
    budget = SearchBudget(wait)
    started, cpu_started = time.perf_counter(), time.process_time()
    move, problem = None, ""
    try:
        move = player.choose(state, player.rng, budget)
    except Exception as error:
        problem = f"{type(error).__name__}: {error}"
    return move, time.perf_counter() - started, time.process_time() - cpu_started, problem, budget.was_cut


if __name__ == "__main__":
    stdout, sys.stdout = sys.stdout, sys.stderr
    serve(sys.stdin.buffer, stdout.buffer)
