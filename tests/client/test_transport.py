"""A transport sends and reads messages, and closes in every state of the connection."""

from __future__ import annotations

import errno
import socket

import pytest
import trio
from trio.testing import MockClock, memory_stream_pair

from spielleiter.client.client_errors import CannotConnectError, ConnectionLostError, ServerProtocolError
from spielleiter.client.transport import CLOSE_TIMEOUT, Transport, open_transport
from spielleiter.protocol.messages import CloseConnection, Joined, JoinRequest, Left
from tests.client.fake import DIALECT, ROOM, connected, together

JOINED = f'<protocol>\n  <joined roomId="{ROOM}"/>'


async def test_packets_come_in_as_messages_until_the_stream_ends() -> None:
    transport, server = connected()
    await server.send_bytes(f'{JOINED}\n  <left roomId="{ROOM}"/>\n</protocol>'.encode())
    assert [message async for message in transport] == [Joined(ROOM), Left(ROOM)]
    assert await transport.receive() is None


async def test_unreadable_bytes_end_the_reading() -> None:
    transport, server = connected()
    await server.send_bytes(b"<protocol><joined></left>")
    with pytest.raises(ServerProtocolError, match="the server sent something unreadable: "):
        await transport.receive()
    assert await transport.receive() is None


async def test_a_broken_connection_is_lost_in_both_directions() -> None:
    near, far = memory_stream_pair()
    transport = Transport(near, DIALECT)
    await far.aclose()
    with pytest.raises(ConnectionLostError):
        await transport.send(JoinRequest())
    await near.aclose()
    with pytest.raises(ConnectionLostError):
        await transport.receive()


async def test_closing_says_goodbye_once_and_drops_further_messages() -> None:
    transport, server = connected()
    await transport.send(JoinRequest())

    async def serve() -> None:
        await server.expect("<protocol>\n  <join/>\n  <sc.protocol.CloseConnection/>\n</protocol>")
        await server.send(Joined(ROOM), CloseConnection())
        await server.end()
        await server.expect_eof()

    await together(transport.aclose, serve)
    await transport.say_goodbye()


@pytest.mark.parametrize("is_gone", [True, False])
async def test_closing_is_no_error_if_the_server_is_gone_or_sends_garbage(is_gone: bool) -> None:
    transport, server = connected()
    if is_gone:
        await server.stream.aclose()
    else:
        await server.send_bytes(b"<protocol><joined></left>")
    await transport.aclose()


async def test_closing_does_not_wait_for_ever(autojump_clock: MockClock) -> None:
    transport, _ = connected()
    started = trio.current_time()
    await transport.aclose()
    assert trio.current_time() - started == CLOSE_TIMEOUT


async def test_connecting_to_a_closed_port_is_an_error_with_the_reason() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound but not listening: no other process gets it, and connections are refused
        port = taken.getsockname()[1]
        with pytest.raises(CannotConnectError) as refused:
            await open_transport("127.0.0.1", port, DIALECT)
    assert str(refused.value) == f"cannot connect to 127.0.0.1:{port} (nobody listens there)"


async def test_connecting_is_retried_until_the_timeout(
    autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    near, _ = memory_stream_pair()
    attempts: list[float] = []

    async def open_tcp_stream(host: str, port: int) -> trio.abc.Stream:
        attempts.append(trio.current_time())
        if len(attempts) < 4:
            raise OSError("all attempts failed") from ExceptionGroup("", [OSError(errno.ECONNREFUSED, "refused")])
        return near

    monkeypatch.setattr(trio, "open_tcp_stream", open_tcp_stream)
    await open_transport("127.0.0.1", 1, DIALECT, wait_timeout=10)
    assert len(attempts) == 4
    attempts.clear()
    with pytest.raises(CannotConnectError, match=r"cannot connect to 127\.0\.0\.1:1 \(nobody listens there\)"):
        await open_transport("127.0.0.1", 1, DIALECT, wait_timeout=0.15)
    assert len(attempts) == 3


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (socket.gaierror(socket.EAI_NONAME, "Name or service not known"), "no such host"),
        (OSError(errno.ENETUNREACH, "unreachable"), "Network is unreachable"),
        (OSError("no errno"), "Input/output error"),
    ],
)
async def test_the_error_names_the_reason(error: OSError, reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def open_tcp_stream(host: str, port: int) -> trio.abc.Stream:
        raise error

    monkeypatch.setattr(trio, "open_tcp_stream", open_tcp_stream)
    with pytest.raises(CannotConnectError) as refused:
        await open_transport("there", 1, DIALECT)
    assert str(refused.value) == f"cannot connect to there:1 ({reason})"


async def test_a_crash_over_tcp_is_a_reset() -> None:
    listener = (await trio.open_tcp_listeners(0, host="127.0.0.1"))[0]
    port = listener.socket.getsockname()[1]
    transport = await open_transport("127.0.0.1", port, DIALECT)
    async with listener, await listener.accept() as accepted:
        await transport.abort()
        with pytest.raises(trio.BrokenResourceError) as broken:
            await accepted.receive_some()
    assert isinstance(broken.value.__cause__, ConnectionResetError)
