"""A server that plays one game with a program by a script, to check how the program behaves.

`open_scripted_server` starts the program, in a sandbox or without one, together with the server that it connects to;
leaving the context ends the program and closes the port, whatever has happened.

Invariants: everything that it sends could come from a real server; the script only decides how the bytes are split and
which unknown elements they contain. It does nothing that only our server does: it refuses content at which an official
server ends the connection, and leaves the stream open after a game until the program has said goodbye. Unexpected
behaviour of the program is raised as UnexpectedBehaviourError, in terms of the protocol; as InconclusiveError if
something took too long only because this machine was busy, or if this machine failed. All bytes are logged.
"""

from __future__ import annotations

import itertools
import os
import random
import re
import socket
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final, TypeAlias

import trio
from lxml import etree

from spielleiter.common.errors import (
    MatchError,
    NotStartedError,
    SandboxError,
    SupervisorError,
    first_error,
    os_error_text,
)
from spielleiter.game.api import Move, Seat, State
from spielleiter.match.game_folder import WIRE_LOG, WireLog
from spielleiter.match.match_server import ProgramPort
from spielleiter.players.choosers import random_move
from spielleiter.programs.command import Command
from spielleiter.programs.linux_processes import Usage
from spielleiter.programs.program import Program
from spielleiter.programs.sandbox.sandbox import Sandbox
from spielleiter.programs.sandbox.sandbox_run import open_run
from spielleiter.protocol.connection import Connection, ConnectionClosed, Event, OutputPhase, Role, StreamEnd
from spielleiter.protocol.errors import RemoteProtocolError
from spielleiter.protocol.messages import (
    Cause,
    CloseConnection,
    ErrorMessage,
    ErrorPacket,
    Joined,
    JoinPreparedRequest,
    JoinRequest,
    Left,
    Memento,
    Message,
    MoveData,
    MoveRequest,
    Result,
    RoomMessage,
    UnknownPacket,
    UnreadableData,
    WelcomeMessage,
)
from spielleiter.server.config import Config
from spielleiter.server.core.policy import Edition
from spielleiter.server.core.room import Ending
from spielleiter.server.net.session import packet_limits

_ROOM: Final = "5c00c0de-0000-4000-8000-000000000001"
RESERVATION: Final = "5c00c0de-0000-4000-8000-000000000002"
"""The reservation code that the program is started with."""

_HOST: Final = "127.0.0.1"
_NAMES: Final = ("program", "script")
_PIECE_INTERVAL: Final = 0.002  # seconds between two pieces, so that they are sent separately
_CUTS_OFF: Final = "the official server ends the connection at that without a word"
_TAG: Final = re.compile(rb"<([\w.]+)")
_DATA_CLASS: Final = re.compile(rb"<data class=[\"']([^\"']+)")
_PIECE_COUNT: Final = 40
_STREAM_STAYS_OPEN: Final = (
    "the official server leaves the stream open after a game until the program says goodbye, so the program would not "
    "end there; the game counts nevertheless. It should end as soon as `result` or `left` has arrived"
)
_READ_SIZE: Final = 64 * 1024
EXIT_TIMEOUT: Final = 1.0  # seconds for a process to end after it has closed its connection
_MIN_SHARE: Final = 0.02  # of the time; less is measured on an idle machine as well
UNFINISHED_SHARE: Final = 0.1
"""The share of the time for what has not happened by its limit: how late it would have been is not known."""
_MIN_MENTIONED: Final = 0.001  # seconds of waiting for a processor


class Stopwatch:
    """Measures how long something took from the creation of the stopwatch, and how much of it this machine took.

    `pids` are the program's processes at that time. Where the system does not report how long a thread waited for a
    processor, the waiting time is 0.
    """

    def __init__(self, pids: Iterable[int]) -> None:
        self._pids = tuple(pids)
        self._before = Usage.of(self._pids)
        self._own_before = Usage.of([os.getpid()])
        self._started = trio.current_time()

    @property
    def seconds(self) -> float:
        """The seconds since the creation."""
        return trio.current_time() - self._started

    def seconds_lost(self, pids: Iterable[int] = ()) -> float:
        """Return how many of these seconds the program and this process waited for a processor.

        `pids` are processes of the program that were started later.
        """
        seconds, cores = self.seconds, os.cpu_count() or 1
        now = Usage.of({*self._pids, *pids})
        own = Usage.of([os.getpid()])
        lost = now.seconds_lost(self._before, seconds, cores) + own.seconds_lost(self._own_before, seconds, cores)
        return min(seconds, lost)


class UnexpectedBehaviourError(MatchError):
    """The program did not do what was expected; the text says what it did."""


class InconclusiveError(UnexpectedBehaviourError):
    """The program took too long only because this machine was busy; the text says how long."""


class ToleratedError(UnexpectedBehaviourError):
    """The program depends on something that the official server does not do, but the contest does not punish that.

    `remark` says what the official server does.
    """

    def __init__(self, text: str, remark: str) -> None:
        super().__init__(text)
        self.remark = remark


class PlainJoinError(UnexpectedBehaviourError):
    """The program has a seat, but did not use its reservation code to take it."""


def too_slow(
    text: str, seconds: float, seconds_lost: float, limit: float, min_share: float = _MIN_SHARE
) -> UnexpectedBehaviourError:
    """Return the error for something that took longer than `limit`: InconclusiveError if this machine was too busy.

    All times are in seconds; `seconds_lost` is the part of `seconds` that was spent waiting for a processor. A part of
    less than `min_share` excuses nothing.
    """
    if seconds_lost >= _MIN_MENTIONED:
        text += f"; {seconds_lost:.3f} s of it waiting for a processor"
    kind = InconclusiveError if is_delayed(seconds, seconds_lost, limit, min_share) else UnexpectedBehaviourError
    return kind(text)


def is_delayed(seconds: float, seconds_lost: float, limit: float, min_share: float = _MIN_SHARE) -> bool:
    """Return whether something took longer than `limit` seconds only because it waited for a processor."""
    return seconds_lost >= min_share * seconds and seconds - seconds_lost <= limit


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a move request, which came after `seconds`.

    `data` is None if the answer cannot be parsed at all; `problem` says what is wrong with it. `seconds_lost` is the
    part of `seconds` for which the program or this process waited for a processor.
    """

    data: MoveData | UnreadableData | None
    seconds: float
    problem: str = ""
    seconds_lost: float = 0.0

    def require_within(self, limit: float) -> None:
        """Raise InconclusiveError or UnexpectedBehaviourError if it came after more than `limit` seconds."""
        if self.seconds > limit:
            raise too_slow(f"the answer came after {self.seconds:.3f} s", self.seconds, self.seconds_lost, limit)


Splitter: TypeAlias = Callable[[bytes, random.Random], list[bytes]]


def unsplit(data: bytes, _rng: random.Random) -> list[bytes]:
    """Return the packet in one piece."""
    return [data]


def split_into_fragments(data: bytes, rng: random.Random) -> list[bytes]:
    """Split off the first bytes one by one, and the rest at random positions, even within tags."""
    head = [data[index : index + 1] for index in range(min(_PIECE_COUNT, len(data)))]
    rest = range(_PIECE_COUNT, len(data))
    bounds = [_PIECE_COUNT, *sorted(rng.sample(rest, min(_PIECE_COUNT, len(rest)))), len(data)]
    return head + [data[start:end] for start, end in itertools.pairwise(bounds) if start < end]


def with_unknown_elements(packet: bytes) -> bytes:
    """Return the same packet with attributes and elements that no client knows."""
    room = etree.fromstring(packet)
    data = room[0]
    data.set("checkedBy", "spielleiter")
    for parent in (data[0], data):
        unknown = etree.SubElement(parent, "unknownElement", attribute="unknown")
        etree.SubElement(unknown, "nested").text = "Größe & Maß"
    return b"\n  " + etree.tostring(room, encoding="utf-8")


class ScriptedServer:
    """A scripted server for one program on `seat`, in the form of `edition`; `connect_timeout` is in seconds.

    The methods raise UnexpectedBehaviourError.
    """

    def __init__(
        self,
        edition: Edition,
        seat: Seat,
        program: Program,
        listener: socket.socket,
        connect_timeout: float,
        log: WireLog,
    ) -> None:
        self.program = program
        self._edition = edition
        self._log = log
        self._connection = Connection(Role.SERVER, edition.dialect.evolve(is_strict=True))
        self._connection.limits = packet_limits(Config(), is_player=True)
        self._stream: trio.SocketStream | None = None
        """None until the program has connected."""
        self.seat = seat
        self.rng = random.Random(f"script {seat}")
        self.state: State = edition.game.new_state(self.rng)
        self.longest = 0.0
        """The time of the slowest answer, in seconds."""
        self.answers = 0
        """The number of moves that could be played."""
        self.last_move: Move | None = None
        """The program's last move that could be played."""
        self._listener = listener
        self.connect_timeout = connect_timeout

    # -- the parts of a game ----------------------------------------------------------------------------------------

    async def wait_for_connection(self) -> None:
        """Wait until the program has connected."""
        accepted: list[socket.socket] = []
        stopwatch = Stopwatch(self.program.pids)
        async with trio.open_nursery() as nursery:

            async def cancel_at_exit() -> None:
                await self.program.exited.wait()
                nursery.cancel_scope.cancel()

            nursery.start_soon(cancel_at_exit)
            with trio.move_on_after(self.connect_timeout):
                await trio.lowlevel.wait_readable(self._listener)
                accepted.append(self._listener.accept()[0])
            nursery.cancel_scope.cancel()
        if not accepted:
            if ended := self.exit_text():
                raise UnexpectedBehaviourError(ended)
            raise self._late(f"nobody connected in {self.connect_timeout:g} s", stopwatch, self.connect_timeout)
        accepted[0].setblocking(False)
        self._stream = trio.SocketStream(trio.socket.from_stdlib_socket(accepted[0]))

    async def take_seat(self) -> str:
        """Wait for the program's request for a seat and grant it; return the tag of the request.

        Only this program knows the port, so a plain ``join`` can only ask for this seat; a ``join`` for another game is
        refused at once.
        """
        stopwatch = Stopwatch(self.program.pids)
        with trio.move_on_after(self.connect_timeout):
            message = await self._receive()
            match message:
                case JoinPreparedRequest(code) if code != RESERVATION:
                    raise UnexpectedBehaviourError(
                        f"joinPrepared came with reservation code {code!r}, not {RESERVATION!r}"
                    )
                case JoinPreparedRequest() | JoinRequest(None):
                    pass
                case JoinRequest(game_type) if game_type != self._edition.game_type:
                    # say which game is played here, as the edition's server does, and end the stream
                    dialect = self._edition.dialect
                    with suppress(UnexpectedBehaviourError):
                        if dialect.has_packet(ErrorPacket):
                            known = (self._edition.game_type,)
                            await self.send(ErrorPacket(dialect.texts.unknown_game_type(game_type, known), message))
                        await self.send(CloseConnection())
                        await self._end_stream()
                    raise UnexpectedBehaviourError(
                        f"join came for gameType {game_type!r}, but the game here is {self._edition.game_type!r}; "
                        "--game and --edition say which season is checked"
                    )
                case JoinRequest():
                    pass
                case _:
                    raise UnexpectedBehaviourError(f"{self._description(message)} came instead of joinPrepared")
            await self.send(Joined(_ROOM))
            return self._description(message)
        raise self._late(f"no request for a seat came in {self.connect_timeout:g} s", stopwatch, self.connect_timeout)

    async def begin(self) -> None:
        """Send the welcome message, which tells the program its seat."""
        await self.send_data(WelcomeMessage(self.seat))

    async def ask(
        self,
        answer_timeout: float,
        *,
        limit: float | None = None,
        split: Splitter = unsplit,
        is_coalesced: bool = False,
        change: Callable[[bytes], bytes] | None = None,
    ) -> Answer:
        """Play the opponent's moves until it is the program's turn, send each position, and request a move.

        `answer_timeout` is how long to wait for the answer, `limit` the limit that the program has to keep; both are in
        seconds. `split` splits each packet, `is_coalesced` sends all packets together, and `change` changes the
        positions. Raises GameOver if the opponent's move ends the game; the last position has not been sent then.
        """
        packets = [self._position(change)]
        while self.state.seat_on_turn != self.seat:
            self.state = self.state.play(random_move(self.state, self.rng))
            if self.state.outcome() is not None:
                await self._send_packets(packets, split, is_coalesced=is_coalesced)
                raise GameOver
            packets.append(self._position(change))
        packets.append(self._connection.send(RoomMessage(_ROOM, MoveRequest())))
        pids = self.program.pids
        await self._send_packets(packets, split, is_coalesced=is_coalesced)
        stopwatch = Stopwatch(pids)
        with trio.move_on_after(answer_timeout):
            try:
                message = await self._next_message()
            except RemoteProtocolError as error:
                return Answer(None, stopwatch.seconds, f"{error}; {_CUTS_OFF}", stopwatch.seconds_lost())
            seconds = stopwatch.seconds
            self.longest = max(self.longest, seconds)
            lost = stopwatch.seconds_lost()
            match message:
                case RoomMessage(data=MoveData() | UnreadableData() as data):
                    return Answer(data, seconds, data.problem if isinstance(data, UnreadableData) else "", lost)
                case _:
                    return Answer(None, seconds, f"{self._description(message)} came instead of a move", lost)
        raise self._late(
            f"no answer came in {answer_timeout:g} s", stopwatch, answer_timeout if limit is None else limit
        )

    async def _send_packets(self, packets: list[bytes], split: Splitter, *, is_coalesced: bool) -> None:
        for packet in [b"".join(packets)] if is_coalesced else packets:
            for piece in split(packet, self.rng):
                await self._write(piece)
                if split is not unsplit:
                    await trio.sleep(_PIECE_INTERVAL)

    def play(self, move: Move) -> None:
        """Play the program's move.

        Raises UnexpectedBehaviourError if it is illegal, GameOver if it ends the game.
        """
        mistake = self.state.check(move)
        if mistake is not None:
            raise UnexpectedBehaviourError(f"{move}: {mistake.name}")
        self.state = self.state.play(move)
        self.answers += 1
        self.last_move = move
        if self.state.outcome() is not None:
            raise GameOver

    async def send_position(self) -> None:
        """Send the current position."""
        await self._write(self._position(None))

    async def send_data(self, data: WelcomeMessage | MoveRequest | Result | ErrorMessage) -> None:
        """Send a message about the game."""
        await self.send(RoomMessage(_ROOM, data))

    async def send(self, message: Message) -> None:
        await self._write(self._connection.send(message))

    async def finish(self, result: Result) -> None:
        """Send the result and that the room is closed. The stream stays open, as at every official server."""
        with suppress(UnexpectedBehaviourError):  # a program that has left by now is judged by its exit code
            await self.send_data(result)
            await self.send(Left(_ROOM))

    async def finish_violation(self, result: Result) -> None:
        """Send what the program receives if its last move was illegal; some editions end its stream after that."""
        assert self.last_move is not None
        policy, dialect, move = self._edition.policy, self._edition.dialect, MoveData(self.last_move)
        text = f"Ungueltiger Zug von '{self.names[self.seat]}'."
        await self.send_data(ErrorMessage(text, move))
        if policy.keeps_violators or policy.tells_violators_the_result:
            await self.finish(result)
        if policy.keeps_violators:
            return
        with suppress(UnexpectedBehaviourError):
            if policy.tells_violators_the_result and dialect.has_packet(ErrorPacket):
                await self.send(ErrorPacket(text, RoomMessage(_ROOM, move)))
            await self.send(CloseConnection())
            await self._end_stream()

    async def expect_silence(self, seconds: float) -> None:
        """Wait for `seconds`; the program must neither send anything nor leave during that time."""
        with trio.move_on_after(seconds):
            message = await self._receive()
            raise UnexpectedBehaviourError(f"{self._description(message)} came, though nothing had been asked")

    # -- the end of the process -------------------------------------------------------------------------------------

    async def expect_exit(self, exit_timeout: float) -> str:
        """Wait until the process has ended by itself; return how it ended.

        If it still runs after `exit_timeout` seconds, the stream is ended, unless it has ended already. Raises
        ToleratedError if the process ends within as many seconds after that.
        """
        is_needless = await self._wait_for_exit(exit_timeout, "the game")
        text = self.exit_text()
        if self.program.returncode is not None and self.program.returncode < 0:
            raise UnexpectedBehaviourError(text)
        if is_needless:
            return text
        raise ToleratedError(f"{text}, but not before the server had ended the stream", _STREAM_STAYS_OPEN)

    async def _wait_for_exit(self, exit_timeout: float, event: str) -> bool:
        """Wait until the process has ended; return False if it ended only after the server had ended the stream."""
        stopwatch = Stopwatch(self.program.pids)
        with trio.move_on_after(exit_timeout):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._answer_goodbye)
                await self.program.exited.wait()
                nursery.cancel_scope.cancel()
        if self.program.exited.is_set():
            return True
        is_open = self._connection.output_phase is not OutputPhase.CLOSED
        late = self._late(
            f"the process still runs {exit_timeout:g} s after the end of {event}", stopwatch, exit_timeout
        )
        if not is_open or isinstance(late, InconclusiveError):
            raise late
        await self._end_stream()
        await self._wait_for_exit(exit_timeout, "the stream")
        return False

    async def _answer_goodbye(self) -> None:
        """End the stream when the program has ended its own or has said goodbye, as every server does."""
        try:
            while not isinstance(await self._next_event(), StreamEnd | ConnectionClosed | CloseConnection):
                pass
        except RemoteProtocolError:
            pass
        except UnexpectedBehaviourError:
            self._connection.close()  # the program has reset the connection, so there is no stream to end
            return
        await self._end_stream()

    def exit_text(self) -> str:
        """Return how the process ended; empty while it is running."""
        code = self.program.returncode
        if code is None:
            return ""
        return f"the process ended by signal {-code}" if code < 0 else f"the process ended with exit code {code}"

    def _late(self, text: str, stopwatch: Stopwatch, limit: float) -> UnexpectedBehaviourError:
        """Return the error for something that has not happened since the stopwatch was started."""
        return too_slow(text, stopwatch.seconds, stopwatch.seconds_lost(self.program.pids), limit, UNFINISHED_SHARE)

    # -- bytes ------------------------------------------------------------------------------------------------------

    def _position(self, change: Callable[[bytes], bytes] | None) -> bytes:
        packet = self._edition.dialect.encode(RoomMessage(_ROOM, Memento(self.state, self.names)))
        return self._connection.send_encoded(change(packet) if change else packet)

    @property
    def names(self) -> tuple[str, str]:
        """The players' names by seat."""
        return _NAMES if self.seat == 0 else (_NAMES[1], _NAMES[0])

    async def _receive(self) -> Message:
        try:
            return await self._next_message()
        except RemoteProtocolError as error:
            raise UnexpectedBehaviourError(f"bytes came that cannot be understood: {error}; {_CUTS_OFF}") from None

    async def _next_message(self) -> Message:
        event = await self._next_event()
        if isinstance(event, StreamEnd | ConnectionClosed | CloseConnection):
            raise UnexpectedBehaviourError(await self._reason_for_leaving())
        return event

    def _description(self, message: Message) -> str:
        """Describe a packet in terms of the protocol."""
        if isinstance(message, UnknownPacket):
            return message.tag
        if isinstance(message, RoomMessage) and isinstance(message.data, UnreadableData):
            return "a room packet that cannot be read"
        packet = self._edition.dialect.encode(message)
        found = _DATA_CLASS.search(packet)
        if isinstance(message, RoomMessage) and found:
            return f"a room packet with data of class {found[1].decode()}"
        tag = _TAG.search(packet)
        assert tag is not None
        return tag[1].decode()

    async def _next_event(self) -> Event:
        assert self._stream is not None
        while True:
            event = self._connection.next_event()
            if event is not None:
                return event
            try:
                data = bytes(await self._stream.receive_some(_READ_SIZE))
            except (trio.BrokenResourceError, trio.ClosedResourceError):
                raise UnexpectedBehaviourError(await self._reason_for_leaving()) from None
            self._log.write("program >", data)
            self._connection.receive_data(data)

    async def _reason_for_leaving(self) -> str:
        await self.aclose()  # some programs end only after that
        with trio.move_on_after(EXIT_TIMEOUT):  # a crashing process closes its connection first
            await self.program.exited.wait()
        return "it ended its connection; " + (self.exit_text() or "the process runs on")

    async def _write(self, data: bytes) -> None:
        assert self._stream is not None
        self._log.write("program <", data)
        try:
            await self._stream.send_all(data)
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            raise UnexpectedBehaviourError(await self._reason_for_leaving()) from None

    async def _end_stream(self) -> None:
        """End the stream, unless it has ended already; a program that has left by now is judged by its exit code."""
        if self._connection.output_phase is OutputPhase.CLOSED:
            return
        with suppress(UnexpectedBehaviourError, trio.BrokenResourceError, trio.ClosedResourceError):
            await self._write(self._connection.close())
            assert self._stream is not None
            await self._stream.send_eof()

    async def aclose(self) -> None:
        if self._stream is not None:
            await trio.aclose_forcefully(self._stream)


class GameOver(Exception):  # noqa: N818 - not an error
    """The game is over by the rules."""


@dataclass(frozen=True, slots=True)
class Confined:
    """A program that runs in a sandbox: the sandbox, and the program's folder, of which each run gets a copy."""

    sandbox: Sandbox
    folder: Path


@asynccontextmanager
async def open_scripted_server(
    edition: Edition,
    command: Command,
    seat: Seat,
    folder: Path,
    tag: str,
    connect_timeout: float,
    confined: Confined | None = None,
    environment: Mapping[str, str] = MappingProxyType({}),
) -> AsyncIterator[ScriptedServer]:
    """Start the program with a scripted server to connect to; leaving the context ends the program.

    The program's outputs and the bytes on the wire are kept in `folder`. `confined` is the sandbox that it runs in;
    None for none. `environment` are its variables beside those that every program gets. Raises
    UnexpectedBehaviourError, and InconclusiveError if this machine or the sandbox failed.
    """
    with _failures_of_this_machine():
        await trio.Path(folder).mkdir(parents=True, exist_ok=True)
        with closing(WireLog(folder / WIRE_LOG)) as log:
            async with _open_port(confined) as port:
                host, number = port.address
                values = {"host": host, "port": str(number), "reservation": RESERVATION, "seed": "1"}
                values["game"] = edition.game_type
                program = Program(
                    command.arguments(values),
                    tag,
                    folder / "stdout.log",
                    folder / "stderr.log",
                    cwd="" if confined is None else str(confined.folder),
                    environment=environment,
                    is_own=command.is_builtin,
                    confinement=port.run,
                )
                problem: MatchError | None = None
                async with trio.open_nursery() as nursery:
                    scripted_server: ScriptedServer | None = None
                    try:
                        await nursery.start(program.run)
                        listener = await port.listener()
                        scripted_server = ScriptedServer(edition, seat, program, listener, connect_timeout, log)
                        yield scripted_server
                    except UnexpectedBehaviourError as error:  # raised later, so that it is not wrapped in a group
                        problem = error
                    except NotStartedError as error:
                        problem = UnexpectedBehaviourError(str(error))
                    finally:
                        if scripted_server is not None:
                            with trio.CancelScope(shield=True, deadline=trio.current_time() + 1):
                                await scripted_server.aclose()
                    await program.end(0)
                    nursery.cancel_scope.cancel()
                if problem is not None:
                    raise problem


@contextmanager
def _failures_of_this_machine() -> Iterator[None]:
    """Raise a failure of this machine or of a sandbox as InconclusiveError, without an exception group."""
    problem: BaseException | None = None
    try:
        yield
    except* (SandboxError, SupervisorError, OSError) as group:
        problem = first_error(group)
    if problem is not None:
        text = os_error_text(problem) if isinstance(problem, OSError) else str(problem)
        raise InconclusiveError(f"this machine failed: {text}")


@asynccontextmanager
async def _open_port(confined: Confined | None) -> AsyncIterator[ProgramPort]:
    """Open the port that the program connects to, in its sandbox if it has one. Raises OSError."""
    if confined is None:
        with socket.socket() as listener:
            listener.setblocking(False)
            listener.bind((_HOST, 0))
            listener.listen(1)
            yield ProgramPort((_HOST, int(listener.getsockname()[1])), listener)
    else:
        async with open_run(confined.sandbox, confined.folder) as run:
            yield ProgramPort(run.address, None, run)


@dataclass(frozen=True, slots=True)
class EarlyEnding:
    """An end of a game: by a fault of the program (`own`), by one of its opponent (`other`), or without a fault."""

    text: str
    own: Cause = Cause.REGULAR
    other: Cause = Cause.REGULAR
    has_begun: bool = True


EARLY_ENDINGS: Final = (
    EarlyEnding("the opponent leaves", other=Cause.LEFT),
    EarlyEnding("the opponent breaks a rule", other=Cause.RULE_VIOLATION),
    EarlyEnding("the opponent is too slow", other=Cause.SOFT_TIMEOUT),
    EarlyEnding("the opponent never answers", other=Cause.HARD_TIMEOUT),
    EarlyEnding("the program is told that it broke a rule", own=Cause.RULE_VIOLATION),
    EarlyEnding("the program is told that it was too slow", own=Cause.SOFT_TIMEOUT),
    EarlyEnding("the program is told that it never answered", own=Cause.HARD_TIMEOUT),
    EarlyEnding("the game is called off"),
    EarlyEnding("the room closes before the game begins", has_begun=False),
)


def result_of(edition: Edition, scripted_server: ScriptedServer, end: EarlyEnding) -> Result:
    """Return the result that the edition's server sends if the game now ends by `end`."""
    own = scripted_server.seat
    if not end.has_begun:  # the opponent never takes its seat
        absent = {1 - own: (Cause.LEFT, "not connected")} if edition.policy.absent_players_left else {}
        ending = Ending.by_faults(absent) if absent else Ending.cancelled(())
    elif end.own is not Cause.REGULAR:
        ending = Ending.by_faults({own: (end.own, f"cause {end.own.value}")})
    elif end.other is not Cause.REGULAR:
        ending = Ending.by_faults({1 - own: (end.other, f"cause {end.other.value}")})
    else:
        ending = Ending.by_command(scripted_server.state, edition, scripted_server.names)
    return ending.result(edition, scripted_server.state, scripted_server.names)


def result_by_rules(edition: Edition, scripted_server: ScriptedServer) -> Result:
    """Return the result that the edition's server sends for a game that is over by the rules."""
    outcome = scripted_server.state.outcome()
    assert outcome is not None
    ending = Ending.by_rules(outcome, edition, scripted_server.names)
    return ending.result(edition, scripted_server.state, scripted_server.names)
