"""A player: takes a seat, asks a strategy for each move, and reports how the game ended.

Invariants: a player plays one game at a time, in one task. Its strategy runs beside the reading, so that the end of the
game is noticed while the strategy still thinks (and then cancels it). The player trusts the server: it keeps the last
position it was sent and never plays moves on its own. When `play` raises, the seat has been given up.
"""

from __future__ import annotations

import enum
import reprlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import TypeAlias

import trio

from spielleiter.client.asking import Strategy, ask
from spielleiter.client.errors import (
    ConnectionLostError,
    NotAMoveError,
    ServerProtocolError,
    StrategyError,
    UnspeakableError,
    refusal,
)
from spielleiter.client.transport import CLOSE_TIMEOUT, Transport, open_transport
from spielleiter.game.api import Move, Seat, State
from spielleiter.protocol.current_season import DEFAULT_DIALECT
from spielleiter.protocol.defaults import DEFAULT_HOST, DEFAULT_PORT
from spielleiter.protocol.dialect import Dialect
from spielleiter.protocol.messages import (
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
    """One game as its player saw it.

    `end` says how it ended, `result` is the server's result or None. `seat` (0 or 1) is None if the game never began.
    `state` is the last position that was seen. `moves_played` counts the moves that were sent, accepted or not.
    `errors` has what the server said about moves and requests it did not accept, in order.
    """

    end: GameEnd
    room_id: str | None
    seat: Seat | None
    result: Result | None
    state: State | None
    moves_played: int
    errors: tuple[str, ...] = ()

    @property
    def cause(self) -> Cause | None:
        """How this player fared, such as Cause.REGULAR or Cause.SOFT_TIMEOUT; None without a result."""
        return self.result.scores[self.seat].cause if self.result and self.seat is not None else None

    @property
    def reason(self) -> str:
        """What went wrong for whom, in the server's words; empty if nothing did.

        Without a result it is what the server refused last.
        """
        if self.result is None:
            return self.errors[-1] if self.errors else ""
        return "; ".join(
            f"player {seat + 1}: {score.reason}" for seat, score in enumerate(self.result.scores) if score.reason
        )

    @property
    def has_won(self) -> bool:
        """Whether this player alone has won."""
        return self.result is not None and self.result.winners == (self.seat,)

    @property
    def is_draw(self) -> bool:
        """Whether the result is a draw."""
        return self.result is not None and len(self.result.winners) == 2


class Player:
    """A connection that plays games, one after the other.

    Connect, take a seat with one of the three `join` methods, then `play`:

        def strategy(state):
            return next(iter(state.generate_legal_moves()))

        async def main():
            async with Player.connect() as player:
                await player.join()
                report = await player.play(strategy)
                print(report.end, report.has_won)

        trio.run(main)

    `play_game` does the same without trio. `room_id`, `seat` (0 or 1) and `state` (the last position the server sent)
    are those of the game that is played, None while they are not known. `moves_played` counts the moves that were sent.
    """

    def __init__(self, transport: Transport) -> None:
        """Play over `transport`; `Player.connect` opens one over TCP and closes it again."""
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
    def connect(
        cls,
        host: str = DEFAULT_HOST,
        port: int = DEFAULT_PORT,
        *,
        dialect: Dialect = DEFAULT_DIALECT,
        wait_timeout: float = 0.0,
    ) -> AbstractAsyncContextManager[Player]:
        """Connect to the server at `host` and `port`: `async with Player.connect() as player:`. Leaving says goodbye.

        `dialect` is the edition to speak; the one in season unless told otherwise. `wait_timeout` is for how many
        seconds to go on trying while nobody listens there. Raises CannotConnectError.
        """
        return cls._connected(host, port, dialect, wait_timeout)

    @classmethod
    @asynccontextmanager
    async def _connected(cls, host: str, port: int, dialect: Dialect, wait_timeout: float) -> AsyncIterator[Player]:
        transport = await open_transport(host, port, dialect, wait_timeout=wait_timeout)
        try:
            yield cls(transport)
        finally:
            await transport.aclose()

    async def join(self, game_type: str | None = None) -> str | None:
        """Take a seat in any open game, or in a new one, and return the id of its room.

        `game_type` is the season's name on the wire, such as ``swc_2027_blokus``; None leaves it to the server. Raises
        RequestRefusedError and other ClientErrors.
        """
        return await self._take_seat(JoinRequest(game_type))

    async def join_room(self, room_id: str) -> str | None:
        """Take the free, unreserved seat in the room `room_id`, and return its id.

        Raises RequestRefusedError and other ClientErrors.
        """
        return await self._take_seat(JoinRoomRequest(room_id))

    async def join_prepared(self, reservation_code: str) -> str | None:
        """Take the seat that `reservation_code` reserves, and return the id of its room.

        Some editions answer only when both reserved seats are taken. Raises RequestRefusedError and other ClientErrors.
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

    async def play(self, strategy: Strategy) -> GameReport:
        """Play the game that was joined to its end, and report how it ended.

        `strategy` is a function that takes a position and returns a move. It may be a plain function, which runs in a
        worker thread, or an `async def` one; `help("spielleiter.client.asking")` has the details. The move is sent as
        it is: one against the rules loses the game, as with any client.

        However the game ends is reported, not raised, and so is a connection that breaks. Raises NotAMoveError if the
        strategy returns something that is not a move of this game, whatever the strategy itself raises, and
        ServerProtocolError if the server cannot be understood. In these cases the seat has been given up, so that the
        opponent does not wait, and the connection cannot be used any more.
        """
        return await self.play_with(respond_with(strategy))

    async def play_with(self, responder: Responder) -> GameReport:
        """Play as `play` does, but let a function answer each request that may do anything with this player.

        `responder` is called as `await responder(player, state)` and answers with `player.send_move`. It is for tests
        of servers: a responder may also stay silent, send broken bytes, or break the connection. Use `play` for
        anything else. Raises what `play` raises, and StrategyError if the responder returns anything, as a strategy
        does.
        """
        failures: list[Exception] = []
        end = GameEnd.LOST

        async with trio.open_nursery() as nursery:

            async def answer(state: State) -> None:
                try:
                    _refuse_return_value(await responder(self, state))  # type: ignore[func-returns-value]
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
            with trio.move_on_after(CLOSE_TIMEOUT):
                await self._transport.say_goodbye()
            raise failures[0]
        return GameReport(
            end, self.room_id, self.seat, self._result, self.state, self.moves_played, tuple(self._errors)
        )

    async def send_move(self, move: Move, hints: tuple[str, ...] = ()) -> None:
        """Answer a request with `move`; for responders, since `play` does it for strategies.

        `hints` are texts that the server keeps with the move, for debugging. The move need not be legal. Raises
        NotAMoveError if it is not a move of this game, StrategyError if the hints are not texts, and
        ConnectionLostError.
        """
        if self._transport.is_closed:
            raise ConnectionLostError("this player has left already")
        if move is None:
            raise NotAMoveError(move, self.state)
        _refuse_wrong_hints(hints)
        try:
            packet = self._transport.encode(RoomMessage(self.room_id, MoveData(move, hints)))
        except (UnspeakableError, AttributeError, LookupError, TypeError, ValueError) as error:
            # the latter come from a move with a wrong value in one of its fields
            raise NotAMoveError(move, self.state) from error
        self._is_thinking = False  # from here on the server may ask again
        self.moves_played += 1
        async with self._send_lock:
            await self._transport.send_bytes(packet)

    async def send_bytes(self, data: bytes) -> None:
        """Send `data` as it is, whether or not it is a packet; for responders that test a server.

        Raises ConnectionLostError.
        """
        async with self._send_lock:
            await self._transport.send_bytes(data)

    async def abort(self) -> None:
        """Break the connection without a goodbye, as a crash would; the game is reported as abandoned."""
        self._is_abandoned = True
        await self._transport.abort()

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


Responder: TypeAlias = Callable[[Player, State], Awaitable[None]]
"""Is called for each request for a move, with the player and the position; answers with `player.send_move`."""


def respond_with(strategy: Strategy) -> Responder:
    """The responder that asks `strategy` and sends its move."""

    async def respond(player: Player, state: State) -> None:
        answer = await ask(strategy, state)
        await player.send_move(answer.move, answer.hints)

    return respond


def _refuse_wrong_hints(hints: object) -> None:
    """A single text in place of a tuple would be sent letter by letter."""
    if not isinstance(hints, tuple | list) or not all(isinstance(hint, str) for hint in hints):
        raise StrategyError(
            f"the hints {reprlib.repr(hints)} cannot be sent; expected a tuple of texts, such as ('a hint',)"
        )


def _refuse_return_value(value: object) -> None:
    """A responder that returns its move would lose by the time limit without a word."""
    if value is not None:
        raise StrategyError(
            f"the responder returned a {type(value).__name__}, which nobody sends; "
            "for a function that returns its move, use Player.play"
        )
