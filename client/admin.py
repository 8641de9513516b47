"""An administrator: prepares rooms, watches, pauses, steps and cancels games.

Invariants: one task reads everything the server sends and hands it to whoever waits; answers and refusals go to
requests of their kind in the order in which those were sent. The protocol answers a password, `pause`, `step` and
`cancel` with silence when it accepts them. A refusal of one of these is raised once, by whatever waits or is called
next, at the latest by leaving the connection. Some editions end the connection after a refusal, and then nothing else
can be asked.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

import trio

from spielleiter.client.errors import (
    AuthenticationError,
    ClientError,
    ConnectionLostError,
    NoStatusError,
    RequestRefusedError,
    UnspeakableError,
    refusal,
)
from spielleiter.client.observation import Feed, Observation
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
    Left,
    Memento,
    Message,
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

_Answer = TypeVar("_Answer", Prepared, Observed, Testing, PlayerScore, Status)

STATUS_TIMEOUT = 10.0
"""Seconds to wait for the answer to a request for the status; servers that do not know it may say nothing."""


@dataclass(frozen=True, slots=True)
class PreparedRoom:
    """A room that waits for its players.

    `reservations` has a code for each reserved slot, in the order of the slots; a player takes the seat with
    `join_prepared`, or with `spielleiter play --reservation CODE`.
    """

    room_id: str
    reservations: tuple[str, ...]


def _parsed(report: str) -> dict[str, Any]:
    try:
        parsed = json.loads(report)
    except ValueError as error:
        raise NoStatusError(f"the server's status cannot be read ({error})") from None
    if not isinstance(parsed, dict):
        raise NoStatusError("the server's status cannot be read (it is no object)")
    return parsed


@dataclass(eq=False, slots=True)
class _Pending:
    """A request that waits for an answer `accepts` says yes to."""

    request: Request
    accepts: Callable[[Message], bool]
    is_done: trio.Event = field(default_factory=trio.Event)
    answer: Message | None = None
    refusal: ClientError | None = None


class AdminClient:
    """An authenticated connection of an administrator, who prepares, watches, pauses, steps and cancels games.

    Methods may be called from several tasks at a time:

        async def main():
            async with AdminClient.connect() as admin:
                room = await admin.prepare("swc_2027_blokus", ["Alice", "Bob"])
                print(*room.reservations)
                async for event in await admin.observe(room.room_id):
                    print(event)

        trio.run(main)

    `connect_admin` gives the same without trio. A request may be refused late, since the protocol does not confirm
    `pause`, `resume`, `step`, `cancel` and the password: a call whose own request was fine may raise
    RequestRefusedError because of an earlier one. Its `request` says which one.
    """

    def __init__(self, transport: Transport) -> None:
        """Administer over `transport`; `AdminClient.connect` opens one over TCP and closes it again."""
        self._transport = transport
        self._send_lock = trio.Lock()
        self._pending: list[_Pending] = []
        self._observations: list[Feed] = []
        self._failure: ClientError | None = None
        """Why the connection has ended."""
        self._is_failure_told = False
        self._refusal: ClientError | None = None
        """The last one; the reason if the connection ends behind it."""
        self._is_refusal_told = True
        self._is_leaving = False
        self._has_read_all = trio.Event()

    @classmethod
    def connect(
        cls,
        host: str = DEFAULT_HOST,
        port: int = DEFAULT_PORT,
        password: str = DEFAULT_PASSWORD,
        *,
        dialect: Dialect = DEFAULT_DIALECT,
        wait_timeout: float = 0.0,
        tap: Tap | None = None,
    ) -> AbstractAsyncContextManager[AdminClient]:
        """Connect to the server at `host` and `port`: `async with AdminClient.connect() as admin:`.

        A wrong `password` shows itself at the next call, as AuthenticationError. `dialect` is the edition to speak; the
        one in season unless told otherwise. `wait_timeout` is for how many seconds to go on trying while nobody listens
        there. `tap` is called with all bytes that are received.

        Raises CannotConnectError. Leaving says goodbye and raises RequestRefusedError if a request was refused and no
        call has raised that yet.
        """
        return cls._connected(host, port, password, dialect, wait_timeout, tap)

    @classmethod
    @asynccontextmanager
    async def _connected(
        cls, host: str, port: int, password: str, dialect: Dialect, wait_timeout: float, tap: Tap | None
    ) -> AsyncIterator[AdminClient]:
        transport = await open_transport(host, port, dialect, wait_timeout=wait_timeout, tap=tap)
        async with cls(transport).running(password) as admin:
            yield admin

    @asynccontextmanager
    async def running(self, password: str) -> AsyncIterator[AdminClient]:
        """Authenticate with `password` and read what comes, until the block is left; for streams other than TCP."""
        failure: Exception | None = None
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._read)
                try:
                    await self._send(AuthenticateRequest(password))
                    yield self
                    await self._leave()
                except Exception as error:  # kept, so that it does not come out wrapped in a group
                    failure = error
                nursery.cancel_scope.cancel()
        finally:
            await self._transport.aclose()
        if failure:
            raise failure

    async def _leave(self) -> None:
        """Say goodbye, read what was on its way, and raise a failure that nobody has been told of."""
        self._is_leaving = True
        with trio.move_on_after(CLOSE_TIMEOUT):
            await self._transport.say_goodbye()
            await self._has_read_all.wait()
        self._raise_untold_refusal()
        if self._failure and not self._is_failure_told:
            raise self._failure

    async def prepare(self, game_type: str, slots: Sequence[Slot | str], *, pause: bool = False) -> PreparedRoom:
        """Open a room for two players and return its id and reservation codes.

        `game_type` is the season's name on the wire, such as ``swc_2027_blokus``. `slots` are the two seats, each a
        Slot or just a display name. `pause`: ask for no moves until the game is resumed or stepped. Raises
        RequestRefusedError, for example for a game that the server does not have, and other ClientErrors.
        """
        full = tuple(Slot(slot) if isinstance(slot, str) else slot for slot in slots)
        prepared = await self._ask(PrepareRequest(game_type, full, pause), Prepared)
        return PreparedRoom(prepared.room_id or "", prepared.reservations)

    async def observe(self, room_id: str) -> Observation:
        """Watch the room `room_id`; an `async for` loop over the result gives the events of its game.

        If the game has begun, the first event may be its current position. Raises RequestRefusedError if there is no
        such room, and other ClientErrors.
        """
        observation = Feed(room_id, self._told_failure)
        self._observations.append(observation)
        await self._ask(ObserveRequest(room_id), Observed, lambda observed: observed.room_id == room_id)
        return observation

    async def pause(self, room_id: str) -> None:
        """Ask for no more moves in the room `room_id`; one that is asked for already is still accepted.

        Returns as soon as the request is sent. Raises ClientError.
        """
        await self._send(PauseRequest(room_id, is_paused=True))

    async def resume(self, room_id: str) -> None:
        """Let the paused game in the room `room_id` go on.

        Returns as soon as the request is sent. Raises ClientError.
        """
        await self._send(PauseRequest(room_id, is_paused=False))

    async def step(self, room_id: str, *, forced: bool = False) -> None:
        """Ask for one move in the room `room_id`, whose game is paused.

        `forced` sets the request's attribute of this name. Returns as soon as the request is sent. Raises ClientError.
        """
        await self._send(StepRequest(room_id, forced))

    async def cancel(self, room_id: str) -> None:
        """End the game in the room `room_id`; its season says whether anybody wins then.

        Returns as soon as the request is sent. Raises ClientError.
        """
        await self._send(CancelRequest(room_id))

    async def enable_test_mode(self, *, is_enabled: bool = True) -> bool:
        """Begin a score sheet of finished games, or end it if not `is_enabled`; return whether there is one now.

        Raises UnspeakableError if the edition has no test mode, and other ClientErrors.
        """
        return (await self._ask(TestModeRequest(is_enabled), Testing)).is_enabled

    async def score_for_player(self, display_name: str) -> PlayerScore:
        """Return what the player called `display_name` has earned since the score sheet was begun.

        Raises RequestRefusedError if nobody of that name has played, UnspeakableError if the edition has no test mode,
        and other ClientErrors.
        """
        return await self._ask(ScoreForPlayerRequest(display_name), PlayerScore)

    async def status(self) -> dict[str, Any]:
        """Return the state of the server: rooms, connections, and how the last ones ended; the README names the fields.

        Only spielleiter answers this request. Raises NoStatusError for another server, or one that has said nothing for
        10 seconds, and other ClientErrors.
        """
        self._transport.accept(REPORT_FROM_SERVER)
        why = (
            f"no answer for {STATUS_TIMEOUT:g} s; spielleiter answers so late only if the password is wrong and other "
            "wrong ones were tried before"
        )
        with trio.move_on_after(STATUS_TIMEOUT):
            try:
                return _parsed((await self._ask(StatusRequest(), Status)).report)
            except AuthenticationError:
                raise
            except RequestRefusedError as error:
                if not isinstance(error.request, StatusRequest | UnknownPacket | None):
                    raise
                why = str(error)
            except ConnectionLostError as error:
                why = str(error)
        raise NoStatusError(f"this server does not tell its status, as only spielleiter does ({why})")

    async def _ask(
        self, request: Request, kind: type[_Answer], is_meant: Callable[[_Answer], bool] = lambda _: True
    ) -> _Answer:
        # stays in the list when the caller is cancelled: its answer comes nevertheless and belongs to nobody else
        pending = _Pending(request, lambda message: isinstance(message, kind) and is_meant(message))
        await self._send(request, pending)
        await pending.is_done.wait()
        if pending.refusal:
            raise pending.refusal
        if not isinstance(pending.answer, kind):
            raise self._told_failure()
        return pending.answer

    async def _send(self, request: Request, pending: _Pending | None = None) -> None:
        async with self._send_lock:  # waiting for it, the end may have been read: nobody would answer any more
            self._raise_untold_refusal()
            if self._failure:
                raise self._told_failure()
            if pending:
                self._pending.append(pending)
            try:
                await self._transport.send(request)
            except UnspeakableError:
                self._pending = [each for each in self._pending if each is not pending]
                raise
            except ConnectionLostError as error:
                # why it is lost may stand in what the server sent before
                with trio.move_on_after(CLOSE_TIMEOUT):
                    await self._has_read_all.wait()
                self._fail(error)
                raise self._told_failure() from None

    def _raise_untold_refusal(self) -> None:
        if self._refusal and not self._is_refusal_told:
            self._is_refusal_told = True
            self._is_failure_told |= self._failure is self._refusal
            raise self._refusal

    def _fail(self, error: ClientError) -> None:
        """The connection has ended, for the first reason that was given."""
        if self._failure is None:
            self._failure = self._refusal or error
            self._is_failure_told = self._refusal is not None and self._is_refusal_told

    def _told_failure(self) -> ClientError:
        assert self._failure is not None, "nothing ends before its time without a reason"
        self._is_failure_told = True
        self._is_refusal_told |= self._failure is self._refusal
        return self._failure

    async def _read(self) -> None:
        try:
            async for message in self._transport:
                self._hand_on(message)
        except ClientError as error:
            self._fail(error)
        if not self._is_leaving or self._pending:
            self._fail(ConnectionLostError("the server ended the connection"))
        for pending in self._pending:
            pending.is_done.set()
        for observation in self._observations:
            observation.end(is_over=False)
        self._has_read_all.set()

    def _hand_on(self, message: Message) -> None:
        if self._is_refusal_told and not isinstance(message, ErrorPacket | CloseConnection):
            self._refusal = None  # the conversation goes on, so this is not why it will end
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
                self._hand_on_refusal(refusal(text, request), request)
            case CloseConnection():
                self._fail(ConnectionLostError("the server said goodbye without giving a reason"))
            case _:
                for pending in self._pending:
                    if pending.accepts(message):
                        pending.answer = message
                        pending.is_done.set()
                        self._pending.remove(pending)
                        break

    def _hand_on_refusal(self, error: ClientError, request: Message | None) -> None:
        """Whoever waits for an answer to `request` is told, of what was refused before it if nobody knows that yet."""
        if not self._refusal or self._is_refusal_told:
            self._refusal, self._is_refusal_told = error, False
        for pending in self._pending:
            if isinstance(request, type(pending.request)):
                pending.refusal, self._is_refusal_told = self._refusal, True
                pending.is_done.set()
                self._pending.remove(pending)
                break
