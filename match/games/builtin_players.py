"""Built-in players that play inside the match, without a process or a connection for each of them.

Invariants: moves are chosen in worker processes (`thinking_pool.py`), never in the event loop. A request counts as
delivered when a worker begins with it, so no time limit runs while all workers are busy. A player's think time is what
the worker measured for its move.
"""

from __future__ import annotations

from typing import Any

import trio

from spielleiter.client.strategies import STRATEGIES
from spielleiter.match.games.thinking_pool import ChosenMove, PoolPlayer
from spielleiter.programs.program import BUILTIN
from spielleiter.protocol.messages import MoveData, RoomMessage
from spielleiter.server.app import Server
from spielleiter.server.core.clock import Arrival
from spielleiter.server.core.dispatch import dispatch
from spielleiter.server.core.lobby import Member
from spielleiter.server.core.room import Peer, Room, SentCallback
from spielleiter.server.errors import RequestError


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
        """How many seconds of the current or last move this machine took: see `ThinkTime`."""
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
