"""Built-in players that play inside the match, and the worker processes that compute their moves.

Invariants: moves are chosen in worker processes (builtin_process.py), never in the event loop. A request counts as
delivered when a worker begins with it, so no time limit runs while all workers are busy. Requests are served in the
order of their arrival. The same seed and positions give the same moves, for any number of workers: the state of a
player's generator is kept here, between its moves. If a worker ends, the move is computed again from that state.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from types import NoneType
from typing import Any, Final

import trio

from spielleiter.common.errors import MachineError, os_error_text
from spielleiter.common.own_python import own_python
from spielleiter.game.api import Move, State
from spielleiter.match.builtin_process import HEAD, GeneratorState, encode
from spielleiter.match.verdict import exit_text
from spielleiter.players.search_budget import LONGEST_WAIT
from spielleiter.players.strategies import strategy_called
from spielleiter.programs.command import BUILTIN
from spielleiter.programs.environment import own_variables
from spielleiter.programs.linux_processes import KnownThreads
from spielleiter.programs.this_platform import PLATFORM
from spielleiter.protocol.messages import MoveData, RoomMessage
from spielleiter.server.app import Server
from spielleiter.server.core.clock import Arrival
from spielleiter.server.core.dispatch import dispatch
from spielleiter.server.core.room import Peer, Room, SentCallback
from spielleiter.server.errors import RequestError

MAX_DEATHS: Final = 3
"""The number of workers that may end with one request."""
RESTART_PAUSE: Final = 1.0
"""Seconds before a worker is replaced that was a replacement itself: the machine may be short of memory."""
_MAX_SIZE: Final = 1 << 24
"""The size of an answer in bytes is below this, so text is never taken for its length: the first byte is 0."""
_READ_SIZE: Final = 64 * 1024
_EXIT_TIMEOUT: Final = 1.0  # seconds in which a process must exit after it has closed its output
_KILL_TIMEOUT: Final = 5.0  # seconds after which killing a process is given up
# Ctrl+C in the terminal is meant for the match, which ends its workers itself
if sys.platform == "win32":
    _OWN_SESSION: Final[dict[str, Any]] = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
else:
    _OWN_SESSION: Final[dict[str, Any]] = {"start_new_session": True}


def worker_command() -> list[str]:
    """Return the command line of a worker."""
    # -P: the working directory may contain a module with the name of one that we import
    return [*own_python(), "-P", "-m", "spielleiter.match.builtin_process"]


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


class PoolPlayer:
    """A built-in player: a strategy and its generator, which begins from `seed`.

    `wait` is the time in seconds after which it must not search on, however little processor time it had.
    """

    def __init__(self, pool: ThinkingPool, strategy: str, seed: int, wait: float = LONGEST_WAIT) -> None:
        self.strategy = strategy
        self.wait = wait
        self.generator: int | GeneratorState = seed
        """The seed of the generator; after the first move, its state."""
        self.interruptions = 0
        """How often a worker ended while it computed a move of this player, so that another one had to compute it."""
        self.cut_searches = 0
        """How many of its searches ended early because their time was used up, so that it was weaker than usual."""
        self._pool = pool
        self._think_time = ThinkTime()

    @property
    def seconds_lost(self) -> float:
        """See `ThinkTime.seconds_lost`; of the current or last move."""
        return self._think_time.seconds_lost(trio.current_time())

    async def choose_move(self, state: State, on_started: Callable[[float], object]) -> ChosenMove:
        """Return the move in the position `state`. If this is cancelled, the worker that computes it is ended.

        `on_started` is called with the present instant in seconds when a worker begins with the move for the first
        time; the clock of the request starts then. Raises MachineError if MAX_DEATHS workers have ended, or could not
        be started.
        """
        think_time = self._think_time = ThinkTime()
        request = encode((self.strategy, self.generator, state, self.wait))
        how = ""
        await self._pool.acquire_slot()
        try:
            for deaths in range(MAX_DEATHS):
                if deaths > 1:
                    await trio.sleep(self._pool.restart_pause)
                try:
                    async with self._pool.worker() as worker:
                        is_first = think_time.started_at is None
                        started_at = think_time.begin(trio.current_time(), worker.cpu_stopwatch())
                        if is_first:
                            on_started(started_at)
                        try:
                            answer = await worker.ask(request)
                        except _WorkerEndedError:
                            # first of all: from now on, the processor time of the process is unknown
                            think_time.interrupt()
                            self.interruptions += 1
                            raise
                except _WorkerEndedError as error:
                    how = str(error)
                else:
                    move, seconds, cpu_seconds, problem, was_cut, self.generator = answer
                    self.cut_searches += was_cut
                    think_time.end(seconds, cpu_seconds)
                    return ChosenMove(move, started_at, seconds, cpu_seconds, problem)
        finally:
            self._pool.release_slot()
        raise MachineError(
            "the processes that compute the moves of built-in players end again and again "
            f"(the last one {how}); see whether this machine has enough memory, then resume the match"
        )


class ThinkTime:
    """The think time of one move: how much of it this machine took is known at any time."""

    def __init__(self) -> None:
        self.started_at: float | None = None
        """When a worker began with the move for the first time."""
        self._begun_at: float | None = None
        """When the present worker began with it; None if there is none."""
        self._cpu_seconds: Callable[[], float | None] = lambda: None
        self._lost: float | None = None

    def begin(self, now: float, cpu_seconds: Callable[[], float | None]) -> float:
        """Note that a worker begins; return when the first one did.

        `cpu_seconds` returns the processor time in seconds that the worker has spent since then; None if it is unknown.
        """
        self._begun_at, self._cpu_seconds = now, cpu_seconds
        if self.started_at is None:
            self.started_at = now
        return self.started_at

    def interrupt(self) -> None:
        """Note that the worker has ended without an answer."""
        self._begun_at = None

    def end(self, seconds: float, cpu_seconds: float) -> None:
        """Note the answer. The think time is that of its worker, which does nothing but compute."""
        self._lost = max(0.0, seconds - cpu_seconds)  # the two clocks differ a little

    def seconds_lost(self, now: float) -> float:
        """Return how many seconds of it went to workers that ended, or to waiting for a processor."""
        if self._lost is not None:
            return self._lost
        if self.started_at is None:
            return 0.0
        if self._begun_at is None:
            return now - self.started_at
        cpu_seconds = self._cpu_seconds()
        waited = 0.0 if cpu_seconds is None else max(0.0, now - self._begun_at - cpu_seconds)
        return self._begun_at - self.started_at + waited


class ThinkingPool:
    """The worker processes of a match; see `open_thinking_pool`."""

    def __init__(self, max_workers: int, restart_pause: float) -> None:
        self.restart_pause = restart_pause
        self._slots = trio.Semaphore(max_workers)
        self._idle: list[_Worker] = []

    async def acquire_slot(self) -> None:
        """Wait for the right to ask for a worker, which has to be given back with `release_slot`."""
        try:
            self._slots.acquire_nowait()  # without a turn of the event loop
        except trio.WouldBlock:
            await self._slots.acquire()

    def release_slot(self) -> None:
        """Give that right back."""
        self._slots.release()

    @asynccontextmanager
    async def worker(self) -> AsyncIterator[_Worker]:
        """Provide an idle worker, or a new one. It is ended if this context is left with an error.

        Raises _WorkerEndedError if it ends or cannot be started; its text says how.
        """
        worker = None
        while worker is None and self._idle:
            worker = self._idle.pop()
            if worker.process.returncode is not None:
                await worker.end()
                worker = None
        try:
            if worker is None:
                process = await trio.lowlevel.open_process(
                    worker_command(),
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    env=own_variables(),  # a program can read them
                    **_OWN_SESSION,
                )
                worker = _Worker(process)
                await worker.receive(NoneType)  # it is ready
            yield worker
        except BaseException as error:
            how = "" if worker is None else await worker.end()
            if isinstance(error, OSError):
                raise _WorkerEndedError(f"could not be started: {os_error_text(error)}") from None
            if isinstance(error, _WorkerEndedError):
                raise _WorkerEndedError(how) from None
            raise
        self._idle.append(worker)

    async def end(self) -> None:
        """End all workers."""
        for worker in self._idle:
            await worker.end()


@asynccontextmanager
async def open_thinking_pool(
    max_workers: int | None = None, restart_pause: float = RESTART_PAUSE
) -> AsyncIterator[ThinkingPool]:
    """Open a pool of workers; a process is started when a move is asked for and none is idle.

    `max_workers` limits the number of processes; None: one for each processor core that this process may use. No move
    may be asked for any more when the context is left.
    """
    pool = ThinkingPool(max_workers or len(PLATFORM.usable_cores()), restart_pause)
    try:
        yield pool
    finally:
        await pool.end()


class _WorkerEndedError(Exception):
    """A worker has ended, or has written something that is not an answer."""


class _Worker:
    """A worker process. Whatever ends it, the process is killed and waited for."""

    def __init__(self, process: trio.Process) -> None:
        self.process = process
        self._buffer = bytearray()
        self._problem = ""

    async def ask(self, request: bytes) -> Any:
        """Return the answer to `request`. Raises _WorkerEndedError."""
        stdin = self.process.stdin
        assert stdin is not None
        try:
            if sys.platform != "win32" and isinstance(stdin, trio.lowlevel.FdStream):
                with suppress(BlockingIOError):
                    request = request[os.write(stdin.fileno(), request) :]  # without a turn of the event loop
            if request:
                await stdin.send_all(request)
        except (trio.BrokenResourceError, BrokenPipeError):
            raise _WorkerEndedError from None
        return await self.receive(tuple)

    async def receive(self, kind: type) -> Any:
        """Return the next message, which is a `kind`. Raises _WorkerEndedError."""
        size = HEAD.unpack(await self._read(HEAD.size))[0]
        message: object = ...
        if size < _MAX_SIZE:
            data = await self._read(size)
            with suppress(Exception):  # any bytes, any error
                message = pickle.loads(data)  # noqa: S301 - see builtin_process.py
            if isinstance(message, kind):
                return message
        self._problem = "wrote something that is not an answer"
        raise _WorkerEndedError

    async def _read(self, size: int) -> bytes:
        assert self.process.stdout is not None
        while len(self._buffer) < size:
            try:
                data = await self.process.stdout.receive_some(_READ_SIZE)
            except trio.BrokenResourceError:  # how Windows reports the end of a killed process
                data = b""
            if not data:
                with trio.move_on_after(_EXIT_TIMEOUT):
                    await self.process.wait()
                if self.process.returncode is None:
                    self._problem = "closed its output"
                raise _WorkerEndedError
            self._buffer += data
        found = bytes(self._buffer[:size])
        del self._buffer[:size]
        return found

    def cpu_stopwatch(self) -> Callable[[], float | None]:
        """Return a function that returns the processor time in seconds that the process has spent since now."""
        pid = self.process.pid
        before = PLATFORM.cpu_clock_of(pid)

        def elapsed() -> float | None:
            now = PLATFORM.cpu_clock_of(pid)
            return None if now is None or before is None else now - before

        return elapsed

    async def end(self) -> str:
        """End the process; return how it has ended, such as "ended with exit code 3"."""
        with trio.CancelScope(shield=True):
            self.process.kill()
            with trio.move_on_after(_KILL_TIMEOUT):
                await self.process.wait()
            for stream in (self.process.stdin, self.process.stdout):
                assert stream is not None
                await stream.aclose()
        code = self.process.returncode
        return self._problem or ("could not be ended" if code is None else exit_text(code))


def builtin_strategy(command: str) -> str | None:
    """Return the name of the strategy for a built-in player without a process; None for any other command.

    Strategies that misbehave on purpose also give None, since they need a connection to do so.
    """
    name = command.removeprefix(BUILTIN)
    kind = strategy_called(name)
    return name if command.startswith(BUILTIN) and kind is not None and kind.choose and not kind.is_bad else None


class BuiltinPlayer:
    """A player in a room of the match's server, which is the `Sink` of its peer. It plays while `run` runs.

    It has the attributes of a `Program` (programs/program.py), with the values of a process that never outlives
    its game.
    """

    problem = ""
    """Why the player could not continue; empty if there was no problem."""
    pids: tuple[int, ...] = ()
    root: int | None = None
    known_threads: KnownThreads | None = None
    leftovers: tuple[Any, ...] = ()
    survivors: tuple[Any, ...] = ()
    returncode: int | None = None
    was_ended = False
    supervisor_stops = 0
    has_stopped_supervisor = False

    def __init__(self, server: Server, room: Room, seat: int, player: PoolPlayer, label: str) -> None:
        self.cpu_seconds = 0.0
        self.exited = trio.Event()
        self.gone = trio.Event()
        self._server = server
        self._room = room
        self._seat = seat
        self.player = player
        self._label = label
        self._queue, self._requests = trio.open_memory_channel[SentCallback](1)
        self._playing = trio.CancelScope()

    async def run(self, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Take the seat and play until the game is over."""
        lobby, peer = self._server.lobby, Peer(self._label, self, self._room.edition)
        peer.reads_packets = peer.has_delivery_timeout = False
        try:
            task_status.started()
            lobby.take_reserved_slot(peer, self._room, self._room.player_slots[self._seat])
            with self._playing:
                async for on_sent in self._requests:
                    chosen = await self.player.choose_move(self._room.state, on_sent)
                    self.cpu_seconds += chosen.cpu_seconds
                    self._answer(peer, chosen)
                    if self.problem:
                        break
        finally:
            lobby.drop(peer)
            self.exited.set()
            self.gone.set()

    def _answer(self, peer: Peer, chosen: ChosenMove) -> None:
        lobby, now = self._server.lobby, trio.current_time()
        if self._room.id not in peer.rooms:  # the game has ended in the meantime
            return
        if chosen.move is None:
            self.problem, self.returncode = chosen.problem, 1  # as a separate process would end
            lobby.drop(peer)
            return
        message = RoomMessage(self._room.id, MoveData(chosen.move))
        try:
            dispatch(lobby, peer, message, Arrival(min(now, chosen.started_at + chosen.seconds)), now)
        except RequestError:  # the room has already informed everybody
            lobby.drop(peer)

    @property
    def seconds_lost(self) -> float:
        """How many seconds of the current or last move this machine took: see `ThinkTime`."""
        return self.player.seconds_lost

    @property
    def cpu_seconds_so_far(self) -> float:
        return self.cpu_seconds

    async def end(self, _grace_period: float) -> None:
        """End at once: a move that is still being computed is dropped."""
        self._playing.cancel()
        await self.exited.wait()

    # -- Sink -------------------------------------------------------------------------------------------------------

    def send_nowait(self, _packet: bytes, on_sent: SentCallback | None = None) -> None:
        """Take a packet with `on_sent` for a move request; ignore all others, since the room's state has the rest."""
        if on_sent is not None:
            self._queue.send_nowait(on_sent)

    def end_nowait(self, *, with_end_tag: bool = True) -> None: ...

    def has_unread_input(self) -> bool:
        return False
