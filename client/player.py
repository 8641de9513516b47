"""A player: takes a seat, asks a strategy for each move, and reports how the game ended.

A strategy is a function that takes a position and returns the move to play there, for example one of
`state.generate_legal_moves()`. To send debug hints along with the move, it returns `MoveData(move, ("a hint",))`.

A plain function runs in a worker thread. It may compute for any time: the end of the game is still noticed, and
whatever the function returns after that is dropped. Python cannot stop a thread, so the function runs until it returns.
The calls of one game follow one after the other, but not always in the same thread. If a game ends while the function
computes, the first call of the next game may come before that call has returned.

An `async def` function runs on trio's event loop instead. It is cancelled at its next `await` when the game ends. While
it computes without an `await`, nothing else runs: the end of the game is not noticed, and other players in the same
process wait. On the other hand, it avoids the 0.1 to 0.2 ms that a thread costs for each move. The built-in strategies
need less than 1 ms for most moves and are asynchronous for this reason.

Invariants: a player plays one game at a time, in one task. The player trusts the server: it keeps the last position
that it received, and never applies moves itself. When `play` raises, the player has given up its seat.
"""

from __future__ import annotations

import enum
import inspect
import reprlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

import trio

from spielleiter.client.client_errors import (
    ConnectionLostError,
    NotAMoveError,
    ServerProtocolError,
    StrategyError,
    UnspeakableError,
    refusal,
)
from spielleiter.client.transport import CLOSE_TIMEOUT, Transport, open_transport
from spielleiter.game.api import Move, Seat, State
from spielleiter.players.search_budget import NoMoveError
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

Strategy: TypeAlias = Callable[[Any], Move | MoveData | Awaitable[Move | MoveData]]
"""A function that takes a position and returns a move, or an awaitable of a move."""


class GameEnd(enum.Enum):
    """How a game ended, from the player's point of view.

    It is the attribute `end` of a GameReport:

        if report.end is GameEnd.RESULT:
            print(report.cause)
    """

    RESULT = "result"  # the server sent a result
    LEFT = "left"  # the server closed the room without a result
    REFUSED = "refused"  # the server refused something, and sent the reason
    ENDED = "ended"  # the server's stream ended without a reason
    LOST = "lost"  # the connection broke
    ABANDONED = "abandoned"  # this player broke the connection (`Player.abort`)


@dataclass(frozen=True, slots=True)
class GameReport:
    """A report on one game from its player's point of view; the result of `Player.play` and `play_game`.

    - `end`: how the game ended.
    - `room_id`: the id of its room.
    - `seat`: 0 or 1; None if the game never started.
    - `result`: the server's result; None if there was none.
    - `state`: the last position that the server sent; None if it sent none.
    - `moves_played`: the number of moves that were sent, whether or not they were accepted.
    - `errors`: the server's messages about moves and requests that it refused, in order.

    For example:

        report = play_game(strategy)
        print(report.has_won, report.points, report.reason)
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
        """The cause in this player's score, such as Cause.REGULAR or Cause.SOFT_TIMEOUT; None without a result."""
        score = self.result.score_of(self.seat) if self.result else None
        return score.cause if score else None

    @property
    def reason(self) -> str:
        """What went wrong for which player, in the server's words, which are German; empty if nothing went wrong.

        Without a result, it is the server's last refusal.
        """
        if self.result is None:
            return self.errors[-1] if self.errors else ""
        return "; ".join(
            f"Spieler {seat + 1}: {score.reason}" for seat, score in enumerate(self.result.scores) if score.reason
        )

    @property
    def points(self) -> tuple[int, int] | None:
        """The points of player 1 and of player 2 in the result; None without one.

        A game whose score has several parts has more in `result.scores`. In some seasons a player that lost by a fault
        gets no points; `state.points(seat)` has those on the board.
        """
        if self.result is None or not all(len(score.parts) > 1 for score in self.result.scores):
            return None
        first, second = self.result.scores
        return first.parts[1], second.parts[1]

    @property
    def has_won(self) -> bool:
        """Whether this player is the only winner."""
        return self.result is not None and self.result.winners == (self.seat,)

    @property
    def is_draw(self) -> bool:
        """Whether the result is a draw."""
        return self.result is not None and len(self.result.winners) == 2


class Player:
    """A player's connection to a server, on which it plays games, one after the other.

    For programs that run trio; `play_game` is the same for plain scripts. Connect, take a seat with one of the three
    `join` methods, then `play`:

        def strategy(state):
            return next(iter(state.generate_legal_moves()))

        async def main():
            async with Player.connect() as player:
                await player.join()
                report = await player.play(strategy)
                print(report.end, report.has_won)

        trio.run(main)

    Attributes of the current game: `room_id`, `seat` (0 or 1) and `state` (the last position that the server sent) are
    None while they are unknown; `moves_played` is the number of moves that were sent.
    """

    def __init__(self, transport: Transport) -> None:
        """Use the open connection `transport`; `Player.connect` opens one over TCP and closes it again."""
        self._transport = transport
        self._send_lock = trio.Lock()
        self._is_abandoned = False
        self.watch: Callable[[RoomData], None] | None = None
        """A callback for everything that the game's room sends. It must not block, since the player waits for it."""
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
        """Connect to a server; returns a context manager that gives the player and closes the connection at its end.

        - `host`, `port`: the server's name or address, and its TCP port.
        - `dialect`: the wire form of the edition to speak; by default that of the current season.
        - `wait_timeout`: how many seconds to retry while no server listens there; 0 means one attempt.

        Entering the context raises CannotConnectError if there is no server.

            async with Player.connect("127.0.0.1", 13050, wait_timeout=10) as player:
                await player.join()
        """
        transport = await open_transport(host, port, dialect, wait_timeout=wait_timeout)
        try:
            yield cls(transport)
        finally:
            await transport.aclose()

    async def join(self, game_type: str | None = None) -> str | None:
        """Take a seat in any open game, or in a new one, and return the id of its room.

        `game_type` is the season's name on the wire, such as ``swc_2027_blokus``; None leaves the choice to the server.
        Raises RequestRefusedError if the server refuses the seat, and other ClientErrors if the connection fails.

            await player.join("swc_2027_blokus")
        """
        return await self._take_seat(JoinRequest(game_type))

    async def join_room(self, room_id: str) -> str | None:
        """Take the free, unreserved seat in the room `room_id`, and return its id.

        Raises RequestRefusedError if there is no such room or no such seat, and other ClientErrors if the connection
        fails.

            await player.join_room(room.room_id)
        """
        return await self._take_seat(JoinRoomRequest(room_id))

    async def join_prepared(self, reservation_code: str) -> str | None:
        """Take the seat that is reserved under `reservation_code`, and return the id of its room.

        Some editions answer only when both reserved seats are taken. Raises RequestRefusedError if there is no such
        reservation, and other ClientErrors if the connection fails.

            await player.join_prepared(room.reservations[0])
        """
        return await self._take_seat(JoinPreparedRequest(reservation_code))

    async def _take_seat(self, request: JoinRequest | JoinRoomRequest | JoinPreparedRequest) -> str | None:
        await self._transport.send(request)
        async for message in self._transport:
            if isinstance(message, Joined):
                self._reset(message.room_id)
                return message.room_id
            if isinstance(message, ErrorPacket):
                raise refusal(message.message or "", message.original_request)
        raise ConnectionLostError("the server ended the connection instead of giving a seat")

    async def play(self, strategy: Strategy) -> GameReport:
        """Play the game that was joined until it ends, and return a report.

        `strategy` is a function that takes a position and returns a move. It may be a plain function, which runs in a
        worker thread, or an `async def` function; `help("spielleiter.client.player")` has the details. The move is sent
        unchecked: a move against the rules loses the game, as with any client.

        However the game ends, this is reported and not raised, even for a broken connection. Raises NotAMoveError if
        the strategy returns something that is not a move of this game, anything that the strategy itself raises, and
        ServerProtocolError if the server sends something unreadable. In these cases the player has given up its seat,
        so that the opponent does not wait, and the connection cannot be used any more.

            report = await player.play(lambda state: next(iter(state.generate_legal_moves())))
        """
        return await self.play_with(respond_with(strategy))

    async def play_with(self, responder: Responder) -> GameReport:
        """Play as `play` does, with a function that answers each request itself; for tests of servers.

        `responder` is called as `await responder(player, state)`, with this player and the position, and answers with
        `player.send_move`. It may also stay silent, send broken bytes, or break the connection. Use `play` for anything
        else. Raises what `play` raises, and StrategyError if the responder returns a value, as a strategy does.

            async def hesitate(player, state):
                await trio.sleep(3)
                await player.send_move(next(iter(state.generate_legal_moves())))

            report = await player.play_with(hesitate)
        """
        failures: list[Exception] = []
        end = GameEnd.LOST

        async with trio.open_nursery() as nursery:

            async def answer(state: State) -> None:
                try:
                    returned: object = await responder(self, state)  # type: ignore[func-returns-value]
                except ConnectionLostError:
                    return  # the reading task notices this as well, after it has read everything that was sent before
                except Exception as error:  # raised below, where no nursery wraps it in a group
                    failures.append(error)
                else:
                    if returned is None:
                        return
                    # a move that is returned is not sent, which would otherwise go unnoticed
                    name = type(returned).__name__
                    failures.append(
                        StrategyError(
                            f"the responder returned a {name}, which is not sent; "
                            "for a function that returns its move, use Player.play"
                        )
                    )
                nursery.cancel_scope.cancel()

            def ask(state: State) -> None:
                # official servers repeat the request when a game is resumed; one answer is enough
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
        """Answer a request with a move; for responders, since `play` does this for strategies.

        - `move`: a move of this game, which need not be legal.
        - `hints`: texts that the server keeps with the move, for debugging. They are not sent in editions without hints
          (`blokus-2027`), whose official server would end the connection.

        Raises NotAMoveError if `move` is not a move of this game, StrategyError if the hints are not texts, and
        ConnectionLostError if the connection is broken or closed.

            await player.send_move(move, ("searched 3 plies",))
        """
        if self._transport.is_closed:
            raise ConnectionLostError("this player has left already")
        if move is None:
            raise NotAMoveError(move, self.state)
        given: object = hints  # whatever a strategy has returned
        if not isinstance(given, tuple | list) or not all(isinstance(hint, str) for hint in given):
            raise StrategyError(
                f"the hints {reprlib.repr(hints)} cannot be sent; expected a tuple of texts, such as ('a hint',)"
            )
        try:
            packet = self._transport.encode(RoomMessage(self.room_id, MoveData(move, hints)))
        except (UnspeakableError, AttributeError, LookupError, TypeError, ValueError) as error:
            # all but the first are raised for a move with a wrong value in one of its fields
            raise NotAMoveError(move, self.state) from error
        self._is_thinking = False  # from now on, the server may ask again
        self.moves_played += 1
        async with self._send_lock:
            await self._transport.send_bytes(packet)

    async def send_bytes(self, data: bytes) -> None:
        """Send `data` as it is, whether or not it is a packet; for responders that test a server.

        Raises ConnectionLostError if the connection is broken.

            await player.send_bytes(b"<room>")
        """
        async with self._send_lock:
            await self._transport.send_bytes(data)

    async def abort(self) -> None:
        """Break the connection without a goodbye, as a crash would; for responders that test a server.

        The game is reported as GameEnd.ABANDONED, and the connection cannot be used any more.

            await player.abort()
        """
        self._is_abandoned = True
        await self._transport.abort()

    async def _follow(self, ask: Callable[[State], None]) -> GameEnd:
        """Read until the game is over; store what the server sends, and call `ask` for each move request.

        A refusal need not be the end: in some editions the connection and its game go on.
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
                        if self.state.outcome() is not None:  # the server's rules have other options
                            self.state = self._transport.dialect.played_on(self.state)
                        ask(self.state)
                    case RoomMessage(data=WelcomeMessage(seat)):
                        self.seat = seat
                    case RoomMessage(data=Memento(state=state)):
                        self.state = state
                    case RoomMessage(data=ErrorMessage(message=text)):
                        self._errors.append(text)
                    case RoomMessage(data=Result() as result):
                        self._result = result
                    case ErrorPacket(message=reason):
                        self._errors.append(reason or "")
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
"""A function that is called with the player and the position for each request, and answers with `player.send_move`."""


def respond_with(strategy: Strategy) -> Responder:
    """Return a responder that asks `strategy` for a move and sends it."""
    is_async = inspect.iscoroutinefunction(strategy) or inspect.iscoroutinefunction(
        getattr(type(strategy), "__call__", None)  # noqa: B004 - the question is how it is called, not whether
    )

    async def respond(player: Player, state: State) -> None:
        try:
            if is_async:
                answer = strategy(state)
            else:
                # a limiter of its own, so that neither other players nor an abandoned call can delay this one;
                # a tuple, since trio refuses an awaitable as the result of a worker thread
                (answer,) = await trio.to_thread.run_sync(
                    lambda: (strategy(state),), abandon_on_cancel=True, limiter=trio.CapacityLimiter(1)
                )
            if inspect.isawaitable(answer):
                answer = await answer
        except NoMoveError as error:
            raise StrategyError(str(error)) from error
        if not isinstance(answer, MoveData):
            answer = MoveData(answer)
        await player.send_move(answer.move, answer.hints)

    return respond
