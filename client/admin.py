"""An administrator's connection: prepares rooms, and observes, pauses, steps and cancels games.

Invariants: one task reads everything the server sends and passes it to the waiting calls. Answers and refusals are
assigned to the requests of their kind in the order of sending. The server does not confirm a password, `pause`, `step`
or `cancel`; it answers only to refuse them. Such a refusal is raised once: by a call that is waiting, by the next call,
or at the latest when the connection is left. Some editions end the connection after a refusal; further requests are
then impossible.
"""

from __future__ import annotations

import json
import math
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import trio

from spielleiter.client.client_errors import (
    ClientError,
    ConnectionLostError,
    NoFeedError,
    NoStatusError,
    RequestRefusedError,
    ServerProtocolError,
    UnspeakableError,
    refusal,
)
from spielleiter.client.transport import CLOSE_TIMEOUT, Tap, Transport, open_transport
from spielleiter.protocol.current_season import DEFAULT_DIALECT
from spielleiter.protocol.defaults import DEFAULT_HOST, DEFAULT_PASSWORD, DEFAULT_PORT
from spielleiter.protocol.dialect import Dialect
from spielleiter.protocol.limits import REPORT_FROM_SERVER
from spielleiter.protocol.messages import (
    AuthenticateRequest,
    CancelRequest,
    CloseConnection,
    ErrorMessage,
    ErrorPacket,
    FeedRequest,
    FeedUpdate,
    Left,
    Memento,
    Message,
    MetricsRequest,
    MetricsText,
    Observed,
    ObserveRequest,
    Paused,
    PauseRequest,
    PlayerScore,
    Prepared,
    PrepareRequest,
    Request,
    Result,
    RoomMessage,
    ScoreForPlayerRequest,
    Slot,
    Status,
    StatusRequest,
    StepRequest,
    Testing,
    TestModeRequest,
    UnknownPacket,
)

if TYPE_CHECKING:
    from spielleiter.protocol.feed import FeedEvent

ObserverEvent: TypeAlias = Memento | Result | ErrorMessage | Paused
"""An event of an observed game."""


class Observation:
    """The events of one game in order, for an `async for` loop: Memento (a position), Result, ErrorMessage or Paused.

    `AdminClient.observe` returns one. The loop ends when the game is over, and raises ClientError if the connection
    ends first. Events are kept until they are read; a game has a few hundred of them at most. `room_id` is the room
    that is observed.

        async for event in await admin.observe(room.room_id):
            if isinstance(event, Result):
                print(event.winners)
    """

    def __init__(self, room_id: str, connection_error: Callable[[], ClientError]) -> None:
        """Observe the room `room_id`; `connection_error` gives the error to raise if the connection ends first."""
        self.room_id = room_id
        self._connection_error = connection_error
        self._is_over = False
        self._send, self._receive = trio.open_memory_channel[ObserverEvent](math.inf)

    def __aiter__(self) -> Observation:
        return self

    async def __anext__(self) -> ObserverEvent:
        try:
            return await self._receive.receive()
        except trio.EndOfChannel:
            if self._is_over:
                raise StopAsyncIteration from None
            raise self._connection_error() from None


class ObservationFeed(Observation):
    """The side of an observation that the client writes to."""

    def put_nowait(self, event: ObserverEvent) -> None:
        self._send.send_nowait(event)

    def end(self, *, is_over: bool) -> None:
        """End the observation once: the game is over if `is_over`, otherwise the connection has ended."""
        self._is_over = is_over
        self._send.close()


class Following:
    """What happens on the server, as the events of `spielleiter.protocol.feed`, for an `async for` loop.

    `AdminClient.follow` returns one. The loop ends only with the connection, by raising ClientError. Events are kept
    until they are read, up to `FEED_BYTES` of them.

        async for event in await admin.follow():
            if isinstance(event, MovePlayed):
                print(event.room, event.think_time)
    """

    def __init__(self, connection_error: Callable[[], ClientError]) -> None:
        """Follow a server; `connection_error` gives the error to raise when the connection ends."""
        self._connection_error = connection_error
        self._events: Iterator[FeedEvent] = iter(())
        self._unread_bytes = 0
        self._has_overflowed = False
        self._send, self._receive = trio.open_memory_channel[str](math.inf)

    def __aiter__(self) -> Following:
        return self

    async def __anext__(self) -> FeedEvent:
        while True:
            event = next(self._events, None)
            if event is not None:
                return event
            try:
                text = await self._receive.receive()
            except trio.EndOfChannel:
                if self._has_overflowed:
                    raise ConnectionLostError("too many events of the server wait to be read") from None
                raise self._connection_error() from None
            self._unread_bytes -= len(text)
            from spielleiter.protocol.feed import decode_events  # loaded here, since few programs follow

            try:
                self._events = iter(decode_events(text))
            except ValueError as error:
                raise ServerProtocolError(f"the server's feed cannot be read: {error}") from None


class _FollowingFeed(Following):
    """The side of a following that the client writes to."""

    def put_nowait(self, text: str) -> None:
        """Keep a packet, unless too much waits already: then the following ends, when all before has been read."""
        if self._has_overflowed:
            return
        self._unread_bytes += len(text)
        self._send.send_nowait(text)
        if self._unread_bytes > FEED_BYTES:
            self._has_overflowed = True
            self._send.close()

    def end(self) -> None:
        """End the following with the connection."""
        self._send.close()


@dataclass(frozen=True, slots=True)
class PreparedRoom:
    """A room that was prepared and waits for its players; the result of `AdminClient.prepare`.

    - `room_id`: the id by which the room is observed, paused, stepped and cancelled.
    - `reservations`: a code for each reserved slot, in the order of the slots. A player takes the seat with
      `Player.join_prepared`, with `play_game`, or with the command `spielleiter play --reservation CODE`.

    For example:

        room = await admin.prepare("swc_2027_blokus", ["Alice", "Bob"])
        first_code, second_code = room.reservations
    """

    room_id: str
    reservations: tuple[str, ...]


@dataclass(eq=False, slots=True)
class PendingAnswer:
    """A request that waits for its answer: the first message for which `accepts` returns True, or a refusal."""

    request: Request
    accepts: Callable[[Message], bool]
    is_done: trio.Event = field(default_factory=trio.Event)
    answer: Message | None = None
    refusal: ClientError | None = None


_Answer = TypeVar("_Answer", Prepared, Observed, Testing, PlayerScore, Status, FeedUpdate, MetricsText)

STATUS_TIMEOUT = 10.0
"""Seconds to wait for the answer to a request of our own; servers that do not know it may not answer at all."""
FEED_BYTES = 256 * 1024 * 1024
"""The most characters of a feed that are kept until they are read."""


class AdminClient:
    """An administrator's connection to a server: prepares, observes, pauses, steps and cancels games.

    For programs that run trio; `connect_admin` is the same for plain scripts. Methods may be called from several tasks
    at a time.

        async def main():
            async with AdminClient.connect() as admin:
                room = await admin.prepare("swc_2027_blokus", ["Alice", "Bob"])
                print(*room.reservations)
                async for event in await admin.observe(room.room_id):
                    print(event)

        trio.run(main)

    The protocol does not confirm `pause`, `resume`, `step`, `cancel` and the password, so their refusal may arrive
    late: a call whose own request was fine may raise RequestRefusedError because of an earlier request. The error's
    attribute `request` is the one that was refused.
    """

    def __init__(self, transport: Transport) -> None:
        """Use the open connection `transport`; `AdminClient.connect` opens one over TCP and closes it again."""
        self._transport = transport
        self._send_lock = trio.Lock()
        self._pending: list[PendingAnswer] = []
        self._observations: list[ObservationFeed] = []
        self._following: _FollowingFeed | None = None
        self._failure: ClientError | None = None
        """The reason why the connection has ended."""
        self._is_failure_raised = False
        self._refusal: ClientError | None = None
        """The last refusal, which is the reason if the connection ends right after it."""
        self._is_refusal_raised = True
        self._is_leaving = False
        self._has_read_all = trio.Event()

    @classmethod
    @asynccontextmanager
    async def connect(
        cls,
        host: str = DEFAULT_HOST,
        port: int = DEFAULT_PORT,
        password: str = DEFAULT_PASSWORD,
        *,
        dialect: Dialect = DEFAULT_DIALECT,
        wait_timeout: float = 0.0,
        tap: Tap | None = None,
    ) -> AsyncIterator[AdminClient]:
        """Connect to a server and authenticate; returns a context manager that gives the client.

        - `host`, `port`: the server's name or address, and its TCP port.
        - `password`: the administrators' password. The server does not confirm it: if it is wrong, the next call
          raises AuthenticationError.
        - `dialect`: the wire form of the edition to speak; by default that of the current season.
        - `wait_timeout`: how many seconds to retry while no server listens there; 0 means one attempt.
        - `tap`: a function that is called with all bytes that are received, for example to record them.

        Entering the context raises CannotConnectError if there is no server. Leaving it closes the connection, and
        raises RequestRefusedError (or AuthenticationError) if a request was refused and no call has raised that yet.

            async with AdminClient.connect("127.0.0.1", 13050) as admin:
                status = await admin.status()
        """
        transport = await open_transport(host, port, dialect, wait_timeout=wait_timeout, tap=tap)
        async with cls(transport).running(password) as admin:
            yield admin

    @asynccontextmanager
    async def running(self, password: str) -> AsyncIterator[AdminClient]:
        """Authenticate with `password` and use the connection inside an `async with` block.

        `AdminClient.connect` does this for TCP; call it yourself for a transport over another stream. Raises what
        leaving the context of `connect` raises.

            async with AdminClient(Transport(stream, dialect)).running("password") as admin:
                status = await admin.status()
        """
        failure: Exception | None = None
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._read)
                try:
                    await self._send(AuthenticateRequest(password))
                    yield self
                    self._is_leaving = True
                    with trio.move_on_after(CLOSE_TIMEOUT):
                        await self._transport.say_goodbye()
                        await self._has_read_all.wait()
                    self._raise_new_refusal()
                    if self._failure and not self._is_failure_raised:
                        failure = self._failure
                except Exception as error:  # raised below, where no nursery wraps it in a group
                    failure = error
                nursery.cancel_scope.cancel()
        finally:
            await self._transport.aclose()
        if failure:
            raise failure

    async def prepare(
        self, game_type: str, slots: Sequence[Slot | str], *, pause: bool = False, position: str | None = None
    ) -> PreparedRoom:
        """Open a room for two players, and return its id and reservation codes.

        - `game_type`: the season's name on the wire, such as ``swc_2027_blokus``.
        - `slots`: the two seats in order, each a Slot or only a display name.
        - `pause`: whether the game starts paused, so that no move is requested until it is resumed or stepped.
        - `position`: where the game starts, as a replay with this one position
          (`spielleiter.protocol.positions.write_position`); None: at its beginning. Only spielleiter knows this.

        Raises RequestRefusedError if the server refuses it, for example because it does not have this game, and other
        ClientErrors if the connection fails.

            room = await admin.prepare("swc_2027_blokus", ["Alice", Slot("Bob", can_timeout=False)], pause=True)
        """
        full = tuple(Slot(slot) if isinstance(slot, str) else slot for slot in slots)
        prepared = await self._ask(PrepareRequest(game_type, full, pause, position), Prepared)
        return PreparedRoom(prepared.room_id or "", prepared.reservations)

    async def observe(self, room_id: str) -> Observation:
        """Observe the room `room_id`: an `async for` loop over the result gives the events of its game.

        If the game has started already, the first event may be its current position. The loop ends when the game is
        over. Raises RequestRefusedError if there is no such room, and other ClientErrors if the connection fails.

            async for event in await admin.observe(room.room_id):
                print(event)
        """
        observation = ObservationFeed(room_id, self._raised_failure)
        self._observations.append(observation)  # before the answer, since events may follow it at once
        try:
            await self._ask(ObserveRequest(room_id), Observed, lambda observed: observed.room_id == room_id)
        except BaseException:  # the caller never gets this observation, even after a cancellation
            self._observations = [each for each in self._observations if each is not observation]
            raise
        return observation

    async def pause(self, room_id: str) -> None:
        """Pause the game in the room `room_id`: no further move is requested until `resume` or `step`.

        A move that was requested before is still accepted. Returns as soon as the request is sent. Raises ClientError
        if it cannot be sent; a refusal is raised by a later call.

            await admin.pause(room.room_id)
        """
        await self._send(PauseRequest(room_id, is_paused=True))

    async def resume(self, room_id: str) -> None:
        """Continue the paused game in the room `room_id`.

        Returns as soon as the request is sent. Raises ClientError if it cannot be sent; a refusal is raised by a later
        call.

            await admin.resume(room.room_id)
        """
        await self._send(PauseRequest(room_id, is_paused=False))

    async def step(self, room_id: str, *, forced: bool = False) -> None:
        """Request one move in the room `room_id`, whose game is paused.

        `forced` is sent as the request's attribute of this name. Returns as soon as the request is sent. Raises
        ClientError if it cannot be sent; a refusal is raised by a later call.

            await admin.step(room.room_id)
        """
        await self._send(StepRequest(room_id, forced))

    async def cancel(self, room_id: str) -> None:
        """End the game in the room `room_id` early; its edition determines who wins in this case.

        Returns as soon as the request is sent. Raises ClientError if it cannot be sent; a refusal is raised by a later
        call.

            await admin.cancel(room.room_id)
        """
        await self._send(CancelRequest(room_id))

    async def enable_test_mode(self, *, is_enabled: bool = True) -> bool:
        """Start a new score sheet of finished games, or end it if not `is_enabled`; return whether there is one now.

        Raises UnspeakableError if the edition has no test mode, and other ClientErrors if the request is refused or the
        connection fails.

            await admin.enable_test_mode()
        """
        return (await self._ask(TestModeRequest(is_enabled), Testing)).is_enabled

    async def score_for_player(self, display_name: str) -> PlayerScore:
        """Return the points of the player called `display_name` since the score sheet was started.

        Raises RequestRefusedError if the server knows no player of that name, UnspeakableError if the edition has no
        test mode, and other ClientErrors if the connection fails.

            score = await admin.score_for_player("Alice")
            print(score.number_of_tests)
        """
        return await self._ask(ScoreForPlayerRequest(display_name), PlayerScore)

    async def status(self) -> dict[str, Any]:
        """Return the state of the server: its rooms, its connections, and how the last connections ended.

        The README describes the fields. Only spielleiter knows this request. Raises NoStatusError if the server is
        another one or has not answered within 10 seconds, AuthenticationError if the password was wrong, and other
        ClientErrors if the connection fails.

            status = await admin.status()
            print(status["connectionCount"])
        """
        try:
            answer = await self._ask_spielleiter(StatusRequest(), Status, NoStatusError, "report its status")
            status = json.loads(answer.report)
        except ValueError as error:
            raise NoStatusError(f"the server's status cannot be read ({error})") from None
        if not isinstance(status, dict):
            raise NoStatusError("the server's status cannot be read (it is not a JSON object)")
        return status

    async def metrics(self) -> str:
        """Return the figures of the server in the text format of Prometheus.

        `docs/reference/metrics.md` lists them. Only spielleiter knows this request. Raises what `status` raises.

            print(await admin.metrics())
        """
        answer = await self._ask_spielleiter(MetricsRequest(), MetricsText, NoStatusError, "report its figures")
        return f"{answer.text}\n"

    async def follow(self) -> Following:
        """Follow all games of the server: an `async for` loop over the result gives what happens.

        The first events tell the present state; then there is a `Current`, and all others are news. The loop ends only
        with the connection, by raising ClientError. A connection can follow once, and its server drops it if it does
        not read; so use a connection of its own. Only spielleiter knows this request. Raises NoFeedError if the server
        is another one or has not answered within 10 seconds, RequestRefusedError if it has too many followers,
        AuthenticationError if the password was wrong, and other ClientErrors if the connection fails.

            async for event in await admin.follow():
                print(event)
        """
        if self._following is None:
            self._following = _FollowingFeed(self._raised_failure)  # before the answer, which is the first of many
        following = self._following
        await self._ask_spielleiter(FeedRequest(), FeedUpdate, NoFeedError, "have a feed")
        return following

    async def _ask_spielleiter(
        self, request: Request, kind: type[_Answer], error_class: type[ClientError], what: str
    ) -> _Answer:
        """Return the answer to a request that only spielleiter knows; raise `error_class` if the server is another one.

        `what` says in the error what the server does not do.
        """
        self._transport.accept(REPORT_FROM_SERVER)
        why = f"no answer for {STATUS_TIMEOUT:g} s; spielleiter answers so late only after several wrong passwords"
        with trio.move_on_after(STATUS_TIMEOUT):
            try:
                return await self._ask(request, kind)
            except RequestRefusedError as error:
                # a feed is also refused by a server that has one, if it has too many followers
                if not isinstance(error.request, StatusRequest | MetricsRequest | UnknownPacket | None):
                    raise
                why = str(error)
            except ConnectionLostError as error:
                why = str(error)
        raise error_class(f"this server does not {what}; only spielleiter does ({why})")

    async def _ask(
        self, request: Request, kind: type[_Answer], is_meant: Callable[[_Answer], bool] = lambda _: True
    ) -> _Answer:
        # stays in the list if the caller is cancelled: its answer still arrives, and belongs to no other request
        pending = PendingAnswer(request, lambda message: isinstance(message, kind) and is_meant(message))
        await self._send(request, pending)
        await pending.is_done.wait()
        if pending.refusal:
            raise pending.refusal
        if not isinstance(pending.answer, kind):
            raise self._raised_failure()
        return pending.answer

    async def _send(self, request: Request, pending: PendingAnswer | None = None) -> None:
        async with self._send_lock:  # acquired first: while waiting for it, the end of the stream may have been read
            self._raise_new_refusal()
            if self._failure:
                raise self._raised_failure()
            if pending:
                self._pending.append(pending)
            try:
                await self._transport.send(request)
            except UnspeakableError:
                self._pending = [each for each in self._pending if each is not pending]
                raise
            except ConnectionLostError as error:
                # the server may have given the reason in what it sent before
                with trio.move_on_after(CLOSE_TIMEOUT):
                    await self._has_read_all.wait()
                self._fail(error)
                raise self._raised_failure() from None

    def _raise_new_refusal(self) -> None:
        if self._refusal and not self._is_refusal_raised:
            self._is_refusal_raised = True
            self._is_failure_raised |= self._failure is self._refusal
            raise self._refusal

    def _fail(self, error: ClientError) -> None:
        """Note that the connection has ended; the first of several reasons is kept."""
        if self._failure is None:
            self._failure = self._refusal or error
            self._is_failure_raised = self._refusal is not None and self._is_refusal_raised

    def _raised_failure(self) -> ClientError:
        """Return the reason why the connection has ended, to be raised by the caller."""
        assert self._failure is not None, "a connection never ends early without a reason"
        self._is_failure_raised = True
        self._is_refusal_raised |= self._failure is self._refusal
        return self._failure

    async def _read(self) -> None:
        try:
            async for message in self._transport:
                self._deliver(message)
        except ClientError as error:
            self._fail(error)
        if not self._is_leaving or self._pending:
            self._fail(ConnectionLostError("the server ended the connection"))
        for pending in self._pending:
            pending.is_done.set()
        for observation in self._observations:
            observation.end(is_over=False)
        if self._following:
            self._following.end()
        self._has_read_all.set()

    def _deliver(self, message: Message) -> None:
        if self._is_refusal_raised and not isinstance(message, ErrorPacket | CloseConnection):
            self._refusal = None  # the connection goes on, so this refusal will not be the reason for its end
        match message:
            case RoomMessage(room_id, Memento() | Result() | ErrorMessage() | Paused() as event):
                for observation in self._observations:
                    if observation.room_id == room_id:
                        observation.put_nowait(event)
            case Left(room_id):
                for observation in [each for each in self._observations if each.room_id == room_id]:
                    observation.end(is_over=True)
                    self._observations.remove(observation)
            case ErrorPacket(text, request):
                if not self._refusal or self._is_refusal_raised:
                    self._refusal, self._is_refusal_raised = refusal(text or "", request), False
                for pending in self._pending:
                    if isinstance(request, type(pending.request)):
                        # this call raises an earlier refusal instead, if no call has raised it yet
                        pending.refusal, self._is_refusal_raised = self._refusal, True
                        pending.is_done.set()
                        self._pending.remove(pending)
                        break
            case CloseConnection():
                self._fail(ConnectionLostError("the server closed the connection without giving a reason"))
            case _:
                if self._following and isinstance(message, FeedUpdate):
                    self._following.put_nowait(message.text)
                for pending in self._pending:
                    if pending.accepts(message):
                        pending.answer = message
                        pending.is_done.set()
                        self._pending.remove(pending)
                        break
