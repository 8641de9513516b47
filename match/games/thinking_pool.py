"""The pool of worker processes that compute the moves of a match's built-in players.

Invariants: every worker serves every player, one request at a time (`thinking_queue.py`), so that no player waits for
another one while a worker is idle. There are at most as many workers as this process may use processor cores. A worker
is a single thread, so it never uses more than one core. The same seed and positions give the same moves, for any number
of workers: the state of a player's generator moves with the player from one worker to another.

A worker that ends by itself is replaced. Its request is the next one to be served, from the state that the generator
had before it, so the move is the same. The pool gives up when MAX_DEATHS workers, each in place of the one before it,
have ended without an answer of any worker in between, and when one request has cost as many.
"""

from __future__ import annotations

import pickle
import struct
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final

import trio

from spielleiter.game.api import Move, State
from spielleiter.match.errors import MachineError
from spielleiter.match.games.thinking_queue import ThinkingQueue
from spielleiter.match.games.verdict import exit_text
from spielleiter.match.programs.platforms import PLATFORM
from spielleiter.server.errors import os_error_text
from spielleiter.server.runtime.own_python import own_python

MAX_DEATHS: Final = 3
"""The number of workers that end in a row, or with one request, before the pool gives up."""

_HEAD: Final = struct.Struct("!I")
_READ_SIZE: Final = 64 * 1024
_KILL_TIMEOUT: Final = 5.0  # seconds after which killing a worker is given up
# Ctrl+C in the terminal is meant for the match, which ends its workers itself
if sys.platform == "win32":
    _OWN_SESSION: Final[dict[str, Any]] = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
else:
    _OWN_SESSION: Final[dict[str, Any]] = {"start_new_session": True}


@dataclass(frozen=True, slots=True)
class ChosenMove:
    """A move, when a worker began with it, and its wall-clock and processor time in seconds.

    `problem` says why there is no move.
    """

    move: Move | None
    started_at: float
    seconds: float
    cpu_seconds: float
    problem: str = ""


class ThinkingPool:
    """The worker processes of a match; see `open_thinking_pool`.

    A worker is started when a new player finds no idle one, up to one worker for each processor core.
    """

    def __init__(self, nursery: trio.Nursery, max_workers: int) -> None:
        self._nursery = nursery
        self._max_workers = max_workers
        self._queue: ThinkingQueue[_Request] = ThinkingQueue()
        self._workers: list[_Worker] = []
        self._player_count = 0
        self._answer_count = 0
        self._problem = ""
        """Why there are no workers any more; empty if there are."""

    async def new_player(self, strategy: str, seed: int) -> PoolPlayer:
        """Return a new player. Raises OSError."""
        if not self._problem and not self._queue.has_idle and len(self._workers) < self._max_workers:
            worker = self._add_worker()
            try:
                await self._nursery.start(worker.run)
            except OSError:
                self._workers.remove(worker)  # otherwise requests would wait for it
                raise
        self._player_count += 1
        return PoolPlayer(self, self._player_count, strategy, seed)

    async def choose_move(self, request: _Request) -> ChosenMove:
        """Return the answer to `request`; see `PoolPlayer.choose_move`."""
        if self._problem:
            raise MachineError(self._problem)
        self._queue.add(request, request.player.worker)
        try:
            await request.is_done.wait()
        finally:
            self._queue.discard(request)
            request.is_abandoned = True
        if request.chosen is None:
            raise MachineError(self._problem)
        return request.chosen

    def _add_worker(self, predecessors: int = 0) -> _Worker:
        worker = _Worker(self._queue, self._note_answer, self._replace, predecessors, self._answer_count)
        self._workers.append(worker)
        return worker

    def _note_answer(self) -> None:
        self._answer_count += 1

    def _replace(self, gone: _Worker, request: _Request | None, how: str) -> None:
        """Start a worker in place of `gone`, and repeat its `request`, if there is one; `how` says how it ended."""
        self._workers.remove(gone)
        in_a_row = deaths = 1 + (gone.predecessors if gone.answers_before == self._answer_count else 0)
        if request is not None:
            request.interrupt()
            deaths = max(deaths, request.interruptions)
        if deaths >= MAX_DEATHS:
            self._give_up(how)
        if self._problem:
            if request is not None:
                request.is_done.set()
            return
        if request is not None:
            self._queue.add_first(request)
        self._nursery.start_soon(self._run_replacement, self._add_worker(in_a_row))

    async def _run_replacement(self, worker: _Worker) -> None:
        try:
            await worker.run()
        except OSError as error:
            self._replace(worker, None, f"could not be started: {os_error_text(error)}")

    def _give_up(self, how: str) -> None:
        """End all requests that wait; those that are being computed are still answered."""
        self._problem = self._problem or (
            "the processes that compute the moves of built-in players end again and again "
            f"(the last one {how}); see whether this machine has enough memory, then resume the match"
        )
        for request in self._queue.take_waiting():
            request.is_done.set()


class PoolPlayer:
    """One player in the pool, until `close` is called."""

    def __init__(self, pool: ThinkingPool, key: int, strategy: str, seed: int) -> None:
        self.key = key
        self.strategy = strategy
        self.generator: int | bytes = seed
        """The seed of its generator; after the first move, the state of the generator."""
        self.worker: _Worker | None = None
        """The worker that computed its last move, which still has its generator."""
        self.interruptions = 0
        """How often a worker ended while it computed a move of this player."""
        self._pool = pool
        self._request: _Request | None = None

    @property
    def seconds_lost(self) -> float:
        """How many seconds of the current or last move went to workers that ended, or to waiting for a processor."""
        return 0.0 if self._request is None else self._request.seconds_lost

    async def choose_move(self, state: State, on_started: Callable[[float], object]) -> ChosenMove:
        """Return the player's move in the position `state`.

        `on_started` is called with the present instant in seconds when a worker begins with the move for the first
        time.

        Raises MachineError if the pool has given up.
        """
        self._request = _Request(self, state, on_started)
        return await self._pool.choose_move(self._request)

    def close(self) -> None:
        """Forget the player. A move that is still being computed is dropped."""
        if self.worker is not None:
            self.worker.forget(self)


class _Request:
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

    @property
    def seconds_lost(self) -> float:
        """The seconds from its first beginning to its present one, and those in which its worker did not compute."""
        if self.started_at is None:
            return 0.0
        before = (trio.current_time() if self._begun_at is None else self._begun_at) - self.started_at
        # a worker does nothing but compute, so it waits for a processor for the rest of the time
        return before + (0.0 if self.chosen is None else max(0.0, self.chosen.seconds - self.chosen.cpu_seconds))

    def begin(self) -> None:
        """Note that a worker begins with it."""
        self._begun_at = trio.current_time()
        if self.started_at is None:
            self.started_at = self._begun_at
            self._on_started(self.started_at)

    def interrupt(self) -> None:
        """Note that its worker has ended."""
        self._begun_at = None
        self.interruptions += 1
        self.player.interruptions += 1


class _Worker:
    """A process that runs `spielleiter.match.games.thinking_process`, and the tasks that talk to it."""

    def __init__(
        self,
        queue: ThinkingQueue[_Request],
        on_answer: Callable[[], None],
        on_gone: Callable[[_Worker, _Request | None, str], None],
        predecessors: int,
        answers_before: int,
    ) -> None:
        self.predecessors = predecessors
        """How many workers have ended in a row before this one took their place."""
        self.answers_before = answers_before
        """The number of answers that the pool had given when this worker was added."""
        self._thinking_queue = queue
        self._on_answer = on_answer
        self._on_gone = on_gone
        self._process: trio.Process | None = None
        self._outgoing, self._messages = trio.open_memory_channel[tuple[Any, ...]](1024)
        self._request: _Request | None = None
        self._is_gone = False

    def begin(self, request: _Request) -> None:
        """Send `request` to the process."""
        player = request.player
        self._request = request
        if player.worker is self:
            generator = None
        else:
            generator = player.generator
            if player.worker is not None:
                player.worker.forget(player)
            player.worker = self
        self._send("move", player.key, player.strategy, generator, request.state)
        request.begin()

    def forget(self, player: PoolPlayer) -> None:
        """Tell the process to forget `player`."""
        self._send("end", player.key)

    def _send(self, *message: Any) -> None:
        if not self._is_gone:
            self._outgoing.send_nowait(message)

    async def run(self, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Start the process and talk to it until it ends. Raises OSError."""
        process = self._process = await trio.lowlevel.open_process(
            # -P: the working directory may contain a module with the name of one that we import
            [*own_python(), "-P", "-m", "spielleiter.match.games.thinking_process"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            **_OWN_SESSION,
        )
        try:
            task_status.started()
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._write, process)
                await self._read(process)
                nursery.cancel_scope.cancel()
        finally:
            self._is_gone = True
            self._thinking_queue.remove(self)
            process.kill()
            with trio.CancelScope(shield=True):
                with trio.move_on_after(_KILL_TIMEOUT):
                    await process.wait()
                for stream in (process.stdin, process.stdout):
                    assert stream is not None
                    await stream.aclose()
        code = process.returncode
        request = None if self._request is None or self._request.is_abandoned else self._request
        self._on_gone(self, request, "closed its output" if code is None else exit_text(code))

    async def _write(self, process: trio.Process) -> None:
        assert process.stdin is not None
        async for message in self._messages:
            data = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
            try:
                await process.stdin.send_all(_HEAD.pack(len(data)) + data)
            except trio.BrokenResourceError:
                return

    async def _read(self, process: trio.Process) -> None:
        assert process.stdout is not None
        buffer = bytearray()
        while data := await _receive(process.stdout):
            buffer += data
            while len(buffer) >= _HEAD.size:
                (size,) = _HEAD.unpack_from(buffer)
                end = _HEAD.size + size
                if len(buffer) < end:
                    break
                if size:
                    self._answer(*pickle.loads(bytes(buffer[_HEAD.size : end])))  # noqa: S301 - from our own child process
                del buffer[:end]
                self._thinking_queue.set_idle(self)  # also after the empty message that it sends when it is ready

    def _answer(self, thought: tuple[Move | None, float, float, str], generator: bytes) -> None:
        request = self._request
        assert request is not None
        assert request.started_at is not None
        self._request = None
        self._on_answer()
        move, seconds, cpu_seconds, problem = thought
        request.player.generator = generator
        request.chosen = ChosenMove(move, request.started_at, seconds, cpu_seconds, problem)
        request.is_done.set()


async def _receive(stream: trio.abc.ReceiveStream) -> bytes | bytearray:
    """Return what a worker has written; nothing if it has ended."""
    try:
        return await stream.receive_some(_READ_SIZE)
    except trio.BrokenResourceError:  # how Windows reports the end of a killed process
        return b""


@asynccontextmanager
async def open_thinking_pool(max_workers: int | None = None) -> AsyncIterator[ThinkingPool]:
    """Open a pool of workers; no process is started before the first player needs one.

    `max_workers` limits the number of processes; None: one for each processor core that this process may use.
    """
    async with trio.open_nursery() as nursery:
        yield ThinkingPool(nursery, max_workers or len(PLATFORM.usable_cores()))
        nursery.cancel_scope.cancel()
