"""The bare wire passes on positions and requests, and knows nothing of the game."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TypeAlias

import trio

from spielleiter.bench.floor import Floor
from tests.timeouts import HANG_TIMEOUT

MEMENTOS = [b"<position0/>", b"<position1/>", b"<position2/>"]
SEATS = [0, 1]
REQUEST = b"<request/>"


class Peer:
    """One side of a connection, which can be read piece by piece."""

    def __init__(self, stream: trio.SocketStream) -> None:
        self._stream = stream
        self._buffer = b""

    async def send(self, data: bytes) -> None:
        await self._stream.send_all(data)

    async def close(self) -> None:
        await self._stream.aclose()

    async def read_to_end(self) -> None:
        """Discard everything up to the end of the stream."""
        while await self._stream.receive_some():
            pass

    async def read_until(self, end: bytes) -> bytes:
        """Return what has been received up to the first `end`, and keep the rest."""
        while end not in self._buffer:
            received = await self._stream.receive_some()
            assert received, self._buffer
            self._buffer += received
        piece, end, self._buffer = self._buffer.partition(end)
        return piece + end


Connect: TypeAlias = Callable[[], Awaitable[Peer]]


@asynccontextmanager
async def running_floor(observers: int) -> AsyncIterator[Connect]:
    """A floor with one script in this event loop; yields a function that connects to it."""
    floor = Floor([(MEMENTOS, SEATS)], REQUEST, observers)
    with trio.fail_after(HANG_TIMEOUT):
        async with trio.open_nursery() as nursery:
            listeners = await nursery.start(trio.serve_tcp, floor.serve, 0)
            port = listeners[0].socket.getsockname()[1]
            async with AsyncExitStack() as streams:

                async def connect() -> Peer:
                    return Peer(await streams.enter_async_context(await trio.open_tcp_stream("127.0.0.1", port)))

                yield connect
            nursery.cancel_scope.cancel()


async def prepare(connect: Connect) -> tuple[Peer, list[bytes]]:
    """The administrator's connection, and the codes of a game's two seats."""
    admin = await connect()
    slot = b'<slot displayName="0"/>'
    await admin.send(b'<protocol><authenticate/><prepare gameType="g">' + slot * 2 + b"</prepare>")
    prepared = await admin.read_until(b"</prepared>")
    assert prepared.startswith(b'<protocol>\n  <prepared roomId="00000000-0000-4000-8000-000000000001">')
    return admin, [part.partition(b"</reservation>")[0] for part in prepared.split(b"<reservation>")[1:]]


async def join(connect: Connect, code: bytes) -> Peer:
    player = await connect()
    await player.send(b'<protocol><joinPrepared reservationCode="%s"/>' % code)
    await player.read_until(b"/>")
    return player


async def test_a_game_is_played_by_the_script() -> None:
    async with running_floor(observers=0) as connect:
        _, codes = await prepare(connect)
        second, first = await join(connect, codes[1]), await join(connect, codes[0])  # in any order
        assert await first.read_until(REQUEST) == MEMENTOS[0] + REQUEST
        await first.send(b"any bytes")
        assert await second.read_until(REQUEST) == MEMENTOS[0] + MEMENTOS[1] + REQUEST
        await second.send(b"any bytes")
        ends = [await player.read_until(b"</room>") for player in (first, second)]
        assert all(end.endswith(b"</room>") and b'<data class="result">' in end for end in ends)
        assert ends[0].startswith(MEMENTOS[1] + MEMENTOS[2])


async def test_observers_get_every_position_and_no_request() -> None:
    async with running_floor(observers=1) as connect:
        observer, codes = await prepare(connect)
        await observer.send(b'<observe roomId="00000000-0000-4000-8000-000000000001"/>')
        players = [await join(connect, code) for code in codes]
        for seat in SEATS:
            await players[seat].read_until(REQUEST)
            await players[seat].send(b"any bytes")
        shown = await observer.read_until(b"</room>")
        assert shown.startswith(b"".join(MEMENTOS))
        assert REQUEST not in shown


async def test_a_player_that_leaves_ends_the_game() -> None:
    async with running_floor(observers=0) as connect:
        _, codes = await prepare(connect)
        first, second = [await join(connect, code) for code in codes]
        await first.read_until(REQUEST)
        await first.close()
        assert await second.read_until(MEMENTOS[0]) == MEMENTOS[0]
        await second.read_to_end()
