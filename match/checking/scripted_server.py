"""A server that plays one game by a script, to check how a program behaves.

Invariants: everything that it sends could come from a real server; the script only decides how the bytes are split and
which unknown elements they contain. It does nothing that only our server does: it refuses content at which an official
server ends the connection, and leaves the stream open after a game. Unexpected behaviour of the program is raised as
UnexpectedBehaviourError, in terms of the protocol; as InconclusiveError if something took too long only because this
machine was busy. All bytes are logged.
"""

from __future__ import annotations

import random
import re
import socket
from collections.abc import Callable
from contextlib import suppress
from typing import Final

import trio

from spielleiter.game.api import Move, Seat, State
from spielleiter.match.checking.answer import Answer
from spielleiter.match.checking.errors import UnexpectedBehaviourError
from spielleiter.match.checking.packet_variants import Splitter, unsplit
from spielleiter.match.checking.program_connection import ProgramConnection
from spielleiter.match.games.stopwatch import Stopwatch
from spielleiter.match.programs.program import Program
from spielleiter.match.records.wire_log import WireLog
from spielleiter.protocol.connection import ConnectionClosed, StreamEnd
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
from spielleiter.server.core.policy import Edition

_ROOM: Final = "5c00c0de-0000-4000-8000-000000000001"
RESERVATION: Final = "5c00c0de-0000-4000-8000-000000000002"
"""The reservation code that the program is started with."""

_NAMES: Final = ("program", "script")
_PIECE_INTERVAL: Final = 0.002  # seconds between two pieces, so that they are sent separately
_CUTS_OFF: Final = "the official server ends the connection at that without a word"
_TAG: Final = re.compile(rb"<([\w.]+)")
_DATA_CLASS: Final = re.compile(rb"<data class=[\"']([^\"']+)")


class ScriptedServer(ProgramConnection):
    """A scripted server for one program on `seat`; `connect_timeout` is in seconds.

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
        super().__init__(edition, program, log)
        self.seat = seat
        self.rng = random.Random(f"script {seat}")
        self.state: State = edition.game.new_state(self.rng)
        self.longest = 0.0
        """The time of the slowest answer, in seconds."""
        self.answers = 0
        """The number of moves that could be played."""
        self._last_move: Move | None = None
        self._listener = listener
        self._connect_timeout = connect_timeout

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
            with trio.move_on_after(self._connect_timeout):
                await trio.lowlevel.wait_readable(self._listener)
                accepted.append(self._listener.accept()[0])
            nursery.cancel_scope.cancel()
        if not accepted:
            if ended := self.exit_text():
                raise UnexpectedBehaviourError(ended)
            raise self._late(f"nobody connected in {self._connect_timeout:g} s", stopwatch, self._connect_timeout)
        accepted[0].setblocking(False)
        self._stream = trio.SocketStream(trio.socket.from_stdlib_socket(accepted[0]))

    async def take_seat(self) -> str:
        """Wait for the program's request for a seat and grant it; return the tag of the request.

        Only this program knows the port, so a plain ``join`` can only ask for this seat; a ``join`` for another game is
        refused at once.
        """
        stopwatch = Stopwatch(self.program.pids)
        with trio.move_on_after(self._connect_timeout):
            message = await self._receive()
            match message:
                case JoinPreparedRequest(code) if code != RESERVATION:
                    raise UnexpectedBehaviourError(
                        f"joinPrepared came with reservation code {code!r}, not {RESERVATION!r}"
                    )
                case JoinPreparedRequest() | JoinRequest(None):
                    pass
                case JoinRequest(game_type) if game_type != self._edition.game_type:
                    await self._refuse_game(message)
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
        raise self._late(f"no request for a seat came in {self._connect_timeout:g} s", stopwatch, self._connect_timeout)

    async def _refuse_game(self, request: JoinRequest) -> None:
        """Tell the program which game is played here, as the edition's server does, and end the stream."""
        dialect = self._edition.dialect
        with suppress(UnexpectedBehaviourError):
            if dialect.has_packet(ErrorPacket):
                text = dialect.texts.unknown_game_type(request.game_type, (self._edition.game_type,))
                await self.send(ErrorPacket(text, request))
            await self.send(CloseConnection())
            await self._end_stream()

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
            self.state = self.state.play(self.rng.choice(list(self.state.generate_legal_moves())))
            if self.state.outcome() is not None:
                await self._send_packets(packets, split, is_coalesced=is_coalesced)
                raise GameOver
            packets.append(self._position(change))
        packets.append(self._connection.send(RoomMessage(_ROOM, MoveRequest())))
        pids = self.program.pids
        await self._send_packets(packets, split, is_coalesced=is_coalesced)
        return await self._receive_answer(Stopwatch(pids), answer_timeout, answer_timeout if limit is None else limit)

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
        self._last_move = move
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
        assert self._last_move is not None
        policy, dialect, move = self._edition.policy, self._edition.dialect, MoveData(self._last_move)
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

    # -- bytes ------------------------------------------------------------------------------------------------------

    def _position(self, change: Callable[[bytes], bytes] | None) -> bytes:
        packet = self._edition.dialect.encode(RoomMessage(_ROOM, Memento(self.state, self.names)))
        return self._connection.send_encoded(change(packet) if change else packet)

    @property
    def names(self) -> tuple[str, str]:
        """The players' names by seat."""
        return _NAMES if self.seat == 0 else (_NAMES[1], _NAMES[0])

    async def _receive_answer(self, stopwatch: Stopwatch, answer_timeout: float, limit: float) -> Answer:
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
        raise self._late(f"no answer came in {answer_timeout:g} s", stopwatch, limit)

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


class GameOver(Exception):  # noqa: N818 - not an error
    """The game is over by the rules."""
