"""The other end of a client's connection, scripted: says what a test tells it to, and checks what comes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import trio
from trio.testing import MockClock, memory_stream_pair

from spielleiter.client.transport import Tap, Transport
from spielleiter.game.api import State
from spielleiter.game.blokus.polyomino import Shape
from spielleiter.game.blokus.rulesets import RULES_2021
from spielleiter.game.blokus.state import BlokusState
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
from tests.patience import PATIENCE

DIALECT = BLOKUS_2021_R3
ROOM = "39a1e9f8-11ff-422f-878e-37cf99acd4bf"
START = BlokusState(RULES_2021, Shape.PENTO_V)


class FakeServer:
    """`says` sends messages, `hears` reads until the client has said exactly this."""

    def __init__(self, stream: trio.abc.HalfCloseableStream, dialect: Dialect = DIALECT) -> None:
        self.stream = stream
        self._connection = Connection(Role.SERVER, dialect)
        self._heard = b""

    async def says(self, *messages: Message) -> None:
        for message in messages:
            await self.says_bytes(self._connection.send(message))

    async def says_bytes(self, data: bytes) -> None:
        await self.stream.send_all(data)

    async def says_in_room(self, *data: RoomData) -> None:
        await self.says(*(RoomMessage(ROOM, each) for each in data))

    async def asks(self, state: State, seat: int = 0) -> None:
        """Welcome, position and request, as a game begins."""
        await self.says_in_room(WelcomeMessage(seat), Memento(state), MoveRequest())

    async def hears(self, expected: str | bytes) -> None:
        expected = expected.encode() if isinstance(expected, str) else expected
        while len(self._heard) < len(expected):
            data = await self.stream.receive_some()
            assert data, f"the client left after {self._heard!r} instead of {expected!r}"
            self._heard += data
        assert self._heard[: len(expected)] == expected
        self._heard = self._heard[len(expected) :]

    async def hears_the_end(self) -> None:
        """The client's stream is over, and nothing was said that was not heard."""
        assert self._heard == b""
        assert await self.stream.receive_some() == b""

    async def hears_a_goodbye(self) -> None:
        """The client ends its stream, then the server does, and the client is gone."""
        await self.hears("\n  <sc.protocol.CloseConnection/>\n</protocol>")
        await self.ends()
        await self.hears_the_end()

    async def ends(self) -> None:
        await self.says_bytes(self._connection.close())
        await self.stream.send_eof()


def connected(tap: Tap | None = None, dialect: Dialect = DIALECT) -> tuple[Transport, FakeServer]:
    ours, theirs = memory_stream_pair()
    return Transport(ours, dialect, tap=tap), FakeServer(theirs, dialect)


async def together(*parts: Callable[[], Awaitable[None]]) -> None:
    """Run both sides of a conversation; the first failure ends it."""
    is_virtual = isinstance(trio.lowlevel.current_clock(), MockClock)
    with trio.fail_after(100_000 if is_virtual else PATIENCE):
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
