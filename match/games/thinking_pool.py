"""The pool of worker processes that compute the moves of a match's built-in players.

Invariants: every worker serves every player, one request at a time (`thinking_queue.py`), so that no player waits for
another one while a worker is idle. There are at most as many workers as this process may use processor cores. The same
seed and positions give the same moves, for any number of workers: the state of a player's generator moves with the
player from one worker to another.

A worker that ends by itself is replaced, the second time in a row after a pause. Its request is the next one to be
served, from the state that the generator had before it, so the move is the same. If MAX_DEATHS workers, each in place
of the one before it, have ended with no answer in between, they are not replaced any more. The pool gives up when no
worker is left, and when one request has cost MAX_DEATHS workers.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

import trio

from spielleiter.client.levels.budget import LONGEST_WAIT
from spielleiter.common.errors import MachineError, os_error_text
from spielleiter.match.games.thinking_queue import ThinkingQueue
from spielleiter.match.games.thinking_request import ChosenMove, PoolPlayer, Request
from spielleiter.match.games.thinking_worker import Worker
from spielleiter.programs.platforms import PLATFORM

MAX_DEATHS: Final = 3
"""The number of workers that may end in a row, or with one request."""
RESTART_PAUSE: Final = 1.0
"""Seconds before a worker is replaced that has not answered and was a replacement itself."""


class ThinkingPool:
    """The worker processes of a match; see `open_thinking_pool`.

    A worker is started when a new player finds no idle one, up to one worker for each processor core.
    """

    def __init__(self, nursery: trio.Nursery, max_workers: int) -> None:
        self.workers: list[Worker] = []
        """The workers whose processes run."""
        self._nursery = nursery
        self._max_workers = max_workers
        self._kept_workers = 0
        """The number of workers that are replaced when they end, including those that are not replaced yet."""
        self._queue: ThinkingQueue[Request] = ThinkingQueue()
        self._player_count = 0
        self._problem = ""
        """Why there are no workers any more; empty if there are."""

    async def new_player(self, strategy: str, seed: int, wait: float = LONGEST_WAIT) -> PoolPlayer:
        """Return a new player; see `PoolPlayer`. Raises OSError if a worker that it needs cannot be started."""
        if not self._problem and not self._queue.has_idle and self._kept_workers < self._max_workers:
            self._kept_workers += 1
            try:
                worker = await self._start_worker()
            except BaseException:
                self._kept_workers -= 1
                if self._queue.has_waiting:
                    self._ensure_worker()  # other players have relied on this one
                raise
            self._nursery.start_soon(self._keep_worker, worker)
        self._player_count += 1
        return PoolPlayer(self._choose_move, self._player_count, strategy, seed, wait)

    async def _choose_move(self, request: Request) -> ChosenMove:
        if self._problem:
            raise MachineError(self._problem)
        self._ensure_worker()
        self._queue.add(request, request.player.worker)
        try:
            await request.is_done.wait()
        finally:
            self._queue.discard(request)
            request.is_abandoned = True
            worker = request.player.worker
            if worker is not None and worker.is_computing(request):
                # a process that hangs, or is stopped, must not occupy its place for ever
                self._nursery.start_soon(worker.end_unless_answered, request)
        if request.chosen is None:
            raise MachineError(self._problem)
        return request.chosen

    def _ensure_worker(self) -> None:
        """Start a worker if none runs or is being started; if this fails as often as allowed, the pool gives up."""
        if not self._kept_workers and not self._problem:
            self._kept_workers += 1
            self._nursery.start_soon(self._keep_worker, None)

    async def _start_worker(self) -> Worker:
        worker = Worker(self._queue)
        await worker.start()
        self.workers.append(worker)
        return worker

    async def _keep_worker(self, worker: Worker | None) -> None:
        """Run `worker`, which has been started, and another one in its place whenever one ends.

        None: start the first one, too.
        """
        how, deaths = ("", 0) if worker is None else (await self._run_worker(worker), 1)
        while deaths < MAX_DEATHS and not self._problem:
            if deaths > 1:
                await trio.sleep(RESTART_PAUSE)
            deaths += 1
            try:
                worker = await self._start_worker()
            except OSError as error:
                how = f"could not be started: {os_error_text(error)}"
                continue
            how = await self._run_worker(worker)
            if worker.has_answered:
                deaths = 1
        # a new player must not start it again either
        self._max_workers -= 1
        self._kept_workers -= 1
        if not self._kept_workers:
            self._give_up(how)

    async def _run_worker(self, worker: Worker) -> str:
        """Run `worker` until it ends, and repeat its request, if there is one; return how it ended."""
        try:
            await worker.run()
        finally:
            self.workers.remove(worker)
        how, request = worker.end_text, worker.unanswered
        if request is not None:
            if request.interruptions >= MAX_DEATHS:
                self._give_up(how)
            if self._problem:
                request.finish(None)
            else:
                self._queue.add_first(request)
        return how

    def _give_up(self, how: str) -> None:
        """End all requests that wait; those that are being computed are still answered."""
        self._problem = self._problem or (
            "the processes that compute the moves of built-in players end again and again "
            f"(the last one {how}); see whether this machine has enough memory, then resume the match"
        )
        for request in self._queue.take_waiting():
            request.finish(None)


@asynccontextmanager
async def open_thinking_pool(max_workers: int | None = None) -> AsyncIterator[ThinkingPool]:
    """Open a pool of workers; no process is started before the first player needs one.

    `max_workers` limits the number of processes; None: one for each processor core that this process may use.
    """
    async with trio.open_nursery() as nursery:
        yield ThinkingPool(nursery, max_workers or len(PLATFORM.usable_cores()))
        nursery.cancel_scope.cancel()
