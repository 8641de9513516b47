"""An administrator: prepares rooms, watches, pauses, steps and cancels games.

Law: one task reads everything the server sends and hands it to whoever waits; answers and refusals go to requests of
their kind in the order in which those were sent. The protocol answers a password, `pause`, `step` and `cancel` with
silence when it accepts them; that one was refused is raised once, by whatever waits or is called next, at the latest by
leaving the connection. Some editions end the connection behind a refusal, and then nothing else can be asked.
"""

from __future__ import annotations

import json
import math
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar

import trio

from client.defaults import DEFAULT_HOST, DEFAULT_PASSWORD, DEFAULT_PORT
from client.editions import DEFAULT_DIALECT
from client.errors import (
    AuthenticationError,
    ClientError,
    ConnectionLostError,
    NoStatusError,
    RequestRefusedError,
    UnspeakableError,
    refusal,
)
from client.transport import CLOSE_TIMEOUT, Tap, Transport, open_transport
from protocol.dialect import Dialect
from protocol.limits import REPORT_FROM_SERVER
from protocol.messages import (
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

ObserverEvent: TypeAlias = Memento | Result | ErrorMessage | Paused
"""What an observer is told about a game."""

_Answer = TypeVar("_Answer", Prepared, Observed, Testing, PlayerScore, Status)

STATUS_TIMEOUT = 10.0
"""Seconds for which an answer to the request for the status is awaited; servers that do not know it may say nothing."""


@dataclass(frozen=True, slots=True)
class PreparedRoom:
    """A room that waits for its players; `reservations` in the order of the slots that are reserved."""

    room_id: str
    reservations: tuple[str, ...]


class Observation:
    """The events of one game, in order; ends once the game is over. Raises ClientError if the connection ends first.

    Events nobody has taken yet are kept: a game has a few hundred at most.
    """

    def __init__(self, room_id: str, lose: Callable[[], ClientError]) -> None:
        self.room_id = room_id
        self._lose = lose
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
            raise self._lose() from None

    def put_nowait(self, event: ObserverEvent) -> None:
        self._send.send_nowait(event)

    def end(self, *, is_over: bool) -> None:
        """No more events will come, because the game is over or because the connection is."""
        self._is_over = is_over
        self._send.close()


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
    """An authenticated connection. Methods may be called from several tasks at a time."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._send_lock = trio.Lock()
        self._pending: list[_Pending] = []
        self._observations: list[Observation] = []
        self._failure: ClientError | None = None
        """Why the connection has ended."""
        self._is_failure_told = False
        self._refusal: ClientError | None = None
        """The last one; the reason if the connection ends behind it."""
        self._is_refusal_told = True
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
        """An administrator's connection; leaving says goodbye and raises a refusal nobody has been told of.

        Raises CannotConnectError; a wrong password shows itself later, as AuthenticationError. `wait_timeout`: seconds
        for which a server that is not there yet is waited for. `tap` is handed every byte that is received.
        """
        transport = await open_transport(host, port, dialect, wait_timeout=wait_timeout, tap=tap)
        async with cls(transport).running(password) as admin:
            yield admin

    @asynccontextmanager
    async def running(self, password: str) -> AsyncIterator[AdminClient]:
        """Authenticate on the transport and keep reading it; for streams other than TCP."""
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
        """Open a room with these slots (a text is the display name of a slot with the usual settings).

        `pause`: no moves are asked for until the game is resumed or stepped. Raises ClientError.
        """
        full = tuple(Slot(slot) if isinstance(slot, str) else slot for slot in slots)
        prepared = await self._ask(PrepareRequest(game_type, full, pause), Prepared)
        return PreparedRoom(prepared.room_id or "", prepared.reservations)

    async def observe(self, room_id: str) -> Observation:
        """Watch a room; if its game has begun, the first event may be its current position. Raises ClientError."""
        observation = Observation(room_id, self._told_failure)
        self._observations.append(observation)
        await self._ask(ObserveRequest(room_id), Observed, lambda observed: observed.room_id == room_id)
        return observation

    async def pause(self, room_id: str) -> None:
        """Ask for no more moves; one that is asked for already is still accepted. Raises ClientError."""
        await self._send(PauseRequest(room_id, is_paused=True))

    async def resume(self, room_id: str) -> None:
        """Let a paused game go on. Raises ClientError."""
        await self._send(PauseRequest(room_id, is_paused=False))

    async def step(self, room_id: str, *, forced: bool = False) -> None:
        """Ask for one move of a paused game. Raises ClientError."""
        await self._send(StepRequest(room_id, forced))

    async def cancel(self, room_id: str) -> None:
        """End a game at once; its season says whether anybody wins then. Raises ClientError."""
        await self._send(CancelRequest(room_id))

    async def enable_test_mode(self, *, is_enabled: bool = True) -> bool:
        """Keep a score sheet, or stop it; what holds now. Raises ClientError."""
        return (await self._ask(TestModeRequest(is_enabled), Testing)).is_enabled

    async def score_for_player(self, display_name: str) -> PlayerScore:
        """What a player has earned since the score sheet was begun. Raises ClientError."""
        return await self._ask(ScoreForPlayerRequest(display_name), PlayerScore)

    async def status(self) -> dict[str, Any]:
        """What there is on the server: rooms, connections, and how the last ones ended; the README names the fields.

        Raises NoStatusError where the server does not know this request, which only spielleiter answers; other
        ClientErrors as usual.
        """
        self._transport.accept(REPORT_FROM_SERVER)
        why = f"no answer for {STATUS_TIMEOUT:g} s"
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
