"""The match's own server: one for all its games, and closed.

Invariants: each program of a game has a port of its own, on which it can take its own seat and nothing else; there is
no administration, and ids and codes are secret. A game is told its own events only, each with the program at whose
connection it happened; its logs hold nothing of other games and are bounded.
"""

from __future__ import annotations

import gc
import secrets
import socket
from collections.abc import AsyncIterator, Callable, Collection, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Final, Protocol, TypeAlias

import trio

from spielleiter.game.api import State
from spielleiter.match.games.builtin_players import BuiltinPlayer, Workers, open_workers
from spielleiter.match.plan import PlannedGame
from spielleiter.match.programs.socket_owners import has_socket, inode_of_peer
from spielleiter.match.records.game_files import GameLogs
from spielleiter.match.records.wire_log import LoggedWire
from spielleiter.match.setup import MatchSetup
from spielleiter.protocol.dialect import Dialect
from spielleiter.protocol.messages import Slot
from spielleiter.server import events
from spielleiter.server.app import Server
from spielleiter.server.config.config import Config
from spielleiter.server.core.clock import TimeLimits
from spielleiter.server.core.dedicated_port import DedicatedPort
from spielleiter.server.core.policy import Edition
from spielleiter.server.core.random_sources import start_source
from spielleiter.server.core.room import Phase, Room
from spielleiter.server.net.accepting import accept
from spielleiter.server.net.sockets import notice_vanished
from spielleiter.server.net.wire import SocketWire, stamp_arrivals
from spielleiter.server.record.replay import load_starting_states
from spielleiter.server.runtime.garbage import deferred_gc

MOST_CONNECTIONS: Final = 4
"""Connections of one program at a time; it needs one."""
MOST_CALLS: Final = 64
"""Connections of one program in one game; then its port is closed."""

GAMES_PER_COLLECTION: Final = 50
"""After so many games the garbage collector looks at everything that came since the start."""

_HOST: Final = "127.0.0.1"
_BACKLOG: Final = 16
_SPARE: Final = 3600.0  # seconds that a reservation outlives the time in which it has to be used

Listener: TypeAlias = Callable[[events.ServerEvent, int | None], None]
"""Is told what happened in its game, and at whose connection: a program's index, or None."""


def own_config(setup: MatchSetup) -> Config:
    """The configuration of the match's own server. Raises TypeError for an option that is none."""
    return Config(
        port=0,
        password=secrets.token_urlsafe(32),  # nobody is asked for it, and it is good for nothing
        default_game=setup.game_type,
        log_format="json",
        log_level="error",
        reservation_timeout=setup.timeouts.start + _SPARE,
        editions=setup.editions,
        **setup.server_options,
    )


def limits_of(setup: MatchSetup, config: Config, program: int) -> TimeLimits:
    """How long `program` may think, whether it is held to it or not."""
    entrant = setup.entrants[program]
    soft, hard = entrant.soft_timeout or config.soft_timeout, entrant.hard_timeout or config.hard_timeout
    return TimeLimits(entrant.time_factor * soft, entrant.time_factor * hard)


class MatchServer:
    """Opens rooms for the games of a match, one or many at a time; see `open_match_server`."""

    def __init__(self, setup: MatchSetup, nursery: trio.Nursery, workers: Workers) -> None:
        self._setup = setup
        self._workers = workers
        self._nursery = nursery
        self._server: Server | None = None
        self._games = 0
        self._openings: dict[tuple[str, int], State] = {}
        self._rooms: dict[str, InternalRoom] = {}
        self._callers: dict[str, tuple[InternalRoom, int]] = {}
        """By a connection's label: its game, and its program."""

    @asynccontextmanager
    async def open_room(
        self, planned: PlannedGame, traces: GameLogs, listener: Listener
    ) -> AsyncIterator[InternalRoom]:
        """A room for `planned`; leaving closes it and ends all connections. Raises OSError and StartError.

        `traces` are told what happens in the room, and are the caller's to save.
        """
        server = self._server or self._start()
        edition = server.editions[self._setup.game_type]
        traces.is_own = True
        with _listening() as first, _listening() as second:
            slots = [
                Slot(self._setup.names[program], can_timeout=self._setup.entrants[program].can_timeout)
                for program in planned.seats
            ]
            room = server.lobby.open_prepared(edition, slots, self._start_of(planned, edition))
            for player_slot, program in zip(room.player_slots, planned.seats, strict=True):
                if self._setup.entrants[program].can_timeout:
                    player_slot.clock.next_limits = limits_of(self._setup, server.config, program)
            own = InternalRoom(room, planned.seats, (first, second), traces, listener)
            self._rooms[room.id] = own
            try:
                async with trio.open_nursery() as nursery:
                    for program in (0, 1):
                        nursery.start_soon(self._accept, server, own, program, planned.game, nursery)
                    yield own
                    nursery.cancel_scope.cancel()
            finally:
                own.cancel()
                del self._rooms[room.id]
                self._tidy_up()

    def _tidy_up(self) -> None:
        """Collect what refers to itself now and then: while games are played, nobody else does for minutes."""
        self._games += 1
        if self._games % GAMES_PER_COLLECTION == 0:
            gc.collect()

    def _start(self) -> Server:
        server = self._server = Server(own_config(self._setup), _Nowhere())
        server.stream.subscribe(self._hear)
        self._nursery.start_soon(server.run, [], None)
        return server

    def _start_of(self, planned: PlannedGame, edition: Edition) -> State:
        opening = planned.opening
        if opening is None:
            return edition.game.new_state(start_source(planned.seed)())
        key = opening.path, opening.turn
        if key not in self._openings:
            states = load_starting_states(Path(opening.path), opening.turn, {edition.game_type: edition})
            self._openings[key] = states[edition.name]
        return self._openings[key]

    async def new_player(self, own: InternalRoom, program: int, strategy: str, seed: int) -> BuiltinPlayer:
        """A built-in player for the seat of `program` that needs no connection. Raises OSError."""
        assert self._server is not None
        thinker = await self._workers.new_player(strategy, seed)
        return BuiltinPlayer(self._server, own.room, own.seats.index(program), thinker, f"program{program + 1}")

    # -- connections ------------------------------------------------------------------------------------------------

    async def _accept(self, server: Server, own: InternalRoom, program: int, game: int, nursery: trio.Nursery) -> None:
        """Serve whoever comes to the port of this program, as long as it keeps within its bounds."""
        listening = own.sockets[program]
        port = DedicatedPort(own.room, own.seats.index(program))
        open_count = 0

        async def serve(sock: socket.socket, label: str, address: str) -> None:
            nonlocal open_count
            try:
                notice_vanished(sock)
                wire = LoggedWire(SocketWire(sock), own.traces.wire, f"program {program + 1}")
                await server.serve_wire(wire, address, label=label, dedicated_port=port)
            finally:
                open_count -= 1
                del self._callers[label]

        for number in range(1, MOST_CALLS + 1):
            sock, address, _ = await accept(listening)
            shown = f"{address[0]}:{address[1]}"
            thief = await self._thief(own, program, sock)
            if thief is not None:
                thief[0].refuse(thief[1], shown, "it connected to a port that is not its own")
                sock.close()
                continue
            if open_count >= MOST_CONNECTIONS:
                own.refuse(program, shown, f"a program has no more than {MOST_CONNECTIONS} connections at a time")
                sock.close()
                continue
            open_count += 1
            label = f"game{game}-program{program + 1}-{number}"
            self._callers[label] = own, program
            nursery.start_soon(serve, sock, label, shown)
            await trio.lowlevel.checkpoint()
        own.refuse(program, "", f"a program connects no more than {MOST_CALLS} times in a game; its port is closed")
        listening.close()

    async def _thief(self, own: InternalRoom, program: int, sock: socket.socket) -> tuple[InternalRoom, int] | None:
        """Whose connection this is, if it is known to be another program's of this match than that of the port."""
        inode = inode_of_peer(sock)
        if inode is None or has_socket(own.members[program].pids, inode):
            return None
        everybody = [(each, other) for each in self._rooms.values() for other in (0, 1)]
        others = [each for each in everybody if each != (own, program)]
        for room, other in others:
            if has_socket(room.members[other].pids, inode):
                return room, other
        for room, other in [(own, program), *others]:  # processes that were just being started are found so
            if has_socket(await trio.to_thread.run_sync(room.members[other].find_all), inode):
                return None if (room, other) == (own, program) else (room, other)
        return None

    # -- events -----------------------------------------------------------------------------------------------------

    def _hear(self, event: events.ServerEvent) -> None:
        caller = self._callers.get(getattr(event, "connection", ""))
        own = self._rooms.get(getattr(event, "room", ""))
        if own is not None:
            own.hear(event, None if caller is None else caller[1])
        elif caller is not None:
            caller[0].hear(event, caller[1])
        elif isinstance(event, events.InternalError):
            for each in self._rooms.values():
                each.hear(event, None)


class Family(Protocol):
    """The processes of one program."""

    @property
    def pids(self) -> Collection[int]:
        """Those that are found at once."""
        ...

    def find_all(self) -> Collection[int]:
        """All that can be found; takes a while and is called in a thread."""
        ...


class _Nobody:
    pids: tuple[int, ...] = ()

    def find_all(self) -> tuple[int, ...]:
        return ()


class InternalRoom:
    """A room of our own server for one game; `seats` by seat the programs, `sockets` by program."""

    def __init__(
        self,
        room: Room,
        seats: tuple[int, int],
        sockets: tuple[socket.socket, socket.socket],
        traces: GameLogs,
        listener: Listener,
    ) -> None:
        self.room = room
        self.seats = seats
        self.sockets = sockets
        self.traces = traces
        self._listener = listener
        self.members: list[Family] = [_Nobody(), _Nobody()]
        """By program: its processes, once it has any."""
        codes = {seats[player_slot.seat]: player_slot.reservation or "" for player_slot in room.player_slots}
        self.reservations = codes[0], codes[1]
        """By program."""
        self.addresses = _address(sockets[0]), _address(sockets[1])
        """By program."""

    @property
    def dialect(self) -> Dialect:
        return self.room.edition.dialect

    @property
    def state(self) -> State:
        """The position that the game has come to."""
        return self.room.state

    def cancel(self) -> None:
        """Call the game off, unless it is over."""
        if self.room.phase is not Phase.OVER:
            self.room.cancel()

    def refuse(self, program: int, address: str, reason: str) -> None:
        """Tell that a connection of `program` was not accepted."""
        self.hear(events.ConnectionRefused(address, "connections", reason), program)

    def hear(self, event: events.ServerEvent, program: int | None) -> None:
        self.traces.log.add(event)
        self._listener(event, program)


@asynccontextmanager
async def open_match_server(setup: MatchSetup) -> AsyncIterator[MatchServer]:
    """The closed server of a match. Nothing is loaded before the first game."""
    with deferred_gc():
        async with open_workers() as workers, trio.open_nursery() as nursery:
            yield MatchServer(setup, nursery, workers)
            nursery.cancel_scope.cancel()


@contextmanager
def _listening() -> Iterator[socket.socket]:
    with socket.socket() as sock:
        sock.setblocking(False)
        stamp_arrivals(sock)
        sock.bind((_HOST, 0))
        sock.listen(_BACKLOG)
        yield sock


def _address(sock: socket.socket) -> tuple[str, int]:
    host, port = sock.getsockname()
    return str(host), int(port)


class _Nowhere:
    """A log that nobody reads: every game has one of its own."""

    def write(self, line: str, /) -> None: ...

    def flush(self) -> None: ...

    def isatty(self) -> bool:
        return False
