"""Built-in players as the pool of workers knows them, and their requests for moves.

Invariants: a player has at most one request at a time. Its generator moves with it: the state after a move is kept
here, so that any worker can compute the next move, and the same move again if a worker ends. The clock of a request
starts when a worker begins with it for the first time. How much of the time since then this machine took is known at
any time, whether there is an answer or not.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol

import trio

from spielleiter.client.levels.budget import LONGEST_WAIT
from spielleiter.game.api import Move, State
from spielleiter.match.games.thinking_queue import Thinker


@dataclass(frozen=True, slots=True)
class ChosenMove:
    """A move, when a worker began with it, and its wall-clock and processor time in seconds.

    The times are those of the worker that answered. `problem` says why there is no move.
    """

    move: Move | None
    started_at: float
    seconds: float
    cpu_seconds: float
    problem: str = ""


class ComputingWorker(Thinker["Request"], Protocol):
    """A worker, as a player sees it."""

    def forget(self, player: PoolPlayer) -> None:
        """Forget the generator of `player`."""
        ...

    def is_computing(self, request: Request) -> bool:
        """Return whether it has `request` and may still answer it."""
        ...

    async def end_unless_answered(self, request: Request) -> None:
        """Wait for the answer to `request`, and end if it does not come in time."""
        ...


class PoolPlayer:
    """One player in the pool, until `close` is called.

    `key` is its number in the pool, and `strategy` the name of its strategy. `answer` returns the answer to one of its
    requests. `wait` is the time in seconds after which it must not search on, however little processor time it had.
    """

    def __init__(
        self,
        answer: Callable[[Request], Awaitable[ChosenMove]],
        key: int,
        strategy: str,
        seed: int,
        wait: float = LONGEST_WAIT,
    ) -> None:
        self.wait = wait
        self.key = key
        self.strategy = strategy
        self.generator: int | bytes = seed
        """The seed of its generator; after the first move, the state of the generator."""
        self.worker: ComputingWorker | None = None
        """The worker that computed its last move, which still has its generator."""
        self.interruptions = 0
        """How often a worker ended while it computed a move of this player."""
        self.cut_searches = 0
        """How many of its searches ended early because their time was used up."""
        self._answer = answer
        self._request: Request | None = None

    @property
    def seconds_lost(self) -> float:
        """See `Request.seconds_lost`; of the current or last request."""
        return 0.0 if self._request is None else self._request.seconds_lost

    async def choose_move(self, state: State, on_started: Callable[[float], object]) -> ChosenMove:
        """Return the player's move in the position `state`.

        `on_started` is called with the present instant in seconds when a worker begins with the move for the first
        time.

        Raises MachineError if the pool has given up.
        """
        self._request = Request(self, state, on_started)
        return await self._answer(self._request)

    def close(self) -> None:
        """Forget the player. A move that is still being computed is dropped."""
        if self.worker is not None:
            self.worker.forget(self)


class Request:
    """A player's request for a move. `chosen` is set before `is_done`, unless the pool has given up."""

    def __init__(self, player: PoolPlayer, state: State, on_started: Callable[[float], object]) -> None:
        self.player = player
        self.state = state
        self.started_at: float | None = None
        """When a worker began with it for the first time."""
        self.interruptions = 0
        self.is_abandoned = False
        self.is_done = trio.Event()
        self.chosen: ChosenMove | None = None
        self._on_started = on_started
        self._begun_at: float | None = None
        """When the present worker began with it; None while it waits for one."""
        self._cpu_seconds: Callable[[], float | None] = lambda: None

    @property
    def seconds_lost(self) -> float:
        """How many seconds of the think time went to workers that ended, or to waiting for a processor.

        The think time of an answered request is that of the worker that answered. Without an answer, it is the time
        since the first beginning.
        """
        if self.chosen is not None:
            # a worker does nothing but compute, so it waits for a processor for the rest of the time
            return max(0.0, self.chosen.seconds - self.chosen.cpu_seconds)
        if self.started_at is None:
            return 0.0
        now = trio.current_time()
        if self._begun_at is None:
            return now - self.started_at
        cpu_seconds = self._cpu_seconds()
        waited = 0.0 if cpu_seconds is None else max(0.0, now - self._begun_at - cpu_seconds)
        return self._begun_at - self.started_at + waited

    def begin(self, cpu_seconds: Callable[[], float | None]) -> None:
        """Note that a worker begins with it.

        `cpu_seconds` returns the processor time in seconds that the worker has spent since then; None if it is unknown.
        """
        self._begun_at = trio.current_time()
        self._cpu_seconds = cpu_seconds
        if self.started_at is None:
            self.started_at = self._begun_at
            self._on_started(self.started_at)

    def interrupt(self) -> None:
        """Note that its worker has ended."""
        self._begun_at = None
        self.interruptions += 1
        self.player.interruptions += 1

    def finish(self, chosen: ChosenMove | None) -> None:
        """Wake the one who waits: with the answer, or without one because the pool has given up."""
        self.chosen = chosen
        self.is_done.set()
