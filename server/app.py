"""The whole server: puts its parts together, accepts connections, and stops in an orderly way.

Invariants: a configuration that cannot be satisfied stops the start with one clear line, before anything listens. When
the server stops, it accepts no more connections. Running games get a grace period; then everybody gets a result and the
end of the stream, and `CLOSING_TIME` seconds to take them and to close. Replays are on disk before `serve` returns.
"""

from __future__ import annotations

import contextlib
import errno
import os
import socket
import sys
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, TextIO, TypeAlias

import trio
from msgspec import Struct, structs

from spielleiter.common.files import write_whole
from spielleiter.common.own_version import own_version
from spielleiter.common.text import count_text
from spielleiter.game.api import Seat
from spielleiter.protocol.connection import Connection, Role
from spielleiter.protocol.messages import CloseConnection, ErrorPacket
from spielleiter.protocol.thinking import Thinking
from spielleiter.server import events
from spielleiter.server.archive import Archive
from spielleiter.server.config import Config, is_loopback
from spielleiter.server.core.lobby import NO_ADMINS, Lobby, id_source, start_source
from spielleiter.server.core.policy import Edition
from spielleiter.server.core.room import DedicatedPort, Peer, Room
from spielleiter.server.editions import choose_default, choose_editions
from spielleiter.server.errors import StartError
from spielleiter.server.garbage import PauseMeter, collect_in_quiet, deferred_gc
from spielleiter.server.log import LogFile, line_writer, log_events, logged_kinds
from spielleiter.server.metrics import Metrics
from spielleiter.server.net.fair_queue import FairQueue, ProcessorBudget, WorkMeter
from spielleiter.server.net.password_guard import PasswordGuard
from spielleiter.server.net.session import Session
from spielleiter.server.net.sockets import accept, connections_possible, is_from_this_machine, listen, notice_vanished
from spielleiter.server.net.wire import SocketWire, Wire, stamp_arrivals
from spielleiter.server.replay import load_starting_states
from spielleiter.server.setting import shown_address
from spielleiter.server.status import StatusBoard
from spielleiter.server.timers import Timers
from spielleiter.server.tracing import RecorderFactory, Tracer

if TYPE_CHECKING:
    from spielleiter.protocol.feed import ServerDescribed
    from spielleiter.server.feed import Feed

RESULTS_NAME = "results.jsonl"
STOPPING = "the server stops"
CLOSING_TIME = 1.0
"""Seconds that peers have, when the server stops, to take what they have been sent and to close."""


class Listening(Struct, frozen=True):
    """The addresses on which the server listens."""

    addresses: tuple[tuple[str, int], ...]


class Server:
    """The parts of a server, and the connections that it serves.

    `log_file` receives the log (None: standard error). `editions` maps each gameType to the edition that is played
    (None: those that `config` chooses). `meter` measures the cost of connections. `recorder` makes what writes traces.
    Raises StartError for a wrong configuration, and ValueError if `config` has a folder for traces and there is no
    `recorder`.
    """

    def __init__(
        self,
        config: Config,
        log_file: LogFile | None = None,
        editions: dict[str, Edition] | None = None,
        meter: WorkMeter | None = None,
        recorder: RecorderFactory | None = None,
    ) -> None:
        if config.trace_directory is not None and recorder is None:
            raise ValueError("trace_directory needs a recorder; pass recorder=spielleiter.wire.trace_writer.Recorder")
        self.config = config
        self.stream = events.EventStream()
        file = sys.stderr if log_file is None else log_file
        self.stream.subscribe(log_events(file, config.log_format, config.log_level), logged_kinds(config.log_level))
        self.editions = editions or choose_editions(config.editions, config.game_options)
        default_edition = choose_default(config.default_game, self.editions)
        starting_states = (
            load_starting_states(config.load_game_file, config.turn, self.editions, config.ply)
            if config.load_game_file
            else {}
        )
        self.timers = Timers(lambda error: self.stream.publish(events.InternalError.of(error)))
        self.lobby = Lobby(
            config,
            self.editions,
            default_edition,
            self.stream,
            self.timers,
            id_source(config.seed, seeds_ids=config.seeds_ids),
            start_source(config.seed),
            starting_states,
        )
        self.archive = self._open_archive()
        self.stream.on(events.GameEnded, self.archive.game_ended)
        self.stream.on(events.GameEnded, lambda game: self.lobby.scores.add(game.result))
        self.stream.on(events.RoomClosed, lambda _closed: self._room_closed.set())
        self.tracer: Tracer | None = None
        if config.trace_directory is not None and recorder is not None:
            self.tracer = Tracer(config.trace_directory, self.stream, recorder)
        self.password_guard = PasswordGuard(config.password_attempts, config.password_window, config.password_delay)
        self._meter = meter or WorkMeter()
        self._fair_queue = FairQueue(config.strangers_share, self._meter.processor_time)
        self.sessions: dict[Session, None] = {}
        self.board = StatusBoard(self.lobby.rooms, self.sessions, self.stream)
        self.lobby.report = self.board.report
        self.pauses = PauseMeter()
        """Those of the garbage collector, if the process measures them."""
        self.metrics = Metrics(self.stream, self.board.snapshot, self.pauses)
        self.lobby.metrics = self.metrics.text
        self.lobby.follow = self._follow
        self._feed: Feed | None = None
        self.background: list[Callable[[], Awaitable[None]]] = [
            self.timers.run,
            lambda: collect_in_quiet(lambda: self._running_games() == 0),
        ]
        """Tasks that run beside the connections until the last one is closed."""
        self._is_stopping = False
        """Whether the server has begun to stop: nobody is accepted any more."""
        self._ends_sessions = False
        self._address = "", 0
        self.connections_by_host: Counter[str] = Counter()
        """The number of accepted connections that are open."""
        self._connection_count = 0
        self._most_connections = config.connections
        self._room_closed = trio.Event()

    def _open_archive(self) -> Archive:
        """Return what saves games. Raises StartError, but not for recent games, which the server can do without."""
        config = self.config
        results_file = config.results_file
        if config.replay_directory is not None:
            results_file = results_file or config.replay_directory / RESULTS_NAME
        elif config.recent_directory is not None:
            try:
                _make_private(config.recent_directory)  # since there are names of players in it
                return Archive(
                    config.recent_directory, results_file, self.editions, self.stream, most_games=config.recent_games
                )
            except OSError as error:
                why = f"{config.recent_directory}: cannot be used ({error.strerror or error})"
            except StartError as error:
                why = str(error).removeprefix("saveReplay ")
            ignored = f"recentGames ({why})"
            self.config = structs.replace(config, recent_directory=None, ignored=(*config.ignored, ignored))
        return Archive(config.replay_directory, results_file, self.editions, self.stream)

    # -- running ----------------------------------------------------------------------------------------------------

    async def run(
        self,
        sockets: list[socket.socket],
        stop: trio.Event | None,
        task_status: trio.TaskStatus[Listening] = trio.TASK_STATUS_IGNORED,
    ) -> None:
        """Serve on the listening `sockets` until `stop` is set (None: until cancelled), then stop in an orderly way."""
        async with trio.open_nursery() as recorders:
            # a start that is cancelled would wait for its task, which waits for `finish`
            with trio.CancelScope(shield=True):
                await recorders.start(self.archive.run)
            try:
                async with trio.open_nursery() as background:
                    for run in self.background:
                        background.start_soon(run)
                    games_cut = await self._serve(sockets, stop, task_status)
                    background.cancel_scope.cancel()
            finally:
                self.archive.finish()
                self.close_traces()
        self.stream.publish(events.ServerStopped(games_cut))

    def close(self) -> None:
        """Close the files; `run` does this at its end."""
        self.archive.close()
        self.close_traces()

    def close_traces(self) -> None:
        """Write what is left of the traces; connections that go on are no longer traced."""
        if self.tracer is not None:
            self.tracer.close()

    async def _serve(
        self,
        sockets: list[socket.socket],
        stop: trio.Event | None,
        task_status: trio.TaskStatus[Listening],
    ) -> int:
        """Accept until `stop` is set, then wait for running games; return the number of those that were cut off."""
        addresses = tuple(sock.getsockname()[:2] for sock in sockets)
        self._address = addresses[0] if addresses else self._address
        async with trio.open_nursery() as sessions:
            async with trio.open_nursery() as acceptors:
                for sock in sockets:
                    acceptors.start_soon(self.accept_from, sock, sessions)
                if not all(stamp_arrivals(sock) for sock in sockets):
                    self.stream.publish(events.TimeStampsMissing())
                for ignored in self.config.ignored:
                    self.stream.publish(events.SettingIgnored(ignored))
                if self.lobby.password is None:
                    self.stream.publish(events.AdminsExcluded(NO_ADMINS))
                self.stream.publish(events.ServerStarted(tuple(shown_address(each) for each in addresses)))
                task_status.started(Listening(addresses))
                await (trio.Event() if stop is None else stop).wait()
                acceptors.cancel_scope.cancel()
            self._is_stopping = True
            if self._feed is not None:
                self._feed.note_stopping()
            with trio.move_on_after(self.config.grace):
                while self._running_games():
                    self._room_closed = trio.Event()
                    await self._room_closed.wait()
            games_cut = self._running_games()
            self._ends_sessions = True
            for room in list(self.lobby.rooms.values()):
                room.cancel()
            if self._feed is not None:
                self._feed.flush()  # before the streams of the followers end
            for session in list(self.sessions):
                session.end(STOPPING, CLOSING_TIME)
        return games_cut

    async def serve_wire(
        self,
        wire: Wire,
        address: str,
        *,
        label: str | None = None,
        dedicated_port: DedicatedPort | None = None,
        is_local: bool | None = None,
    ) -> None:
        """Serve one connection on any kind of wire.

        `address` is the peer's host and port, and `is_local` says whether that is on this machine (None: if it is
        loopback). `label` is the connection's name in the log (None: the next number).
        `dedicated_port` is the port on which it was accepted, if that port serves a single seat.
        """
        self._connection_count += 1
        label = label or f"c{self._connection_count}"
        budget = ProcessorBudget(self._fair_queue, self.config.connection_share, self._meter)
        if self.tracer is not None:
            wire = self.tracer.trace(wire, label, address)
        if is_local is None:
            is_local = is_loopback(address.rpartition(":")[0])
        with budget:
            session = Session(
                label,
                address,
                wire,
                self.lobby,
                self.stream,
                self.config,
                self.password_guard,
                budget,
                dedicated_port,
                is_local=is_local,
            )
        if self.tracer is not None:
            self.tracer.count_packets(label, lambda: session.peer.packets_received)
        self.sessions[session] = None
        if self._ends_sessions:  # it was accepted just before the server began to stop
            session.end(STOPPING, CLOSING_TIME)
        try:
            await session.run()
        finally:
            del self.sessions[session]

    def _follow(self, peer: Peer) -> None:
        """Let an administrator follow all games; what only followers need is loaded for the first one."""
        if self._feed is None:
            from spielleiter.server.feed import Feed

            self._feed = Feed(self.lobby, self.stream, self._described, trio.current_time)
            self.lobby.unfollow = self._feed.drop
        session = next(each for each in self.sessions if each.peer is peer)
        self._feed.add(peer, lambda: session.queued_bytes)

    def tell_thinking(self, room: Room, ply: int, seat: Seat, thinking: Thinking) -> None:
        """Tell the followers what the program in `seat` has said about the move number `ply`, from 0, of `room`.

        Nobody else is told, the players least of all; the server itself never learns of it, but a match does.
        """
        room.thinking[ply] = seat, thinking
        if self._feed is not None:
            self._feed.note_thinking(room, ply)

    def _described(self) -> ServerDescribed:
        from spielleiter.protocol.feed import OfferedEdition, ServerDescribed

        host, port = self._address
        return ServerDescribed(
            own_version(),
            self.board.started_at,
            tuple(OfferedEdition(edition.name, game_type) for game_type, edition in self.editions.items()),
            dict(self.config.game_options),
            self.lobby.default_edition.game_type,
            self.lobby.password is not None,
            host,
            port,
            self._is_stopping,
        )

    def limit_connections(self, possible: int) -> None:
        """Serve no more than `possible` connections, even if more are configured."""
        if possible < self._most_connections:
            self.stream.publish(events.ConnectionsLimited(self._most_connections, possible))
            self._most_connections = possible

    # -- accepting --------------------------------------------------------------------------------------------------

    async def accept_from(self, listening: socket.socket, sessions: trio.Nursery) -> None:
        """Accept connections on `listening` and serve them in `sessions`; runs until it is cancelled."""

        def publish_exhaustion(error: OSError) -> None:
            text = f"cannot accept: {error.strerror or error}"
            self.stream.publish(events.ConnectionRefused("", "cannot_accept", text))

        remaining = 0  # connections that may still be accepted in this turn
        while True:
            sock, address, has_waited = await accept(listening, publish_exhaustion)
            self.admit(sock, address, sessions)
            remaining = 0 if has_waited else remaining - 1
            if remaining <= 0:
                await self._fair_queue.wait_for_turn()  # a flood of connections must not keep the others waiting
                remaining = self._fair_queue.allowance

    def admit(self, sock: socket.socket, address: tuple[str, int], sessions: trio.Nursery) -> None:
        """Serve an accepted connection in `sessions`, or tell the peer that there are too many and close it."""
        host, port = address[:2]
        most, most_each = self._most_connections, self.config.connections_per_address
        is_local = is_from_this_machine(sock, host)
        if self.connections_by_host.total() >= most:
            kind, text = "connections", f"This server serves no more than {count_text(most, 'connection')}"
        elif not is_local and self.connections_by_host[host] >= most_each:
            kind = "connections_per_address"
            text = f"This server serves no more than {count_text(most_each, 'connection')} from one address"
        else:
            self.connections_by_host[host] += 1
            sessions.start_soon(self._serve_socket, sock, host, port, is_local)
            return
        self.stream.publish(events.ConnectionRefused(f"{host}:{port}", kind, text))
        connection = Connection(Role.SERVER, self.lobby.default_edition.dialect)
        packets = (connection.send(ErrorPacket(text)), connection.send(CloseConnection()), connection.close())
        # sent as far as possible without waiting
        with sock, contextlib.suppress(OSError):
            sock.setblocking(False)
            for packet in packets:
                sock.send(packet)

    async def _serve_socket(self, sock: socket.socket, host: str, port: int, is_local: bool) -> None:
        try:
            notice_vanished(sock)
            await self.serve_wire(SocketWire(sock), f"{host}:{port}", is_local=is_local)
        finally:
            self.connections_by_host[host] -= 1
            self.connections_by_host += Counter()  # drop addresses whose count is 0

    def _running_games(self) -> int:
        return len(self.lobby.rooms) - len(self.lobby.waiting)


Companion: TypeAlias = Callable[
    [Server, int, PauseMeter, Callable[[], bool]], AbstractContextManager[Callable[[], Awaitable[None]]]
]
"""Opens a service beside the games, and returns the function that runs it until it is cancelled.

It is called before the server accepts anything, with the server, its port, the pauses of the garbage collector, and a
function that says whether the server has begun to stop. It may raise StartError.
"""


def _make_private(folder: Path) -> None:
    """Make a folder that only this user can open, unless it is there already. Raises OSError."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if sys.platform == "win32":
        return
    status = folder.stat()
    if status.st_uid != os.geteuid():  # whose owner could have root write through links
        raise PermissionError(errno.EPERM, "it belongs to another user")
    if status.st_mode & 0o077:
        folder.chmod(0o700)


async def serve(
    config: Config,
    *,
    stop: trio.Event | None = None,
    log_file: LogFile | None = None,
    companion: Companion | None = None,
    recorder: RecorderFactory | None = None,
    task_status: trio.TaskStatus[Listening] = trio.TASK_STATUS_IGNORED,
) -> None:
    """Serve until `stop` is set; without `stop`, until cancelled.

    The log goes to `log_file`, or else to standard error. `companion` opens a service that runs beside the games,
    `recorder` makes what writes the traces, and is required if `config` has a folder for them (otherwise ValueError).
    Raises StartError before anything is accepted, for example for an address in use, an unreadable replay or an unknown
    game.
    """
    with contextlib.ExitStack() as stack:
        log = stack.enter_context(line_writer(_standard_error())) if log_file is None else log_file
        server = Server(config, log, recorder=recorder)
        stack.callback(server.close)  # needed if the server never runs, for example since a port is in use
        sockets = listen(config.host, config.port)
        for sock in sockets:
            stack.callback(sock.close)
        port: int = sockets[0].getsockname()[1]
        if config.port_file is not None:
            try:
                write_whole(config.port_file, f"{port}\n")
            except OSError as error:
                reason = error.strerror or error
                raise StartError(f"portFile {config.port_file}: cannot be written ({reason})") from None
        server.limit_connections(connections_possible(config.connections))
        stack.enter_context(deferred_gc(server.pauses))
        server.background.append(server.metrics.watch_loop)
        if companion is not None:
            run = stack.enter_context(
                companion(server, port, server.pauses, lambda: stop is not None and stop.is_set())
            )
            server.background.append(run)
        await server.run(sockets, stop, task_status)


def _standard_error() -> TextIO:
    """Return standard error, or the null device if the process was started without one."""
    return Path(os.devnull).open("w", encoding="utf-8") if sys.stderr is None else sys.stderr
