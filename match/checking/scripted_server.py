"""A server that plays one game by a script, to see how a program takes it.

Invariants: everything it says is what a real server may say; the script only decides how the bytes are cut up and what
else stands in them. Whatever the program does that was not expected is raised as a SurpriseError, in the words of the
wire; if it took too long only because this machine was busy, as a SpoiltError. All bytes are kept in a log.
"""

from __future__ import annotations

import random
import re
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import trio

from spielleiter.game.api import Move, Seat, State
from spielleiter.match.checking.packet_variants import Cut, in_one_piece
from spielleiter.match.checking.surprise import SurpriseError, too_slow
from spielleiter.match.errors import MatchError, NotStartedError
from spielleiter.match.games.stopwatch import Stopwatch
from spielleiter.match.programs.program import Command, Program
from spielleiter.match.records.wire_log import WIRE_LOG, WireLog
from spielleiter.protocol.connection import Connection, ConnectionClosed, Role, StreamEnd
from spielleiter.protocol.errors import RemoteProtocolError
from spielleiter.protocol.messages import (
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
from spielleiter.server.config.config import Config
from spielleiter.server.core.policy import Edition
from spielleiter.server.net.packet_limits import player_limits

_HOST: Final = "127.0.0.1"
_ROOM: Final = "5c00c0de-0000-4000-8000-000000000001"
_RESERVATION: Final = "5c00c0de-0000-4000-8000-000000000002"
_NAMES: Final = ("program", "script")
_READ: Final = 64 * 1024
_LAST_BREATH: Final = 1.0  # seconds
_PAUSE: Final = 0.002  # seconds between two pieces, so that they do not travel together
_TAG: Final = re.compile(rb"<([\w.]+)")
_DATA_CLASS: Final = re.compile(rb"<data class=[\"']([^\"']+)")


@dataclass(frozen=True, slots=True)
class Answer:
    """What came for a request, and after how many seconds; `data` is None where it cannot be understood at all.

    `seconds_lost`: how many of them the program, or this process, waited for a processor.
    """

    data: MoveData | UnreadableData | None
    seconds: float
    problem: str = ""
    seconds_lost: float = 0.0

    def require_within(self, limit: float) -> None:
        """Raises SpoiltError or SurpriseError if it came after `limit` seconds."""
        if self.seconds > limit:
            raise too_slow(f"the answer came after {self.seconds:.3f} s", self.seconds, self.seconds_lost, limit)


class ScriptedServer:
    """One program before a scripted server. Methods raise SurpriseError."""

    def __init__(
        self,
        edition: Edition,
        seat: Seat,
        program: Program,
        listening: socket.socket,
        patience: float,
        log: WireLog,
    ) -> None:
        self.program = program
        self.seat = seat
        self.rng = random.Random(f"script {seat}")
        self.state: State = edition.game.new_state(self.rng)
        self.longest = 0.0
        """Seconds of the slowest answer."""
        self.answers = 0
        """How many moves came that could be played."""
        self._last_move: Move | None = None
        self._edition = edition
        self._listening = listening
        self._patience = patience
        self._log = log
        self._connection = Connection(Role.SERVER, edition.dialect)
        self._connection.limits = player_limits(Config())
        self._stream: trio.SocketStream | None = None

    # -- the parts of a game ----------------------------------------------------------------------------------------

    async def wait_for_connection(self) -> None:
        """Until the program has connected."""
        accepted: list[socket.socket] = []
        watch = Stopwatch(self.program.pids)
        async with trio.open_nursery() as nursery:

            async def wait_for_its_end() -> None:
                await self.program.exited.wait()
                nursery.cancel_scope.cancel()

            nursery.start_soon(wait_for_its_end)
            with trio.move_on_after(self._patience):
                await trio.lowlevel.wait_readable(self._listening)
                accepted.append(self._listening.accept()[0])
            nursery.cancel_scope.cancel()
        if not accepted:
            if ended := self.how_it_ended():
                raise SurpriseError(ended)
            raise self._late(f"nobody connected in {self._patience:g} s", watch, self._patience)
        accepted[0].setblocking(False)
        self._stream = trio.SocketStream(trio.socket.from_stdlib_socket(accepted[0]))

    async def take_seat(self) -> str:
        """Until the program has asked for a seat; it is given it. The result is how it asked, in the wire's words.

        Nobody else knows this port, so that a plain ``join`` can only mean this seat; but for another game it is
        refused at once.
        """
        watch = Stopwatch(self.program.pids)
        with trio.move_on_after(self._patience):
            message = await self._receive()
            match message:
                case JoinPreparedRequest(code) if code != _RESERVATION:
                    raise SurpriseError(f"joinPrepared came with reservation code {code!r}, not {_RESERVATION!r}")
                case JoinPreparedRequest() | JoinRequest(None):
                    pass
                case JoinRequest(game_type) if game_type != self._edition.game_type:
                    await self._refuse_game(message)
                    raise SurpriseError(
                        f"join came for gameType {game_type!r}, but the game here is {self._edition.game_type!r}; "
                        "--game and --edition say which season is checked"
                    )
                case JoinRequest():
                    pass
                case _:
                    raise SurpriseError(f"{self._described(message)} came instead of joinPrepared")
            await self.send(Joined(_ROOM))
            return self._described(message)
        raise self._late(f"no request for a seat came in {self._patience:g} s", watch, self._patience)

    async def _refuse_game(self, request: JoinRequest) -> None:
        """Say which game there is, as the edition's server does, and end the stream."""
        dialect = self._edition.dialect
        with suppress(SurpriseError):
            if dialect.has_packet(ErrorPacket):
                text = dialect.texts.unknown_game_type(request.game_type, (self._edition.game_type,))
                await self.send(ErrorPacket(text, request))
            await self.send(CloseConnection())
            await self._end_stream()

    async def begin(self) -> None:
        """Welcome the program to its seat."""
        await self.say(WelcomeMessage(self.seat))

    async def ask(
        self,
        patience: float,
        *,
        limit: float | None = None,
        cut: Cut = in_one_piece,
        is_coalesced: bool = False,
        spoil: Callable[[bytes], bytes] | None = None,
    ) -> Answer:
        """Let the other player move until the program is on turn, show each position and ask for a move.

        `patience` is how long the answer is waited for, and `limit` when it should have come; both are seconds. `cut`
        says how each packet travels, `is_coalesced` that all travel together, `spoil` changes a position.
        Raises GameOver if the other player ends the game; the last position has not been shown then.
        """
        packets = [self._position(spoil)]
        while self.state.seat_on_turn != self.seat:
            self.state = self.state.play(self.rng.choice(list(self.state.generate_legal_moves())))
            if self.state.outcome() is not None:
                await self._travel(packets, cut, is_coalesced=is_coalesced)
                raise GameOver
            packets.append(self._position(spoil))
        packets.append(self._connection.send(RoomMessage(_ROOM, MoveRequest())))
        pids = self.program.pids
        await self._travel(packets, cut, is_coalesced=is_coalesced)
        return await self._answer(Stopwatch(pids), patience, patience if limit is None else limit)

    async def _travel(self, packets: list[bytes], cut: Cut, *, is_coalesced: bool) -> None:
        for packet in [b"".join(packets)] if is_coalesced else packets:
            for piece in cut(packet, self.rng):
                await self._write(piece)
                if cut is not in_one_piece:
                    await trio.sleep(_PAUSE)

    def play(self, move: Move) -> None:
        """Make the program's move. Raises SurpriseError for an illegal one, GameOver for one that ends the game."""
        mistake = self.state.check(move)
        if mistake is not None:
            raise SurpriseError(f"{move}: {mistake.name}")
        self.state = self.state.play(move)
        self.answers += 1
        self._last_move = move
        if self.state.outcome() is not None:
            raise GameOver

    async def show(self) -> None:
        """The position as it is."""
        await self._write(self._position(None))

    async def tell_violation(self) -> None:
        """The room's word that the program's last move broke a rule, as it comes before such a result."""
        assert self._last_move is not None
        await self.say(ErrorMessage(f"Ungueltiger Zug von '{self.names[self.seat]}'.", MoveData(self._last_move)))

    async def say(self, data: WelcomeMessage | MoveRequest | Result | ErrorMessage) -> None:
        await self.send(RoomMessage(_ROOM, data))

    async def send(self, message: Message) -> None:
        await self._write(self._connection.send(message))

    async def finish(self, result: Result | None) -> None:
        """Say how the game ended (None: that it never began), that it is over, and end the stream."""
        with suppress(SurpriseError):  # whoever has gone by now is judged by how it ended
            if result is not None:
                await self.say(result)
            await self.send(Left(_ROOM))
            await self._end_stream()

    async def _end_stream(self) -> None:
        await self._write(self._connection.close())
        assert self._stream is not None
        with suppress(trio.BrokenResourceError):
            await self._stream.send_eof()

    async def expect_silence(self, seconds: float) -> None:
        """For so long nothing comes from the program, and it stays."""
        with trio.move_on_after(seconds):
            message = await self._receive()
            raise SurpriseError(f"{self._described(message)} came, though nothing had been asked")

    async def expect_exit(self, patience: float) -> str:
        """Until the process has ended itself; how it did."""
        watch = Stopwatch(self.program.pids)
        with trio.move_on_after(patience):
            await self.program.exited.wait()
        if not self.program.exited.is_set():
            raise self._late(f"the process still runs {patience:g} s after the end of the stream", watch, patience)
        how = self.how_it_ended()
        if self.program.returncode is not None and self.program.returncode < 0:
            raise SurpriseError(how)
        return how

    def how_it_ended(self) -> str:
        """In words; empty while the process runs."""
        code = self.program.returncode
        if code is None:
            return ""
        return f"the process ended by signal {-code}" if code < 0 else f"the process ended with exit code {code}"

    # -- bytes ------------------------------------------------------------------------------------------------------

    def _position(self, spoil: Callable[[bytes], bytes] | None) -> bytes:
        packet = self._edition.dialect.encode(RoomMessage(_ROOM, Memento(self.state, self.names)))
        return self._connection.send_encoded(spoil(packet) if spoil else packet)

    @property
    def names(self) -> tuple[str, str]:
        """By seat."""
        return _NAMES if self.seat == 0 else (_NAMES[1], _NAMES[0])

    def _late(self, text: str, watch: Stopwatch, limit: float) -> SurpriseError:
        """What is to be raised for something that has not happened since the watch began."""
        return too_slow(text, watch.seconds, watch.seconds_lost(self.program.pids), limit)

    async def _answer(self, watch: Stopwatch, patience: float, limit: float) -> Answer:
        with trio.move_on_after(patience):
            try:
                message = await self._next_message()
            except RemoteProtocolError as error:
                return Answer(None, watch.seconds, str(error), watch.seconds_lost())
            seconds = watch.seconds
            self.longest = max(self.longest, seconds)
            lost = watch.seconds_lost()
            match message:
                case RoomMessage(data=MoveData() | UnreadableData() as data):
                    return Answer(data, seconds, data.problem if isinstance(data, UnreadableData) else "", lost)
                case _:
                    return Answer(None, seconds, f"{self._described(message)} came instead of a move", lost)
        raise self._late(f"no answer came in {patience:g} s", watch, limit)

    async def _receive(self) -> Message:
        try:
            return await self._next_message()
        except RemoteProtocolError as error:
            raise SurpriseError(f"bytes came that cannot be understood: {error}") from None

    async def _next_message(self) -> Message:
        assert self._stream is not None
        while True:
            event = self._connection.next_event()
            if isinstance(event, StreamEnd | ConnectionClosed | CloseConnection):
                raise SurpriseError(await self._why_it_left())
            if event is not None:
                return event
            try:
                data = bytes(await self._stream.receive_some(_READ))
            except trio.BrokenResourceError:
                raise SurpriseError(await self._why_it_left()) from None
            self._log.write("program >", data)
            self._connection.receive_data(data)

    async def _why_it_left(self) -> str:
        await self.aclose()  # some wait for that before they end
        with trio.move_on_after(_LAST_BREATH):  # a process that dies closes its connection first
            await self.program.exited.wait()
        return "it ended its connection; " + (self.how_it_ended() or "the process runs on")

    async def _write(self, data: bytes) -> None:
        assert self._stream is not None
        self._log.write("program <", data)
        try:
            await self._stream.send_all(data)
        except trio.BrokenResourceError:
            raise SurpriseError(await self._why_it_left()) from None

    def _described(self, message: Message) -> str:
        """A packet in the words of the wire."""
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

    async def aclose(self) -> None:
        if self._stream is not None:
            await trio.aclose_forcefully(self._stream)


class GameOver(Exception):  # noqa: N818 - not an error
    """The rules say that the game is over."""


@asynccontextmanager
async def open_scripted_server(
    edition: Edition, command: Command, seat: Seat, folder: Path, mark: str, patience: float
) -> AsyncIterator[ScriptedServer]:
    """Start the program before a scripted server; leaving ends it. Raises SurpriseError.

    `folder` keeps its outputs and the bytes on the wire.
    """
    with WireLog(folder / WIRE_LOG) as log, socket.socket() as listening:
        listening.setblocking(False)
        listening.bind((_HOST, 0))
        listening.listen(1)
        port = listening.getsockname()[1]
        places = {"host": _HOST, "port": str(port), "reservation": _RESERVATION, "seed": "1"}
        places["game"] = edition.game_type
        outputs = folder / "stdout.log", folder / "stderr.log"
        program = Program(command.arguments(places), mark, *outputs)
        scripted_server = ScriptedServer(edition, seat, program, listening, patience, log)
        problem: MatchError | None = None
        async with trio.open_nursery() as nursery:
            try:
                await nursery.start(program.run)
                yield scripted_server
            except SurpriseError as surprise:  # kept, so that it does not come out wrapped in a group
                problem = surprise
            except NotStartedError as error:
                problem = SurpriseError(str(error))
            finally:
                with trio.CancelScope(shield=True, deadline=trio.current_time() + 1):
                    await scripted_server.aclose()
            await program.end(0)
            nursery.cancel_scope.cancel()
        if problem is not None:
            raise problem
