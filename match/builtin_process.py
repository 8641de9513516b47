"""The worker process that chooses the moves of built-in players (match/builtin_players.py starts it).

It reads requests from standard input and writes an answer to each to standard output: a pickled object, preceded by
its length. First of all it writes None, which says that it is ready. It keeps nothing between two requests: the state
of a player's generator comes with the request and goes back with the answer. It has a single thread, so that it never
uses more than one processor core.
"""

from __future__ import annotations

import pickle
import random
import struct
import sys
import time
from typing import BinaryIO, Final, TypeAlias

from spielleiter.players.search_budget import SearchBudget
from spielleiter.players.strategies import strategy_called

HEAD: Final = struct.Struct("!I")
"""The length of a message."""
_WORDS: Final = struct.Struct("=625I")
"""The words of the state of a generator: as bytes they are read and written in half of the time."""

GeneratorState: TypeAlias = tuple[int, bytes, float | None]
"""The state of a generator, as `random.Random.getstate` returns it, with its words as bytes."""


def encode(message: object) -> bytes:
    """Return the bytes of `message`."""
    data = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
    return HEAD.pack(len(data)) + data


def state_of(rng: random.Random) -> GeneratorState:
    """Return the state of a generator, for `set_generator`."""
    version, words, gauss_next = rng.getstate()
    return version, _WORDS.pack(*words), gauss_next


def set_generator(rng: random.Random, start: int | GeneratorState) -> None:
    """Set a generator to a state, or to the one that follows from a seed."""
    if isinstance(start, int):
        rng.seed(start)
    else:
        version, words, gauss_next = start
        rng.setstate((version, _WORDS.unpack(words), gauss_next))


def serve(requests: BinaryIO, answers: BinaryIO) -> None:
    """Answer requests until the input ends. If a strategy fails, its answer says so, and the next request is served."""

    def write(message: object) -> None:
        answers.write(encode(message))
        answers.flush()

    write(None)
    rng = random.Random(0)  # one for all requests, since making one costs as much as setting it
    while len(head := requests.read(HEAD.size)) == HEAD.size:
        # both sides belong to the same match, so what they read is trusted
        strategy, generator, state, wait = pickle.loads(requests.read(HEAD.unpack(head)[0]))  # noqa: S301
        set_generator(rng, generator)
        budget = SearchBudget(wait)
        started, cpu_started = time.perf_counter(), time.process_time()
        move, problem = None, ""
        kind = strategy_called(strategy)
        assert kind is not None  # the match has looked
        assert kind.choose is not None
        try:
            move = kind.choose(state, rng, budget)
        except Exception as error:
            problem = f"{type(error).__name__}: {error}"
        seconds, cpu_seconds = time.perf_counter() - started, time.process_time() - cpu_started
        write((move, seconds, cpu_seconds, problem, budget.was_cut, state_of(rng)))


if __name__ == "__main__":
    stdout, sys.stdout = sys.stdout, sys.stderr  # what a strategy prints is no answer
    serve(sys.stdin.buffer, stdout.buffer)
