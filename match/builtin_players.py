"""[games.thinking_queue]
Which worker computes which move: one queue for all built-in players of a match.

Invariants: a worker has one request at a time. No request waits while a worker is idle. Waiting requests are served in
the order of their arrival; one whose worker has ended is served before them, since its clock is running. A player has
at most one request, so no player is served twice while another one waits. An idle worker that has computed the player's
last move is preferred, because it still has the player's generator.


[games.thinking_request]
Built-in players as the pool of workers knows them, and their requests for moves.

Invariants: a player has at most one request at a time. Its generator moves with it: the state after a move is kept
here, so that any worker can compute the next move, and the same move again if a worker ends. The clock of a request
starts when a worker begins with it for the first time. How much of the time since then this machine took is known at
any time, whether there is an answer or not.


[games.thinking_worker]
A worker: a process that computes the moves of built-in players, and the tasks that talk to it.

Invariants: the process runs `thinking_process.py`. It has one request at a time, which it takes from the queue. It is a
single thread, so it never uses more than one core. Whatever ends a worker, its process is killed and waited for. A
process that closes its input or output, or writes anything but answers, is ended.


[games.thinking_pool]
The pool of worker processes that compute the moves of a match's built-in players.

Invariants: every worker serves every player, one request at a time (`thinking_queue.py`), so that no player waits for
another one while a worker is idle. There are at most as many workers as this process may use processor cores. The same
seed and positions give the same moves, for any number of workers: the state of a player's generator moves with the
player from one worker to another.

A worker that ends by itself is replaced, the second time in a row after a pause. Its request is the next one to be
served, from the state that the generator had before it, so the move is the same. If MAX_DEATHS workers, each in place
of the one before it, have ended with no answer in between, they are not replaced any more. The pool gives up when no
worker is left, and when one request has cost MAX_DEATHS workers.


[games.builtin_players]
Built-in players that play inside the match, without a process or a connection for each of them.

Invariants: moves are chosen in worker processes (`thinking_pool.py`), never in the event loop. A request counts as
delivered when a worker begins with it, so no time limit runs while all workers are busy. A player's think time is what
the worker measured for its move.

"""

from __future__ import annotations

import math
import subprocess
import sys
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final, Generic, Protocol, TypeVar

import psutil
import trio

from spielleiter.client.levels.budget import LONGEST_WAIT
from spielleiter.client.strategies import STRATEGIES
from spielleiter.common.errors import MachineError, os_error_text
from spielleiter.common.own_python import own_python
from spielleiter.game.api import Move, State
from spielleiter.match.builtin_process import BadMessageError, Decoder, encode
from spielleiter.match.verdict import exit_text
from spielleiter.programs.environment import own_variables
from spielleiter.programs.platforms import PLATFORM
from spielleiter.programs.program import BUILTIN
from spielleiter.protocol.messages import MoveData, RoomMessage
from spielleiter.server.app import Server
from spielleiter.server.core.clock import Arrival
from spielleiter.server.core.dispatch import dispatch
from spielleiter.server.core.member import Member
from spielleiter.server.core.peer import Peer, SentCallback
from spielleiter.server.core.room import Room
from spielleiter.server.errors import RequestError

_R = TypeVar("_R")
_R_contra = TypeVar("_R_contra", contravariant=True)


class Thinker(Protocol[_R_contra]):
    """A worker, as the queue sees it."""

    def begin(self, request: _R_contra, /) -> None:
        """Begin to compute the move of `request`."""
        ...


class ThinkingQueue(Generic[_R]):
    """The idle workers and the requests that wait for one."""

    def __init__(self) -> None:
        self._idle: list[Thinker[_R]] = []
        self._waiting: deque[_R] = deque()

    @property
    def has_idle(self) -> bool:
        """Whether a worker has nothing to do."""
        return bool(self._idle)

    @property
    def has_waiting(self) -> bool:
        """Whether a request waits for a worker."""
        return bool(self._waiting)

    def add(self, request: _R, preferred: Thinker[_R] | None = None) -> None:
        """Give `request` to an idle worker, if possible to `preferred`, or let it wait for one."""
        if not self._idle:
            self._waiting.append(request)
            return
        worker = preferred if preferred is not None and preferred in self._idle else self._idle[0]
        self._idle.remove(worker)
        worker.begin(request)

    def add_first(self, request: _R) -> None:
        """Give `request` to an idle worker, or let it wait for one before all others."""
        if self._idle:
            self._idle.pop(0).begin(request)
        else:
            self._waiting.appendleft(request)

    def discard(self, request: _R) -> None:
        """Forget `request` if it still waits."""
        if request in self._waiting:
            self._waiting.remove(request)

    def set_idle(self, worker: Thinker[_R]) -> None:
        """Note that `worker` is ready for the next request, and give it the one that has waited longest."""
        if self._waiting:
            worker.begin(self._waiting.popleft())
        else:
            self._idle.append(worker)

    def remove(self, worker: Thinker[_R]) -> None:
        """Give no more requests to `worker`."""
        if worker in self._idle:
            self._idle.remove(worker)

    def take_waiting(self) -> list[_R]:
        """Return the requests that wait, and forget them."""
        waiting, self._waiting = list(self._waiting), deque()
        return waiting


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


_READ_SIZE: Final = 64 * 1024
_KILL_TIMEOUT: Final = 5.0  # seconds after which killing a worker is given up
_EXIT_TIMEOUT: Final = 1.0  # seconds in which a process must exit after it has closed its output
ABANDONED_TIMEOUT: Final = 10.0
"""Seconds after which a worker is ended that computes a move for which nobody waits any more."""
# Ctrl+C in the terminal is meant for the match, which ends its workers itself
if sys.platform == "win32":
    _OWN_SESSION: Final[dict[str, Any]] = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
else:
    _OWN_SESSION: Final[dict[str, Any]] = {"start_new_session": True}


class Worker:
    """A worker that serves `queue`: call `start`, then `run`."""

    def __init__(self, queue: ThinkingQueue[Request]) -> None:
        self.has_answered = False
        self.process: trio.Process | None = None
        self._usage: psutil.Process | None = None
        self._queue = queue
        self._outgoing, self._messages = trio.open_memory_channel[tuple[Any, ...]](math.inf)
        self._request: Request | None = None
        self._is_ready = False
        self._is_gone = False
        self._problem = ""
        """Why the process was ended; empty if it ended by itself."""

    @property
    def unanswered(self) -> Request | None:
        """The request that it computes or has left unanswered; None if nobody waits for the answer."""
        return None if self._request is None or self._request.is_abandoned else self._request

    @property
    def end_text(self) -> str:
        """How the process has ended, such as "ended with exit code 3"."""
        code = None if self.process is None else self.process.returncode
        return self._problem or ("could not be ended" if code is None else exit_text(code))

    def begin(self, request: Request) -> None:
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
        self._send("move", player.key, player.strategy, generator, request.state, player.wait)
        request.begin(self._cpu_stopwatch())

    def forget(self, player: PoolPlayer) -> None:
        """Tell the process to forget `player`."""
        self._send("end", player.key)

    def is_computing(self, request: Request) -> bool:
        """Return whether the process has `request` and may still answer it."""
        return self._request is request and not self._is_gone

    async def end_unless_answered(self, request: Request) -> None:
        """End the process if it has not answered `request` after ABANDONED_TIMEOUT seconds."""
        with trio.move_on_after(ABANDONED_TIMEOUT):
            await request.is_done.wait()
        if self.is_computing(request) and self.process is not None:
            self._problem = f"did not answer for {ABANDONED_TIMEOUT:g} s"
            self.process.kill()

    def _send(self, *message: Any) -> None:
        if not self._is_gone:
            self._outgoing.send_nowait(message)

    def _cpu_stopwatch(self) -> Callable[[], float | None]:
        """Return a function that returns the processor time in seconds that the process has spent since now."""
        before = self._cpu_seconds()

        def elapsed() -> float | None:
            now = self._cpu_seconds()
            return None if now is None or before is None else now - before

        return elapsed

    def _cpu_seconds(self) -> float | None:
        if self.process is None:
            return None
        try:
            if self._usage is None:  # kept: making it costs more than asking it, and it is asked for every move
                self._usage = psutil.Process(self.process.pid)
            times = self._usage.cpu_times()
        except psutil.Error:  # it has ended
            return None
        return times.user + times.system

    async def start(self) -> None:
        """Start the process. Raises OSError. If this succeeds, `run` must be called next."""
        self.process = await trio.lowlevel.open_process(
            # -P: the working directory may contain a module with the name of one that we import
            [*own_python(), "-P", "-m", "spielleiter.match.builtin_process"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=own_variables(),  # a program can read them
            **_OWN_SESSION,
        )

    async def run(self) -> None:
        """Talk to the process until it ends, or end it when cancelled. Its unanswered request is interrupted."""
        process = self.process
        assert process is not None
        has_closed_output = False
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._write, process)
                has_closed_output = await self._read(process)
                nursery.cancel_scope.cancel()
        finally:
            self._is_gone = True
            self._queue.remove(self)
            if self.unanswered is not None:
                # first of all: from now on, the processor time of the process is unknown
                self.unanswered.interrupt()
            with trio.CancelScope(shield=True):
                if has_closed_output:
                    with trio.move_on_after(_EXIT_TIMEOUT):
                        await process.wait()
                    if process.returncode is None:
                        self._problem = "closed its output"
                process.kill()
                with trio.move_on_after(_KILL_TIMEOUT):
                    await process.wait()
                for stream in (process.stdin, process.stdout):
                    assert stream is not None
                    await stream.aclose()

    async def _write(self, process: trio.Process) -> None:
        assert process.stdin is not None
        async for message in self._messages:
            try:
                await process.stdin.send_all(encode(message))
            except trio.BrokenResourceError:
                process.kill()  # it cannot get another request, but what it has written is still read
                return

    async def _read(self, process: trio.Process) -> bool:
        """Take the answers of the process; return whether it has closed its output, not written something else."""
        assert process.stdout is not None
        decoder = Decoder()
        while data := await _receive(process.stdout):
            try:
                for message in decoder.feed(data):
                    self._take(message)
                    self._queue.set_idle(self)
            except BadMessageError:
                self._problem = "wrote something that is not an answer"
                return False
        return True

    def _take(self, message: object) -> None:
        """Take a message of the process. Raises BadMessageError if it is not the one that is expected now."""
        match message:
            case None if not self._is_ready:
                self._is_ready = True
            case (
                (move, float() as seconds, float() as cpu_seconds, str() as problem, bool() as was_cut),
                bytes() as generator,
            ) if self._request is not None:
                self._answer(self._request, (move, seconds, cpu_seconds, problem, was_cut), generator)
            case _:
                raise BadMessageError

    def _answer(self, request: Request, thought: tuple[Move | None, float, float, str, bool], generator: bytes) -> None:
        move, seconds, cpu_seconds, problem, was_cut = thought
        assert request.started_at is not None
        self._request = None
        self.has_answered = True
        request.player.generator = generator
        request.player.cut_searches += was_cut
        request.finish(ChosenMove(move, request.started_at, seconds, cpu_seconds, problem))


async def _receive(stream: trio.abc.ReceiveStream) -> bytes | bytearray:
    """Return what a worker has written; nothing if it has ended."""
    try:
        return await stream.receive_some(_READ_SIZE)
    except trio.BrokenResourceError:  # how Windows reports the end of a killed process
        return b""


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


def builtin_strategy(command: str) -> str | None:
    """Return the name of the strategy for a built-in player without a process; None for any other command.

    Strategies that misbehave on purpose also give None, since they need a connection to do so.
    """
    name = command.removeprefix(BUILTIN)
    kind = STRATEGIES.get(name)
    return name if command.startswith(BUILTIN) and kind is not None and kind.choose and not kind.is_bad else None


class BuiltinPlayer:
    """A player in a room of the match's server, which is the `Sink` of its own peer. It plays while `run` runs.

    It has the attributes of a `Program` (programs/program.py), with the values of a process that never outlives
    its game.
    """

    problem = ""
    """Why the player could not continue; empty if there was no problem."""
    pids: tuple[int, ...] = ()
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
        self._player = player
        self._peer = Peer(label, self, room.edition)
        self._peer.reads_packets = False
        self._peer.has_delivery_timeout = False
        self._queue, self._requests = trio.open_memory_channel[SentCallback](1)
        self._playing = trio.CancelScope()

    async def run(self, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Take the seat and play until the game is over."""
        member = self._server.lobby.connect(self._peer)
        try:
            task_status.started()
            self._server.lobby.take_reserved_slot(member, self._room, self._room.player_slots[self._seat])
            with self._playing:
                await self._play(member)
        finally:
            self._server.lobby.drop(member)
            self._player.close()
            self.exited.set()
            self.gone.set()

    async def _play(self, member: Member) -> None:
        async for on_sent in self._requests:
            chosen = await self._player.choose_move(self._room.state, on_sent)
            self.cpu_seconds += chosen.cpu_seconds
            self._answer(member, chosen)
            if self.problem:
                return

    def _answer(self, member: Member, chosen: ChosenMove) -> None:
        now = trio.current_time()
        if self._room.id not in member.rooms:  # the game has ended in the meantime
            return
        if chosen.move is None:
            self.problem, self.returncode = chosen.problem, 1  # as a separate process would end
            self._server.lobby.drop(member)
            return
        message = RoomMessage(self._room.id, MoveData(chosen.move))
        try:
            dispatch(self._server.lobby, member, message, Arrival(min(now, chosen.started_at + chosen.seconds)), now)
        except RequestError:  # the room has already informed everybody
            self._server.lobby.drop(member)

    @property
    def interruptions(self) -> int:
        """How often the process that computed a move ended, so that another one had to compute the move again."""
        return self._player.interruptions

    @property
    def cut_searches(self) -> int:
        """How many searches ended early because their time was used up, so that the player was weaker than usual."""
        return self._player.cut_searches

    @property
    def seconds_lost(self) -> float:
        """How many seconds of the current or last move this machine took: see `PoolPlayer`."""
        return self._player.seconds_lost

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
