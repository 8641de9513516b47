"""A scripted server at the other end of a client's connection, and sessions of players and administrators with it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeAlias, cast, get_args

import trio
from trio.testing import MockClock, memory_stream_pair, wait_all_tasks_blocked

from spielleiter.client.admin import AdminClient
from spielleiter.client.player import GameReport, Player, Responder, Strategy
from spielleiter.client.transport import Tap, Transport
from spielleiter.game.api import Move, State
from spielleiter.game.blokus.pieces import Shape
from spielleiter.game.blokus.state import RULES_2021, BlokusState
from spielleiter.protocol.connection import Connection, Role
from spielleiter.protocol.dialect import Dialect
from spielleiter.protocol.dialects.blokus_2021 import BLOKUS_2021_R3
from spielleiter.protocol.messages import (
    Cause,
    CloseConnection,
    ErrorPacket,
    Joined,
    Left,
    Memento,
    Message,
    MoveRequest,
    Observed,
    Request,
    Result,
    RoomData,
    RoomMessage,
    Score,
    UnknownPacket,
    WelcomeMessage,
)
from tests.timeouts import HANG_TIMEOUT

DIALECT = BLOKUS_2021_R3
ROOM = "39a1e9f8-11ff-422f-878e-37cf99acd4bf"
START = BlokusState(RULES_2021, Shape.PENTO_V)
MOVE = next(START.generate_legal_moves())
SENT_MOVE = (
    f'\n  <room roomId="{ROOM}">\n    <data class="sc.plugin2021.SetMove">'
    '\n      <piece color="BLUE" kind="PENTO_V" rotation="NONE" isFlipped="false">'
    '\n        <position x="0" y="0"/>\n      </piece>\n    </data>\n  </room>'
)
"""MOVE as a player sends it."""
HELLO = '<protocol>\n  <authenticate password="geheim"/>'
GOODBYE_TAGS = {"blokus-2027": "close", "hase-und-igel-2018": "sc.protocol.responses.CloseConnection"}
OBSERVE = f'\n  <observe roomId="{ROOM}"/>'


class FakeServer:
    """A server whose every step is a call: `send` sends messages, `expect` reads exactly these bytes."""

    def __init__(self, stream: trio.abc.HalfCloseableStream, dialect: Dialect = DIALECT) -> None:
        self.stream = stream
        self._goodbye = GOODBYE_TAGS.get(dialect.name, "sc.protocol.CloseConnection")
        self._connection = Connection(Role.SERVER, dialect)
        self._received = b""

    async def send(self, *messages: Message) -> None:
        for message in messages:
            await self.send_bytes(self._connection.send(message))

    async def send_bytes(self, data: bytes) -> None:
        await self.stream.send_all(data)

    async def send_in_room(self, *data: RoomData) -> None:
        await self.send(*(RoomMessage(ROOM, each) for each in data))

    async def expect(self, expected: str | bytes) -> None:
        expected = expected.encode() if isinstance(expected, str) else expected
        while len(self._received) < len(expected):
            data = await self.stream.receive_some()
            assert data, f"the client ended its stream after {self._received!r}, expected {expected!r}"
            self._received += data
        assert self._received[: len(expected)] == expected
        self._received = self._received[len(expected) :]

    async def expect_eof(self) -> None:
        """Expect the end of the client's stream, with no unread bytes before it."""
        assert self._received == b""
        assert await self.stream.receive_some() == b""

    async def expect_goodbye(self) -> None:
        """Expect the client's goodbye, end the server's stream, and expect the end of the client's."""
        await self.expect(f"\n  <{self._goodbye}/>\n</protocol>")
        await self.end()
        await self.expect_eof()

    async def end(self) -> None:
        """Send the end tag and the end of the stream."""
        await self.send_bytes(self._connection.close())
        await self.stream.send_eof()


def connected(tap: Tap | None = None, dialect: Dialect = DIALECT) -> tuple[Transport, FakeServer]:
    """A client's transport and the scripted server at its other end."""
    client_end, server_end = memory_stream_pair()
    return Transport(client_end, dialect, tap=tap), FakeServer(server_end, dialect)


async def together(*parts: Callable[[], Awaitable[None]]) -> None:
    """Run both sides of a conversation; the first failure ends it."""
    is_virtual = isinstance(trio.lowlevel.current_clock(), MockClock)
    with trio.fail_after(100_000 if is_virtual else HANG_TIMEOUT):
        async with trio.open_nursery() as nursery:
            for part in parts:
                nursery.start_soon(part)


Step: TypeAlias = str | bytes | Message | RoomData | Callable[["FakeServer"], Awaitable[None]]
"""What a scripted server does: expect a text, send bytes or a message (in the room, if it belongs there), or a call."""


def script(*steps: Step) -> Callable[[FakeServer], Awaitable[None]]:
    """Return what the server of a session does, one step after the other."""

    async def serve(server: FakeServer) -> None:
        for step in steps:
            if isinstance(step, str):
                await server.expect(step)
            elif isinstance(step, bytes):
                await server.send_bytes(step)
            elif isinstance(step, get_args(RoomData)):
                await server.send_in_room(step)
            elif callable(step):
                await step(server)
            else:
                await server.send(cast("Message", step))

    return serve


END = FakeServer.end
GOODBYE = FakeServer.expect_goodbye


async def CUT(server: FakeServer) -> None:  # noqa: N802 - a step of a script
    """Break the connection."""
    await server.stream.aclose()


async def WAIT(_server: FakeServer) -> None:  # noqa: N802 - a step of a script
    """Wait until the client can do nothing more."""
    await wait_all_tasks_blocked()


def request_move(state: State = START, seat: int = 0) -> Callable[[FakeServer], Awaitable[None]]:
    """Send what starts a game: welcome message, position and request for a move."""
    return script(WelcomeMessage(seat), Memento(state), MoveRequest())


def refuse(text: str, request: Request | UnknownPacket | None = None) -> Callable[[FakeServer], Awaitable[None]]:
    """Refuse a request, and end the connection."""
    return script(ErrorPacket(text, request), CloseConnection(), END)


STAY_OPEN = script(OBSERVE, Observed(ROOM), Left(ROOM), GOODBYE)
"""Show that the connection goes on: answer another request (`watch`), and expect an orderly goodbye."""


async def watch(admin: AdminClient) -> None:
    assert [event async for event in await admin.observe(ROOM)] == []


async def administered(
    administer: Callable[[AdminClient], Awaitable[object]],
    *steps: Step,
    dialect: Dialect = DIALECT,
    hello: str = HELLO,
) -> None:
    """Run `administer` with a client, and `steps` with its server once it has received the password.

    Raises what `administer` raises.
    """
    transport, server = connected(dialect=dialect)
    failures: list[Exception] = []

    async def run_client() -> None:
        try:
            async with AdminClient(transport).running("geheim") as admin:
                await administer(admin)
        except Exception as error:
            failures.append(error)

    async def run_server() -> None:
        await script(hello, *steps)(server)

    await together(run_client, run_server)
    if failures:
        raise failures[0]


def first(state: State) -> Move:
    return next(iter(state.generate_legal_moves()))


async def first_async(state: State) -> Move:
    return first(state)


async def played(
    *steps: Step,
    strategy: Strategy = first_async,
    responder: Responder | None = None,
    on_received: Callable[[RoomData], None] | None = None,
) -> GameReport:
    """Let a player join and play with `strategy`, or `responder`; `steps` are the server's after the join.

    Returns the report. Raises what playing raises, once the player has said goodbye.
    """
    transport, server = connected()
    player = Player(transport)
    player.watch = on_received
    outcomes: list[GameReport | Exception] = []

    async def play() -> None:
        await player.join("swc_2021_blokus")
        try:
            outcomes.append(await (player.play_with(responder) if responder else player.play(strategy)))
        except Exception as error:
            outcomes.append(error)
            await server.expect("\n  <sc.protocol.CloseConnection/>\n</protocol>")  # while the connection is still open
            await server.end()
        await transport.aclose()

    async def run_server() -> None:
        await script('<protocol>\n  <join gameType="swc_2021_blokus"/>', Joined(ROOM), *steps)(server)

    await together(play, run_server)
    (outcome,) = outcomes
    if isinstance(outcome, Exception):
        raise outcome
    return outcome


def result(
    winners: tuple[int, ...] = (0,), *, points: tuple[int, int] = (136, 127), causes: tuple[Cause, Cause] | None = None
) -> Result:
    first, second = causes or (Cause.REGULAR, Cause.REGULAR)
    reasons = ["" if cause is Cause.REGULAR else f"because {cause.value}" for cause in (first, second)]
    parts = [(2 if seat in winners else 0, points[seat]) for seat in (0, 1)]
    return Result(
        DIALECT.score_definition,
        (Score(first, reasons[0], parts[0]), Score(second, reasons[1], parts[1])),
        winners,
    )
