"""The match's own server: one for all of its games, closed to everybody else.

Invariants: each program of a game has a port of its own, on which it can take its own seat and do nothing else. There
is no administrator, and ids and reservation codes are secret. A game receives only its own events, each with the
program on whose connection it happened. The logs of a game contain nothing of other games and have a maximum size.
"""

from __future__ import annotations

import copy
import gc
import itertools
import math
import os
import secrets
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final, Protocol, TypeAlias

import trio

from spielleiter.game.api import State
from spielleiter.match.builtin_players import BuiltinPlayer, PoolPlayer, ThinkingPool, open_thinking_pool
from spielleiter.match.game_folder import GameLogs, LoggedWire
from spielleiter.match.live_thinking import LiveThinking
from spielleiter.match.plan import MatchSetup, PlannedGame
from spielleiter.programs.linux_processes import MOST_KEPT_FILES
from spielleiter.programs.sandbox.choice import choose_sandbox
from spielleiter.programs.sandbox.sandbox import Sandbox, SandboxSettings
from spielleiter.programs.sandbox.sandbox_run import SandboxRun, open_run
from spielleiter.programs.socket_owners import (
    Attribution,
    FarSocket,
    Look,
    Sign,
    attribute,
    far_socket,
    find_holders,
    has_socket,
    holders,
    look,
)
from spielleiter.protocol.dialect import PACKET_INDENT, Dialect
from spielleiter.protocol.messages import Memento, ObserveRequest, RoomData, Slot
from spielleiter.server import events
from spielleiter.server.app import Server
from spielleiter.server.config import Config
from spielleiter.server.core import dispatch
from spielleiter.server.core.clock import TimeLimits
from spielleiter.server.core.lobby import Lobby, start_source
from spielleiter.server.core.policy import Edition
from spielleiter.server.core.room import DedicatedPort, Peer, Phase, Room, SentCallback
from spielleiter.server.garbage import deferred_gc
from spielleiter.server.net.sockets import accept, connections_possible, notice_vanished
from spielleiter.server.net.wire import SocketWire, stamp_arrivals
from spielleiter.server.replay import load_starting_states, replay_pieces

MAX_CONNECTIONS: Final = 4
"""The maximum number of open connections of one program; it needs one."""
SHARE_OF_LIMIT: Final = 0.9
"""The share of its limit after which a built-in player ends its search, so that its move is in time."""
MAX_CONNECTIONS_PER_GAME: Final = 64
"""The maximum number of connections of one program in one game; after that its port is closed."""

GAMES_PER_COLLECTION: Final = 200
"""The number of games after which everything allocated since the start is garbage-collected, in case that is needed."""
_MOST_YOUNG: Final = 10_000
"""How many objects more make the garbage collector look at the new ones: those of about ten games."""

MAX_REMEMBERED: Final = 4096
"""How many bytes are remembered of what a program has sent instead of a move."""
MAX_ASKED_ABOUT: Final = 64
"""The maximum number of connections to a port whose owner is not known after the first look."""

_FOREIGN: Final = "it connected to a port that is not its own"
_CLOSED: Final = "it was closed before it was known whose it is"
_TOO_MANY: Final = "too many connections of unknown processes"
_PAUSES: Final = (0.0, 0.05, 0.15, 0.3, 0.5)  # seconds before looking for the owner of a connection
_LOOKS: Final = 4
"""The number of looks after each pause: a program may overlook what another one moves about."""
_AGREEING: Final = 3
"""The number of times that must agree that a connection can be nobody else's."""
_DESCRIPTORS_PER_GAME: Final = 2 * (2 * MAX_ASKED_ABOUT + MAX_CONNECTIONS + MOST_KEPT_FILES + 16)
"""The files that the connections to the ports of a game, its programs, their threads and its logs take at most."""
_START_TIMEOUT: Final = 5.0  # seconds for a process that has connected to be known
_HOST: Final = "127.0.0.1"
_BACKLOG: Final = 128
_RESERVATION_MARGIN: Final = 3600.0  # seconds that a reservation stays valid after it has to be used
_ROOM_PACKET: Final = b"\n  <room "
_PACKETS_PER_CHECKPOINT: Final = 8

Watch: TypeAlias = Callable[..., Awaitable[None]]
"""Shows the running games of a match: called with its server and, as the keyword `task_status`, the status of a task,
whose `started` says that the games may begin. It runs until it is cancelled."""
Listener: TypeAlias = Callable[[events.ServerEvent, int | None], None]
"""Called with each event of a game and the program on whose connection it happened, or None."""


async def encode_with_checkpoints(dialect: Dialect, record: Sequence[RoomData]) -> bytes:
    """Encode a replay with an empty room id; after every few packets, other tasks get a chance to run."""
    pieces = []
    for number, piece in enumerate(replay_pieces(dialect, "", record, PACKET_INDENT)):
        pieces.append(piece)
        if number % _PACKETS_PER_CHECKPOINT == 0:
            await trio.lowlevel.checkpoint()
    return b"".join(pieces)


class ReplayRecorder:
    """Observes `room` and keeps its packets, so that they need not be encoded a second time for the replay.

    Nothing is encoded for it, and nothing changes for the players. It has to be created before the game begins.
    """

    def __init__(self, lobby: Lobby, room: Room) -> None:
        self._lobby = lobby
        self._room_id = room.id
        self._packets: list[bytes] = []
        self._peer: Peer | None = Peer("replay", self, room.edition)
        self._peer.reads_packets = False
        dispatch.observe(lobby, self._peer, ObserveRequest(room.id))

    def close(self) -> None:
        """Stop observing."""
        if self._peer is not None:
            self._lobby.drop(self._peer)
            self._peer = None  # which knows this object, so together they would be freed late

    def content(self, record: Sequence[RoomData]) -> bytes | None:
        """Return the replay; None if the packets that were sent are not the whole of `record`, that of the room.

        No packets are sent to players that read none, such as built-in ones, and hints to nobody.
        """
        if len(self._packets) != len(record) or any(isinstance(data, Memento) and data.hints for data in record):
            return None
        own = b'roomId="%s"' % self._room_id.encode()
        packets = (packet.replace(own, b'roomId=""', 1) for packet in self._packets)
        return b"".join([b"<protocol>", *packets, b"\n</protocol>"])

    # -- Sink -------------------------------------------------------------------------------------------------------

    def send_nowait(self, packet: bytes, _on_sent: SentCallback | None = None) -> None:
        if packet.startswith(_ROOM_PACKET):  # not the confirmations
            self._packets.append(packet)

    def end_nowait(self, *, with_end_tag: bool = True) -> None: ...

    def has_unread_input(self) -> bool:
        return False


def match_server_config(setup: MatchSetup) -> Config:
    """Return the configuration of the match's own server. Raises TypeError for an unknown option."""
    return Config(
        port=0,
        password=secrets.token_urlsafe(32),  # unusable: programs' ports do not accept administrators
        default_game=setup.game_type,
        log_format="json",
        log_level="error",
        reservation_timeout=setup.timeouts.start + _RESERVATION_MARGIN,
        editions=setup.editions,
        **setup.server_options,
    )


def limits_of(setup: MatchSetup, config: Config, program: int) -> TimeLimits:
    """Return the time limits of `program`, whether they are enforced or not."""
    entrant = setup.entrants[program]
    soft, hard = entrant.soft_timeout or config.soft_timeout, entrant.hard_timeout or config.hard_timeout
    return TimeLimits(entrant.time_factor * soft, entrant.time_factor * hard)


class MatchServer:
    """The match's own server, which opens rooms for games, one or several at a time; see `open_match_server`."""

    def __init__(
        self, setup: MatchSetup, nursery: trio.Nursery, thinking_pool: ThinkingPool, *, is_watched: bool
    ) -> None:
        self.setup = setup
        """The match whose games it is for."""
        self._is_watched = is_watched
        self._thinking_pool = thinking_pool
        self._nursery = nursery
        self._server: Server | None = None
        self._games = itertools.count(1)
        self._openings: dict[tuple[str, int], State] = {}
        self._rooms: dict[str, InternalRoom] = {}
        self._sandboxes: dict[SandboxSettings, Sandbox] = {}
        self._connections: dict[str, tuple[InternalRoom, int]] = {}
        """The room and the program that each connection belongs to, by the connection's label."""

    def start(self) -> Server:
        """Start the server, unless it runs already, and return it. Raises StartError."""
        if self._server is None:
            self._server = Server(match_server_config(self.setup), _NullLog())
            self._server.stream.subscribe(self._handle_event)
            self._nursery.start_soon(self._server.run, [], None)
        return self._server

    def for_match(self, setup: MatchSetup) -> MatchServer:
        """Return this server for the games of another match, which may be played at the same time.

        The time limits are those of the server, unless an entrant has its own. Of all games that are played at the same
        time, no two may have the same number. Raises StartError.
        """
        self.start()
        other = copy.copy(self)  # with the same rooms and connections
        other.setup, other._openings = setup, {}  # noqa: SLF001 - of this class
        return other

    @asynccontextmanager
    async def open_room(self, planned: PlannedGame, logs: GameLogs, listener: Listener) -> AsyncIterator[InternalRoom]:
        """Open a room for `planned`; leaving closes it and its connections. Raises OSError and StartError.

        The events and bytes of the game are written to `logs`, which the caller has to save. Each event is passed to
        `listener`.
        """
        server = self.start()
        connections_possible((len(self._rooms) + 1) * _DESCRIPTORS_PER_GAME)
        edition = server.editions[self.setup.game_type]
        logs.is_own = True
        async with self._open_port(0) as first, self._open_port(1) as second:
            slots = [
                Slot(self.setup.names[program], can_timeout=self.setup.entrants[program].can_timeout)
                for program in planned.seats
            ]
            room = server.lobby.open_prepared(edition, slots, self._starting_state(planned, edition))
            for player_slot, program in zip(room.player_slots, planned.seats, strict=True):
                if self.setup.entrants[program].can_timeout:
                    player_slot.limits = limits_of(self.setup, server.config, program)
            own = InternalRoom(room, planned.seats, (first, second), logs, listener, ReplayRecorder(server.lobby, room))
            if self._is_watched:
                own.thinking = LiveThinking(partial(server.tell_thinking, room))
            self._rooms[room.id] = own
            try:
                async with trio.open_nursery() as nursery:
                    for program in (0, 1):
                        nursery.start_soon(self._accept, server, own, program, planned.game, nursery)
                    yield own
                    nursery.cancel_scope.cancel()
            finally:
                own.cancel()
                own.recorder.close()
                for player_slot in room.player_slots:
                    player_slot.peer = None  # it knows the room by its port, so together they would be freed late
                del self._rooms[room.id]
                if next(self._games) % GAMES_PER_COLLECTION == 0:  # the automatic collection is deferred
                    gc.collect()

    @asynccontextmanager
    async def _open_port(self, program: int) -> AsyncIterator[ProgramPort]:
        """Open the port of a program, in its sandbox if it has one. Raises OSError and SetupError."""
        settings = self.setup.entrants[program].sandbox
        if settings is None:
            with socket.socket() as sock:
                sock.setblocking(False)
                stamp_arrivals(sock)
                sock.bind((_HOST, 0))
                sock.listen(_BACKLOG)
                host, port = sock.getsockname()
                yield ProgramPort((str(host), int(port)), sock)
            return
        if settings not in self._sandboxes:
            self._sandboxes[settings] = await trio.to_thread.run_sync(
                choose_sandbox, settings.image, settings.kind, settings.python_version
            )
        async with open_run(self._sandboxes[settings], Path(self.setup.cwd_of(program))) as run:
            yield ProgramPort(run.address, None, run)

    def _starting_state(self, planned: PlannedGame, edition: Edition) -> State:
        opening = planned.opening
        if opening is None:
            return edition.game.new_state(start_source(planned.seed)())
        key = opening.path, opening.turn
        if key not in self._openings:
            states = load_starting_states(Path(opening.path), opening.turn, {edition.game_type: edition})
            self._openings[key] = states[edition.name]
        return self._openings[key]

    def new_player(self, own: InternalRoom, program: int, strategy: str, seed: int) -> BuiltinPlayer:
        """Return a built-in player for the seat of `program`, which needs no connection."""
        assert self._server is not None
        soft = limits_of(self.setup, self._server.config, program).soft_timeout
        wait = SHARE_OF_LIMIT * soft if soft and self.setup.entrants[program].can_timeout else math.inf
        player = PoolPlayer(self._thinking_pool, strategy, seed, wait)
        return BuiltinPlayer(self._server, own.room, own.seats.index(program), player, f"program{program + 1}")

    # -- connections ------------------------------------------------------------------------------------------------

    async def _accept(self, server: Server, own: InternalRoom, program: int, game: int, nursery: trio.Nursery) -> None:
        """Serve the connections to the port of this program, within MAX_CONNECTIONS and MAX_CONNECTIONS_PER_GAME."""
        listener = await own.ports[program].listener()
        port = DedicatedPort(own.room, own.seats.index(program))
        admitted = open_count = 0
        waiting: list[_Waiting] = []  # in the order of their arrival
        changed = trio.lowlevel.ParkingLot()

        async def serve(sock: socket.socket, address: str, label: str) -> None:
            nonlocal open_count
            try:
                notice_vanished(sock)
                wire = LoggedWire(
                    SocketWire(sock), own.logs.wire, f"program {program + 1}", own.beginnings[program].note
                )
                await server.serve_wire(wire, address, label=label, dedicated_port=port)
            finally:
                open_count -= 1
                del self._connections[label]

        def admit(sock: socket.socket, address: str) -> None:
            """Serve a connection of the program itself."""
            nonlocal admitted, open_count
            if admitted >= MAX_CONNECTIONS_PER_GAME:
                sock.close()
                return
            admitted += 1
            own.connections[program] = admitted
            if open_count >= MAX_CONNECTIONS:
                sock.close()
                own.refuse(program, address, f"a program has no more than {MAX_CONNECTIONS} connections at a time")
                return
            open_count += 1
            label = f"game{game}-program{program + 1}-{admitted}"
            self._connections[label] = own, program
            nursery.start_soon(serve, sock, address, label)

        async def decide_all() -> None:
            """Serve or close the connections whose owner is not seen at first glance."""
            is_started = own.is_started[program]
            try:
                while True:
                    if not waiting:
                        await changed.park()
                    delay = 0.0 if is_started.is_set() else _START_TIMEOUT  # before the first look
                    times = {each: each.due + (0.0 if each.found else delay) for each in waiting}
                    due = [each for each, time in times.items() if time <= trio.current_time()]
                    if not due:
                        with trio.move_on_at(min(times.values())):
                            await (changed.park() if is_started.is_set() else is_started.wait())
                        continue
                    first, *others = due
                    if not (others or first.found) and has_socket(own.processes[program].pids, first.far):
                        # a quick program connects before its process is known here
                        decided: Sequence[tuple[_Waiting, bool]] = [(first, True)]
                    else:
                        decided = await self._find_owners(own, program, due, waiting)
                    for each, is_own in decided:
                        waiting.remove(each)
                        if is_own:
                            admit(each.sock, each.address)
                        else:
                            each.sock.close()
                    changed.unpark_all()
            finally:
                for each in waiting:
                    each.sock.close()

        nursery.start_soon(decide_all)
        while admitted < MAX_CONNECTIONS_PER_GAME:
            sock, peer, _ = await accept(listener)
            address = f"{peer[0]}:{peer[1]}"
            run = own.ports[program].run
            if run is not None and run.sandbox.has_own_name_spaces:
                admit(sock, address)  # nobody else can reach this port
            elif (far := far_socket(sock)) is None:
                sock.close()
                own.refuse_foreign(None, address, _CLOSED)
            elif has_socket(own.processes[program].pids, far):
                admit(sock, address)
            else:
                waiting.append(_Waiting(sock, far, address, trio.current_time()))
                changed.unpark_all()
                while len(waiting) >= 2 * MAX_ASKED_ABOUT:
                    await changed.park()
            await trio.lowlevel.checkpoint()
        own.refuse(
            program,
            "",
            f"a program connects no more than {MAX_CONNECTIONS_PER_GAME} times in a game; its port is closed",
        )
        listener.close()

    async def _find_owners(
        self, own: InternalRoom, program: int, due: Sequence[_Waiting], waiting: Sequence[_Waiting]
    ) -> Sequence[tuple[_Waiting, bool]]:
        """Look once for the owners of the connections `due`, which are among those `waiting` at the port of `program`.

        Return those that are decided, each with whether it is the program's own; the others are reported as refused. A
        process that has just been started may not be found at once, so it takes up to a second until all are decided.
        """
        if sys.platform == "win32":
            user = -1
        else:
            user = os.getuid()
        rooms = list(self._rooms.values())
        opponents = [room.processes[1 - program] for room in rooms]
        find = partial(_look_at_both, own.processes[program], opponents, [each.far for each in due])
        looks = await trio.to_thread.run_sync(find)
        owned: list[_Waiting] = []
        candidates: list[_Waiting] = []
        refused: dict[_Waiting, str] = {}
        for each in due:
            each.found.append(attribute(each.far.user, *looks[each.far], user))
            if each.found[-1] is Attribution.OWN:
                owned.append(each)
            elif each.found[-1] is Attribution.OTHER:
                refused[each] = ""
            elif not each.is_open:  # nobody has it any more, so the look excludes nobody
                refused[each] = _CLOSED
            elif each.is_excluded:
                candidates.append(each)
            elif len(each.found) < len(_PAUSES):
                each.due = trio.current_time() + _PAUSES[len(each.found)]
            elif each.is_foreign:
                refused[each] = ""
            else:
                candidates.append(each)
        open_ones = [each for each in waiting if each not in {*owned, *candidates, *refused}]
        for each in open_ones[MAX_ASKED_ABOUT:]:
            if each.found:
                refused[each] = _TOO_MANY
                if not each.is_foreign:
                    own.has_turned_away[program] = True
        if candidates:
            held = await trio.to_thread.run_sync(find_holders, [each.far for each in candidates])
            for each in candidates:
                if each.far in held:
                    refused[each] = ""
                elif not each.is_open:
                    refused[each] = _CLOSED
                else:
                    owned.append(each)
                    if not each.is_excluded:
                        own.has_doubtful_connection[program] = True
        if refused:
            await self._report(own, program, refused)
        return [*((each, True) for each in owned), *((each, False) for each in refused)]

    async def _report(self, own: InternalRoom, program: int, refused: Mapping[_Waiting, str]) -> None:
        """Report connections to the port of `program` that are refused, each with a reason, empty for the usual one."""
        others = [(room, each) for room in self._rooms.values() for each in (0, 1) if (room, each) != (own, program)]
        culprits, names = await trio.to_thread.run_sync(_find_culprits, others, [each.far for each in refused])
        for each, reason in refused.items():
            if each.far in culprits:
                room, culprit = culprits[each.far]
                room.refuse_foreign(culprit, each.address, _FOREIGN)
            else:
                maker = names.get(each.far, "a process that hides it")
                text = reason or f"it was made by {maker}, not by the program of this port"
                own.refuse_foreign(None, each.address, text)

    # -- events -----------------------------------------------------------------------------------------------------

    def _handle_event(self, event: events.ServerEvent) -> None:
        owner = self._connections.get(getattr(event, "connection", ""))
        own = self._rooms.get(getattr(event, "room", ""))
        if own is not None:
            own.handle_event(event, None if owner is None else owner[1])
        elif owner is not None:
            owner[0].handle_event(event, owner[1])
        elif isinstance(event, events.InternalError):
            for each in self._rooms.values():
                each.handle_event(event, None)


@dataclass(eq=False, slots=True)
class _Waiting:
    """A connection whose owner is being looked for."""

    sock: socket.socket
    far: FarSocket
    address: str
    due: float
    """The time of the next look, on trio's clock."""
    found: list[Attribution] = field(default_factory=list)
    """What each look has shown."""

    @property
    def is_open(self) -> bool:
        """Whether the other end is still open."""
        return far_socket(self.sock) == self.far

    @property
    def is_excluded(self) -> bool:
        """Whether it can be nobody else's; a process that is started meanwhile may be overlooked by a single look."""
        return self.found[-_AGREEING:] == _AGREEING * [Attribution.OWN_BY_EXCLUSION]

    @property
    def is_foreign(self) -> bool:
        """Whether it is not the program's own."""
        return Attribution.NOT_OWN in self.found[-_AGREEING:]


def _look_at_both(
    own: ProgramProcesses, opponents: Sequence[ProgramProcesses], sockets: Sequence[FarSocket]
) -> dict[FarSocket, tuple[Look, Look]]:
    """Look into the processes of a port's program, and into those of all its opponents, several times. Blocks."""
    found = {each: (Look(), Look()) for each in sockets}
    left = list(sockets)
    for _ in range(_LOOKS):
        first = look(own.find_all, left)
        second = look(lambda: [pid for each in opponents for pid in each.find_all()], left)
        found |= {each: (found[each][0] | first[each], found[each][1] | second[each]) for each in left}
        left = [each for each in left if not any(Sign.HAS_SOCKET in seen.signs for seen in found[each])]
        if not left:
            break
    return found


def _find_culprits(
    others: Sequence[tuple[InternalRoom, int]], sockets: Collection[FarSocket]
) -> tuple[dict[FarSocket, tuple[InternalRoom, int]], dict[FarSocket, str]]:
    """Return the programs that are seen to have the sockets, and any processes that have the remaining ones. Blocks."""
    culprits: dict[FarSocket, tuple[InternalRoom, int]] = {}
    for room, each in others:
        culprits |= dict.fromkeys(holders(room.processes[each].find_all(), sockets), (room, each))
    left = [each for each in sockets if each not in culprits]
    return culprits, find_holders(left) if left else {}


class ProgramProcesses(Protocol):
    """The processes of one program."""

    @property
    def pids(self) -> Collection[int]:
        """The ids that can be found quickly; some may be missing."""
        ...

    def find_all(self) -> Collection[int]:
        """Return all ids. This takes a while, so it is called in a thread."""
        ...


class _NoProcesses:
    """The processes of a program that has not been started yet, or of a built-in player."""

    pids: tuple[int, ...] = ()

    def find_all(self) -> tuple[int, ...]:
        return ()


@dataclass(frozen=True, slots=True)
class ProgramPort:
    """The port of one program: host and port as the program is told, and its sandbox if it runs in one."""

    address: tuple[str, int]
    sock: socket.socket | None
    run: SandboxRun | None = None

    async def listener(self) -> socket.socket:
        """Return the listening socket; in a sandbox it exists once the program has started."""
        if self.run is None:
            assert self.sock is not None
            return self.sock
        sock = await self.run.listener()
        stamp_arrivals(sock)
        return sock


class Beginning:
    """The beginning of what a program has sent."""

    def __init__(self) -> None:
        self.data = bytearray()

    def note(self, data: bytes) -> None:
        """Keep the next bytes, unless there are MAX_REMEMBERED already."""
        if len(self.data) < MAX_REMEMBERED:
            self.data += data[: MAX_REMEMBERED - len(self.data)]


class InternalRoom:
    """A room of the match's own server for one game.

    `seats` are the programs by seat; `ports` are the ports by program.
    """

    def __init__(
        self,
        room: Room,
        seats: tuple[int, int],
        ports: tuple[ProgramPort, ProgramPort],
        logs: GameLogs,
        listener: Listener,
        recorder: ReplayRecorder,
    ) -> None:
        self.room = room
        self.seats = seats
        self.ports = ports
        self.logs = logs
        self.recorder = recorder
        self.thinking: LiveThinking | None = None
        """What the programs say about their moves; None: nobody watches the game."""
        self._listener = listener
        self.processes: list[ProgramProcesses] = [_NoProcesses(), _NoProcesses()]
        """The processes by program; see `set_processes`."""
        self.is_started = trio.Event(), trio.Event()
        """By program: set once its processes are known."""
        self.beginnings = Beginning(), Beginning()
        """By program: the beginning of what it has sent since the last move of the game, or since the game began."""
        self.connections = [0, 0]
        """By program: the connections that were served as its own."""
        self.has_doubtful_connection = [False, False]
        """By program: whether one of them may also be the other program's."""
        self.has_turned_away = [False, False]
        """By program: whether a connection was refused that may have been its own, since there were too many."""
        codes = {seats[player_slot.seat]: player_slot.reservation or "" for player_slot in room.player_slots}
        self.reservations = codes[0], codes[1]
        """The reservation codes by program."""
        self.addresses = ports[0].address, ports[1].address
        """Host and port by program."""

    @property
    def dialect(self) -> Dialect:
        return self.room.edition.dialect

    @property
    def state(self) -> State:
        """The current position."""
        return self.room.state

    def cancel(self) -> None:
        """Cancel the game, unless it is over."""
        if self.room.phase is not Phase.OVER:
            self.room.cancel()

    def received(self, program: int) -> bytes:
        """The beginning of what `program` has sent since the last move of the game, or since the game began."""
        return bytes(self.beginnings[program].data)

    def set_processes(self, program: int, processes: ProgramProcesses) -> None:
        """Make the processes of `program` known, which connect to its port."""
        self.processes[program] = processes
        self.is_started[program].set()

    def refuse(self, program: int, address: str, reason: str) -> None:
        """Report that a connection of `program` was not accepted."""
        self.handle_event(events.ConnectionRefused(address, "connections", reason), program)

    def refuse_foreign(self, program: int | None, address: str, reason: str) -> None:
        """Report that a connection to a port was not accepted, since it is not that of the port's program.

        `program` is the one that made it, None if that is not known.
        """
        self.handle_event(events.ConnectionRefused(address, events.FOREIGN_PORT, reason), program)

    def handle_event(self, event: events.ServerEvent, program: int | None) -> None:
        if isinstance(event, (events.GameStarted, events.MovePlayed)):
            for beginning in self.beginnings:
                beginning.data.clear()
            if self.thinking is not None:
                ply = event.ply + 1 if isinstance(event, events.MovePlayed) else 0
                self.thinking.note_request(self.state.seat_on_turn, ply, self.state.turn)
        self.logs.log.add(event)
        self._listener(event, program)


@asynccontextmanager
async def open_match_server(setup: MatchSetup, watch: Watch | None = None) -> AsyncIterator[MatchServer]:
    """Open the server of a match. It starts with the first game; leaving the context stops it.

    With `watch`, it starts at once. Raises StartError then, and what `watch` raises.
    """
    with deferred_gc():
        gc.set_threshold(_MOST_YOUNG, *gc.get_threshold()[1:])  # the former ones are restored at the end
        async with open_thinking_pool() as thinking_pool, trio.open_nursery() as nursery:
            match_server = MatchServer(setup, nursery, thinking_pool, is_watched=watch is not None)
            if watch is not None:
                await nursery.start(watch, match_server.start())
            yield match_server
            nursery.cancel_scope.cancel()


class _NullLog:
    """A log that discards everything: each game has a log of its own."""

    def write(self, line: str, /) -> None: ...

    def flush(self) -> None: ...

    def isatty(self) -> bool:
        return False
