"""A scripted server at the other end of a client's connection, which sends messages and checks the input."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import trio
from trio.testing import MockClock, memory_stream_pair

from spielleiter.client.transport import Tap, Transport
from spielleiter.game.api import State
from spielleiter.game.blokus.pieces import Shape
from spielleiter.game.blokus.state import RULES_2021, BlokusState
from spielleiter.protocol.connection import Connection, Role
from spielleiter.protocol.dialect import Dialect
from spielleiter.protocol.dialects.blokus_2021 import BLOKUS_2021_R3
from spielleiter.protocol.messages import (
    Cause,
    Memento,
    Message,
    MoveRequest,
    Result,
    RoomData,
    RoomMessage,
    Score,
    WelcomeMessage,
)
from tests.timeouts import HANG_TIMEOUT

DIALECT = BLOKUS_2021_R3
ROOM = "39a1e9f8-11ff-422f-878e-37cf99acd4bf"
START = BlokusState(RULES_2021, Shape.PENTO_V)


class FakeServer:
    """A server whose every step is a call: `send` sends messages, `expect` reads exactly these bytes."""

    def __init__(self, stream: trio.abc.HalfCloseableStream, dialect: Dialect = DIALECT) -> None:
        self.stream = stream
        self._connection = Connection(Role.SERVER, dialect)
        self._received = b""

    async def send(self, *messages: Message) -> None:
        for message in messages:
            await self.send_bytes(self._connection.send(message))

    async def send_bytes(self, data: bytes) -> None:
        await self.stream.send_all(data)

    async def send_in_room(self, *data: RoomData) -> None:
        await self.send(*(RoomMessage(ROOM, each) for each in data))

    async def request_move(self, state: State, seat: int = 0) -> None:
        """Send what starts a game: welcome message, position and request for a move."""
        await self.send_in_room(WelcomeMessage(seat), Memento(state), MoveRequest())

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
        await self.expect("\n  <sc.protocol.CloseConnection/>\n</protocol>")
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
