"""Built-in players that play inside the match, without a process or a connection for each of them.

Invariants: moves are chosen in worker processes, never in the event loop. A player's think time is what the worker
measured for its move, without the time that it waited for a worker. The same seed and positions give the same moves,
for any number of workers.
"""

from __future__ import annotations

import os
import pickle
import struct
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final

import trio

from spielleiter.client.strategies import STRATEGIES
from spielleiter.game.api import Move, State
from spielleiter.match.errors import MachineError
from spielleiter.match.programs.program import BUILTIN
from spielleiter.protocol.messages import MoveData, RoomMessage
from spielleiter.server.app import Server
from spielleiter.server.core.clock import Arrival
from spielleiter.server.core.dispatch import dispatch
from spielleiter.server.core.member import Member
from spielleiter.server.core.peer import Peer, SentCallback
from spielleiter.server.core.room import Room
from spielleiter.server.errors import RequestError
from spielleiter.server.runtime.own_python import own_python

_HEAD: Final = struct.Struct("!I")
_READ_SIZE: Final = 64 * 1024
_KILL_TIMEOUT: Final = 5.0  # seconds after which killing a worker is given up
# Ctrl+C in the terminal is meant for the match, which ends its workers itself
if sys.platform == "win32":
    _OWN_SESSION: Final[dict[str, Any]] = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
else:
    _OWN_SESSION: Final[dict[str, Any]] = {"start_new_session": True}


def builtin_strategy(command: str) -> str | None:
    """Return the name of the strategy for a built-in player without a process; None for any other command.

    Strategies that misbehave on purpose also give None, since they need a connection to do so.
    """
    name = command.removeprefix(BUILTIN)
    kind = STRATEGIES.get(name)
    return name if command.startswith(BUILTIN) and kind is not None and kind.choose and not kind.is_bad else None


@dataclass(frozen=True, slots=True)
class ChosenMove:
    """A move with its wall-clock and processor time in seconds. `problem` says why there is no move."""

    move: Move | None
    seconds: float
    cpu_seconds: float
    problem: str = ""


class WorkerPool:
    """The worker processes of a match.

    A worker is started when a new player finds no idle one, up to one worker for each processor core.
    """

    def __init__(self, nursery: trio.Nursery) -> None:
        self._nursery = nursery
        self._workers: list[_Worker] = []
        self._max_workers = os.cpu_count() or 1
        self._player_count = 0

    async def new_player(self, strategy: str, seed: int) -> WorkerPlayer:
        """Return a player that uses one worker for all of its moves. Raises OSError."""
        idle = [worker for worker in self._workers if not worker.players]
        if not idle and len(self._workers) < self._max_workers:
            worker = _Worker()
            self._workers.append(worker)
            await self._nursery.start(worker.run)
        else:
            worker = idle[0] if idle else min(self._workers, key=lambda each: each.players)
        self._player_count += 1
        return WorkerPlayer(worker, self._player_count, strategy, seed)


class WorkerPlayer:
    """One player in a worker process, until `close` is called."""

    def __init__(self, worker: _Worker, key: int, strategy: str, seed: int) -> None:
        self._worker = worker
        self._key = key
        worker.players += 1
        worker.send(("new", key, strategy, seed))

    async def choose_move(self, state: State) -> ChosenMove:
        """Return the player's move. Raises MachineError if the worker is gone."""
        return await self._worker.request_move(self._key, state)

    def close(self) -> None:
        self._worker.players -= 1
        self._worker.send(("end", self._key, None, None))


class _Worker:
    """A process that runs `spielleiter.match.games.thinking_process`, and the tasks that talk to it."""

    def __init__(self) -> None:
        self.players = 0
        self._process: trio.Process | None = None
        self._queue, self._requests = trio.open_memory_channel[tuple[Any, ...]](1024)
        self._waiting: dict[int, tuple[trio.Event, list[ChosenMove]]] = {}
        self._is_gone = False

    def send(self, message: tuple[Any, ...]) -> None:
        if not self._is_gone:
            self._queue.send_nowait(message)

    async def request_move(self, key: int, state: State) -> ChosenMove:
        event, answers = self._waiting[key] = trio.Event(), []
        self.send(("move", key, state, None))
        if not self._is_gone:
            await event.wait()
        del self._waiting[key]
        if not answers:
            raise MachineError("a process that thinks for built-in players has ended")
        return answers[0]

    async def run(self, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
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
            for event, _ in self._waiting.values():
                event.set()
            process.kill()
            with trio.move_on_after(_KILL_TIMEOUT, shield=True):
                await process.wait()

    async def _write(self, process: trio.Process) -> None:
        assert process.stdin is not None
        async for message in self._requests:
            data = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
            try:
                await process.stdin.send_all(_HEAD.pack(len(data)) + data)
            except trio.BrokenResourceError:
                return

    async def _read(self, process: trio.Process) -> None:
        assert process.stdout is not None
        buffer = bytearray()
        while data := await process.stdout.receive_some(_READ_SIZE):
            buffer += data
            while len(buffer) >= _HEAD.size:
                (size,) = _HEAD.unpack_from(buffer)
                end = _HEAD.size + size
                if len(buffer) < end:
                    break
                key, thought = pickle.loads(bytes(buffer[_HEAD.size : end]))  # noqa: S301 - from our own child process
                del buffer[:end]
                event, answers = self._waiting[key]
                answers.append(ChosenMove(*thought))
                event.set()


class BuiltinPlayer:
    """A player in a room of the match's server, which is the `Sink` of its own peer. It plays while `run` runs.

    It has the attributes of a `Program` (match/programs/program.py), with the values of a process that never outlives
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

    def __init__(self, server: Server, room: Room, seat: int, player: WorkerPlayer, label: str) -> None:
        self.cpu_seconds = 0.0
        self.exited = trio.Event()
        self.gone = trio.Event()
        self._server = server
        self._room = room
        self._seat = seat
        self._player = player
        self._peer = Peer(label, self, room.edition)
        self._peer.reads_packets = False
        self._queue, self._requests = trio.open_memory_channel[float](1)

    async def run(self, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Take the seat and play until the game is over."""
        member = self._server.lobby.connect(self._peer)
        try:
            task_status.started()
            self._server.lobby.take_reserved_slot(member, self._room, self._room.player_slots[self._seat])
            async for requested_at in self._requests:
                chosen = await self._player.choose_move(self._room.state)
                self.cpu_seconds += chosen.cpu_seconds
                self._answer(member, chosen, requested_at)
                if self.problem:
                    break
        finally:
            self._server.lobby.drop(member)
            self._player.close()
            self.exited.set()
            self.gone.set()

    def _answer(self, member: Member, chosen: ChosenMove, requested_at: float) -> None:
        now = trio.current_time()
        if self._room.id not in member.rooms:  # the game has ended in the meantime
            return
        if chosen.move is None:
            self.problem, self.returncode = chosen.problem, 1  # as a separate process would end
            self._server.lobby.drop(member)
            return
        message = RoomMessage(self._room.id, MoveData(chosen.move))
        try:
            dispatch(self._server.lobby, member, message, Arrival(min(now, requested_at + chosen.seconds)), now)
        except RequestError:  # the room has already informed everybody
            self._server.lobby.drop(member)

    @property
    def cpu_seconds_so_far(self) -> float:
        return self.cpu_seconds

    async def end(self, _grace_period: float) -> None:
        """End at once: there is nothing to wait for."""
        self._queue.close()
        await self.exited.wait()

    # -- Sink -------------------------------------------------------------------------------------------------------

    def send_nowait(self, _packet: bytes, on_sent: SentCallback | None = None) -> None:
        """Take a packet with `on_sent` for a move request; ignore all others, since the room's state has the rest."""
        if on_sent is not None:
            now = trio.current_time()
            on_sent(now)
            self._queue.send_nowait(now)

    def end_nowait(self, *, with_end_tag: bool = True) -> None: ...

    def has_unread_input(self) -> bool:
        return False


@asynccontextmanager
async def open_worker_pool() -> AsyncIterator[WorkerPool]:
    """Open a pool of workers; no process is started before the first player needs one."""
    async with trio.open_nursery() as nursery:
        yield WorkerPool(nursery)
        nursery.cancel_scope.cancel()
