"""The bytes at both ends of relays that are faithful, lose bytes or alter them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest
import trio

from spielleiter.bench.load import both_ends
from spielleiter.bench.load.both_ends import Carried, carry
from spielleiter.bench.load.scripts import load_of
from spielleiter.bench.subject import BenchError
from tests.timeouts import HANG_TIMEOUT

EDITION = "blokus-2027"

Relay = Callable[[trio.SocketStream, trio.SocketStream], Awaitable[None]]


async def carried_by(relay: Relay) -> Carried:
    """What arrives through a relay that passes on the bytes of one direction with `relay`."""
    async with trio.open_nursery() as nursery:
        (listener,) = await trio.open_tcp_listeners(0, host="127.0.0.1")
        (front,) = await trio.open_tcp_listeners(0, host="127.0.0.1")

        async def serve(client: trio.SocketStream) -> None:
            server = await trio.open_tcp_stream("127.0.0.1", listener.socket.getsockname()[1])
            async with server, trio.open_nursery() as directions:
                directions.start_soon(relay, client, server)
                directions.start_soon(relay, server, client)

        nursery.start_soon(trio.serve_listeners, serve, [front])
        async with listener:
            with trio.fail_after(HANG_TIMEOUT):
                carried = await carry(listener, front.socket.getsockname()[1], load_of(EDITION), 2)
        nursery.cancel_scope.cancel()
    return carried


@pytest.mark.slow
async def test_bytes_that_are_lost_or_altered_are_noticed() -> None:
    async def faithful(source: trio.SocketStream, target: trio.SocketStream) -> None:
        async for data in source:
            await target.send_all(data)
        await target.send_eof()

    async def careless(source: trio.SocketStream, target: trio.SocketStream) -> None:
        data = b"".join([chunk async for chunk in source])
        await target.send_all(data[:-1])
        await target.send_eof()

    async def wrong(source: trio.SocketStream, target: trio.SocketStream) -> None:
        async for data in source:
            await target.send_all(data.replace(b"<", b"["))
        await target.send_eof()

    assert (await carried_by(faithful)).lost == 0
    assert (await carried_by(careless)).lost == 4
    assert (await carried_by(wrong)).lost > 1000


@pytest.mark.slow
async def test_bytes_that_are_added_at_the_end_are_noticed() -> None:
    async def talkative(source: trio.SocketStream, target: trio.SocketStream) -> None:
        async for data in source:
            await target.send_all(data)
        await target.send_all(b"more")
        await target.send_eof()

    carried = await carried_by(talkative)
    assert (carried.lost, carried.added) == (0, 16)


async def test_the_error_names_what_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    (listener,) = await trio.open_tcp_listeners(0, host="127.0.0.1")
    port = listener.socket.getsockname()[1]

    async def fail(*_: object) -> None:
        async with trio.open_nursery():
            raise trio.BrokenResourceError("the stream is broken")

    monkeypatch.setattr(both_ends, "_send_and_compare", fail)
    async with listener:
        with pytest.raises(BenchError) as caught:
            await carry(listener, port, load_of(EDITION), 1)
    assert str(caught.value) == "the relay does not carry everything (BrokenResourceError('the stream is broken'))"
