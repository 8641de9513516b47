"""Built-in players that take part inside the match, without a process or a connection of their own.

Invariants: a player thinks in a worker process, never in the event loop; its time is what the worker measured for its
move, not what it waited for a worker. The same seed and positions give the same moves, however many workers there are.
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

_HEAD: Final = struct.Struct("!I")
_READ: Final = 64 * 1024


def builtin_strategy(command: str) -> str | None:
    """The strategy that plays for `command` without a process; None for programs, and for players that misbehave.

    Those that misbehave do so on a connection, so they need one.
    """
    name = command.removeprefix(BUILTIN)
    kind = STRATEGIES.get(name)
    return name if command.startswith(BUILTIN) and kind is not None and kind.choose and not kind.is_bad else None


@dataclass(frozen=True, slots=True)
class Thought:
    """A move, and the seconds it took: by the clock, and of a processor. `problem` says why there is no move."""

    move: Move | None
    seconds: float
    cpu_seconds: float
    problem: str = ""


class Workers:
    """Processes that think; each is started when there are more players than workers, up to one for each core."""

    def __init__(self, nursery: trio.Nursery) -> None:
        self._nursery = nursery
        self._workers: list[_Worker] = []
        self._most = os.cpu_count() or 1
        self._count = 0

    async def new_player(self, strategy: str, seed: int) -> Thinker:
        """A player with a worker that it keeps. Raises OSError."""
        idle = [worker for worker in self._workers if not worker.players]
        if not idle and len(self._workers) < self._most:
            worker = _Worker()
            self._workers.append(worker)
            await self._nursery.start(worker.run)
        else:
            worker = idle[0] if idle else min(self._workers, key=lambda each: each.players)
        self._count += 1
        return Thinker(worker, self._count, strategy, seed)


class Thinker:
    """One player's place in a worker; `close` gives it up."""

    def __init__(self, worker: _Worker, key: int, strategy: str, seed: int) -> None:
        self._worker = worker
        self._key = key
        worker.players += 1
        worker.tell(("new", key, strategy, seed))

    async def think(self, state: State) -> Thought:
        """The player's move. Raises MachineError if the worker is gone."""
        return await self._worker.ask(self._key, state)

    def close(self) -> None:
        self._worker.players -= 1
        self._worker.tell(("end", self._key, None, None))


class _Worker:
    """A process of `spielleiter.match.games.thinking_process`, and the task that reads its answers."""

    def __init__(self) -> None:
        self.players = 0
        self._process: trio.Process | None = None
        self._send, self._requests = trio.open_memory_channel[tuple[Any, ...]](1024)
        self._waiting: dict[int, tuple[trio.Event, list[Thought]]] = {}
        self._is_gone = False

    def tell(self, message: tuple[Any, ...]) -> None:
        if not self._is_gone:
            self._send.send_nowait(message)

    async def ask(self, key: int, state: State) -> Thought:
        event, answers = self._waiting[key] = trio.Event(), []
        self.tell(("move", key, state, None))
        if not self._is_gone:
            await event.wait()
        del self._waiting[key]
        if not answers:
            raise MachineError("a process that thinks for built-in players has ended")
        return answers[0]

    async def run(self, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        process = self._process = await trio.lowlevel.open_process(
            # -P: the working directory may hold a module of a pupil's with the name of one of ours
            [sys.executable, "-P", "-m", "spielleiter.match.games.thinking_process"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,  # a signal from the terminal is for the match, which ends its workers itself
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
            with trio.CancelScope(shield=True):
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
        while data := await process.stdout.receive_some(_READ):
            buffer += data
            while len(buffer) >= _HEAD.size:
                (size,) = _HEAD.unpack_from(buffer)
                end = _HEAD.size + size
                if len(buffer) < end:
                    break
                key, thought = pickle.loads(bytes(buffer[_HEAD.size : end]))  # noqa: S301 - from our own process
                del buffer[:end]
                event, answers = self._waiting[key]
                answers.append(Thought(*thought))
                event.set()


class BuiltinPlayer:
    """Sits in a room of our own server as a peer (its `Sink`), and answers requests; runs as long as `run` does.

    The attributes are those of a program (match/programs/program.py) that has started, plays, and ends with its game.
    """

    problem = ""
    """Why it could not go on, if it could not."""
    pids: tuple[int, ...] = ()
    leftovers: tuple[Any, ...] = ()
    returncode: int | None = None
    was_ended = False
    keeper_stops = 0
    has_stopped_keeper = False

    def __init__(self, server: Server, room: Room, seat: int, thinker: Thinker, label: str) -> None:
        self.cpu_seconds = 0.0
        self.exited = trio.Event()
        self.gone = trio.Event()
        self._server = server
        self._room = room
        self._seat = seat
        self._thinker = thinker
        self._peer = Peer(label, self, room.edition)
        self._peer.reads_packets = False
        self._send, self._asked = trio.open_memory_channel[float](1)

    async def run(self, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Take the seat and play until the room is over."""
        member = self._server.lobby.connect(self._peer)
        try:
            task_status.started()
            self._server.lobby.take_reserved_slot(member, self._room, self._room.player_slots[self._seat])
            async for asked_at in self._asked:
                thought = await self._thinker.think(self._room.state)
                self.cpu_seconds += thought.cpu_seconds
                self._answer(member, thought, asked_at)
                if self.problem:
                    break
        finally:
            self._server.lobby.drop(member)
            self._thinker.close()
            self.exited.set()
            self.gone.set()

    def _answer(self, member: Member, thought: Thought, asked_at: float) -> None:
        now = trio.current_time()
        if self._room.id not in member.rooms:  # over meanwhile
            return
        if thought.move is None:
            self.problem, self.returncode = thought.problem, 1  # as a process of its own would end
            self._server.lobby.drop(member)
            return
        message = RoomMessage(self._room.id, MoveData(thought.move))
        try:
            dispatch(self._server.lobby, member, message, Arrival(min(now, asked_at + thought.seconds)), now)
        except RequestError:  # the room has told everybody
            self._server.lobby.drop(member)

    @property
    def seconds_spent(self) -> float:
        return self.cpu_seconds

    async def end(self, _patience: float) -> None:
        """Nothing to wait for: it ends with its game."""
        self._send.close()
        await self.exited.wait()

    # -- Sink -------------------------------------------------------------------------------------------------------

    def send_nowait(self, _packet: bytes, on_sent: SentCallback | None = None) -> None:
        """What a room tells is in its state; a request is what comes with somebody who wants to know when."""
        if on_sent is not None:
            now = trio.current_time()
            on_sent(now)
            self._send.send_nowait(now)

    def end_nowait(self, *, with_end_tag: bool = True) -> None: ...

    def has_unread_input(self) -> bool:
        return False


@asynccontextmanager
async def open_workers() -> AsyncIterator[Workers]:
    """Nothing is started before the first player."""
    async with trio.open_nursery() as nursery:
        yield Workers(nursery)
        nursery.cancel_scope.cancel()
