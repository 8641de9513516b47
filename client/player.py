"""A player: takes a seat, answers what it is asked with a strategy, and reports how the game ended.

Law: a player plays one game at a time, in one task; its strategy runs beside the reading, so that the end of the game
is noticed while it still thinks (and then cancels it). The player believes the server: it keeps the last position it
was sent and never plays moves on its own.
"""

from __future__ import annotations

import enum
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TypeAlias

import trio

from client.defaults import DEFAULT_HOST, DEFAULT_PORT
from client.editions import DEFAULT_DIALECT
from client.errors import ConnectionLostError, ServerProtocolError, refusal
from client.transport import Transport, open_transport
from game.api import Move, Seat, State
from protocol.dialect import Dialect
from protocol.messages import (
    Cause,
    CloseConnection,
    ErrorMessage,
    ErrorPacket,
    Joined,
    JoinPreparedRequest,
    JoinRequest,
    JoinRoomRequest,
    Left,
    Memento,
    MoveData,
    MoveRequest,
    Result,
    RoomData,
    RoomMessage,
    WelcomeMessage,
)


class GameEnd(enum.Enum):
    """How a player's part in a game ended, as the player saw it."""

    RESULT = "result"  # the server gave a result
    LEFT = "left"  # the server closed the room without a result
    REFUSED = "refused"  # the server refused something and said why
    ENDED = "ended"  # the server's stream ended, and nothing else was said
    LOST = "lost"  # the connection broke
    ABANDONED = "abandoned"  # this player vanished itself


@dataclass(frozen=True, slots=True)
class GameReport:
    """One game as its player saw it."""

    end: GameEnd
    room_id: str | None
    seat: Seat | None
    """None if the game never began."""
    result: Result | None
    state: State | None
    """The last position that was seen."""
    moves_played: int
    """Moves that were sent, accepted or not."""
    errors: tuple[str, ...] = ()
    """What the server said about moves and requests it did not accept, in order."""

    @property
    def cause(self) -> Cause | None:
        """Why the game ended for this player."""
        return self.result.scores[self.seat].cause if self.result and self.seat is not None else None

    @property
    def has_won(self) -> bool:
        return self.result is not None and self.result.winners == (self.seat,)

    @property
    def is_draw(self) -> bool:
        return self.result is not None and len(self.result.winners) == 2


class Player:
    """A connection that plays. `state`, `seat` and `room_id` are those of the game that is played."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._send_lock = trio.Lock()
        self._is_abandoned = False
        self.watch: Callable[[RoomData], None] | None = None
        """Is told at once of everything that the game's room says; must return at once, since the player waits."""
        self._reset(None)

    def _reset(self, room_id: str | None) -> None:
        self.room_id = room_id
        self.seat: Seat | None = None
        self.state: State | None = None
        self.moves_played = 0
        self._is_thinking = False
        self._result: Result | None = None
        self._errors: list[str] = []

    @classmethod
    @asynccontextmanager
    async def connect(
        cls,
        host: str = DEFAULT_HOST,
        port: int = DEFAULT_PORT,
        *,
        dialect: Dialect = DEFAULT_DIALECT,
        wait_timeout: float = 0.0,
    ) -> AsyncIterator[Player]:
        """A player at a server; leaving says goodbye. Raises CannotConnectError.

        `wait_timeout`: seconds for which a server that is not there yet is waited for.
        """
        transport = await open_transport(host, port, dialect, wait_timeout=wait_timeout)
        try:
            yield cls(transport)
        finally:
            await transport.aclose()

    async def join(self, game_type: str | None = None) -> str | None:
        """Take a seat in any open game of this type, or in a new one; the room's id. Raises ClientError."""
        return await self._take_seat(JoinRequest(game_type))

    async def join_room(self, room_id: str) -> str | None:
        """Take the free, unreserved seat in this room; the room's id. Raises ClientError."""
        return await self._take_seat(JoinRoomRequest(room_id))

    async def join_prepared(self, reservation_code: str) -> str | None:
        """Take the reserved seat; the room's id. Raises ClientError.

        Some editions answer only when both reserved seats are taken.
        """
        return await self._take_seat(JoinPreparedRequest(reservation_code))

    async def _take_seat(self, request: JoinRequest | JoinRoomRequest | JoinPreparedRequest) -> str | None:
        await self._transport.send(request)
        async for message in self._transport:
            if isinstance(message, Joined):
                self._reset(message.room_id)
                return message.room_id
            if isinstance(message, ErrorPacket):
                raise refusal(message.message, message.original_request)
        raise ConnectionLostError("the server ended the connection instead of giving a seat")

    async def send_move(self, move: Move, hints: tuple[str, ...] = ()) -> None:
        """Answer a request. Raises ConnectionLostError."""
        self._is_thinking = False  # from here on the server may ask again
        self.moves_played += 1
        async with self._send_lock:
            await self._transport.send(RoomMessage(self.room_id, MoveData(move, hints)))

    async def send_bytes(self, data: bytes) -> None:
        """Send bytes that need not be a packet (a strategy that means harm). Raises ConnectionLostError."""
        async with self._send_lock:
            await self._transport.send_bytes(data)

    async def abort(self) -> None:
        """Vanish without a goodbye; the game that is played is reported as abandoned."""
        self._is_abandoned = True
        await self._transport.abort()

    async def play(self, strategy: Strategy) -> GameReport:
        """Play the game that was joined to its end.

        Whatever ends the game is reported, not raised. Raises what the strategy raises, and ServerProtocolError if
        the server cannot be understood.
        """
        failures: list[Exception] = []
        end = GameEnd.LOST

        async with trio.open_nursery() as nursery:

            async def answer(state: State) -> None:
                try:
                    await strategy(self, state)
                except ConnectionLostError:
                    pass  # the reader sees it too, after everything that was sent before
                except Exception as error:  # kept, so that it does not come out wrapped in a group
                    failures.append(error)
                    nursery.cancel_scope.cancel()

            def ask(state: State) -> None:
                # releases ask again when a game is resumed; one answer is enough
                if not self._is_thinking:
                    self._is_thinking = True
                    nursery.start_soon(answer, state)

            try:
                end = await self._follow(ask)
            except ServerProtocolError as error:
                failures.append(error)
            nursery.cancel_scope.cancel()

        if failures:
            raise failures[0]
        return GameReport(
            end, self.room_id, self.seat, self._result, self.state, self.moves_played, tuple(self._errors)
        )

    async def _follow(self, ask: Callable[[State], None]) -> GameEnd:
        """Read until the game is over, keeping what is said and handing on requests.

        What is refused need not be the end: some editions keep whoever asked, and its game goes on.
        """
        end = GameEnd.ENDED
        try:
            async for message in self._transport:
                if self.watch is not None and isinstance(message, RoomMessage) and message.data is not None:
                    self.watch(message.data)
                match message:
                    case RoomMessage(data=MoveRequest()):
                        if self.state is None:
                            raise ServerProtocolError("the server asked for a move before it had sent a position")
                        ask(self.state)
                    case RoomMessage(data=WelcomeMessage(seat)):
                        self.seat = seat
                    case RoomMessage(data=Memento(state=state)):
                        self.state = state
                    case RoomMessage(data=ErrorMessage(message=text)):
                        self._errors.append(text)
                    case RoomMessage(data=Result() as result):
                        self._result = result
                    case ErrorPacket(message=text):
                        self._errors.append(text)
                    case Left(room_id) if room_id == self.room_id:
                        return self._end(GameEnd.LEFT)
                    case CloseConnection():
                        break
        except ConnectionLostError:
            end = GameEnd.LOST
        return self._end(GameEnd.REFUSED if self._errors else end)

    def _end(self, without_result: GameEnd) -> GameEnd:
        if self._is_abandoned:
            return GameEnd.ABANDONED
        return GameEnd.RESULT if self._result else without_result


Strategy: TypeAlias = Callable[[Player, State], Awaitable[None]]
"""Is called for each request, with the position it is about, and answers with `player.send_move`."""


def choosing(choose: Callable[[State], Move]) -> Strategy:
    """The strategy that answers each position with the move `choose` gives."""

    async def answer(player: Player, state: State) -> None:
        await player.send_move(choose(state))

    return answer
