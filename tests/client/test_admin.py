"""Requests of an administrator, the answers to them, and how its connection ends."""

from __future__ import annotations

import pytest
import trio
from trio.testing import MockClock

from spielleiter.client.admin import AdminClient
from spielleiter.client.admin_requests import PreparedRoom
from spielleiter.client.errors import (
    AuthenticationError,
    ClientError,
    ConnectionLostError,
    RequestRefusedError,
    UnspeakableError,
)
from spielleiter.protocol.dialects.blokus_2027 import BLOKUS_2027
from spielleiter.protocol.dialects.hase_und_igel_2018 import HASE_UND_IGEL_2018
from spielleiter.protocol.messages import (
    AuthenticateRequest,
    CloseConnection,
    JoinedGameRoom,
    PauseRequest,
    PlayerScore,
    Prepared,
    Slot,
    Testing,
)
from tests.client.admin_sessions import HELLO, answer_another_observation, refuse, session, watch
from tests.client.fake import DIALECT, ROOM, FakeServer, connected, together

GOODBYE = "\n  <sc.protocol.CloseConnection/>\n</protocol>"


async def test_a_room_is_prepared() -> None:
    async def administer(admin: AdminClient) -> None:
        slots: list[Slot | str] = ["Alice", Slot("Bob & Co", can_timeout=False, is_reserved=False)]
        assert await admin.prepare("swc_2021_blokus", slots, pause=True) == PreparedRoom(ROOM, ("c1", "c2"))

    async def serve(server: FakeServer) -> None:
        await server.expect('\n  <prepare gameType="swc_2021_blokus" pause="true">\n    <slot displayName="Alice"')
        await server.expect(
            ' canTimeout="true" reserved="true"/>\n'
            '    <slot displayName="Bob &amp; Co" canTimeout="false" reserved="false"/>\n'
            "  </prepare>"
        )
        await server.send(JoinedGameRoom("some other room", 1), Prepared(ROOM, ("c1", "c2")))
        await server.expect_goodbye()

    await session(administer, serve)


async def test_requests_without_an_answer_return_once_they_are_sent() -> None:
    async def administer(admin: AdminClient) -> None:
        await admin.pause(ROOM)
        await admin.resume(ROOM)
        await admin.step(ROOM)
        await admin.step(ROOM, forced=True)
        await admin.cancel(ROOM)

    async def serve(server: FakeServer) -> None:
        await server.expect(
            f'\n  <pause roomId="{ROOM}" pause="true"/>\n  <pause roomId="{ROOM}" pause="false"/>'
            f'\n  <step roomId="{ROOM}" forced="false"/>\n  <step roomId="{ROOM}" forced="true"/>'
            f'\n  <cancel roomId="{ROOM}"/>'
        )
        await server.expect_goodbye()

    await session(administer, serve)


async def test_the_score_sheet_is_started_ended_and_read() -> None:
    score = PlayerScore("Alice", 1, ())

    async def administer(admin: AdminClient) -> None:
        assert await admin.enable_test_mode() is True
        assert await admin.enable_test_mode(is_enabled=False) is False
        assert await admin.score_for_player("Alice") == score

    async def serve(server: FakeServer) -> None:
        await server.expect('\n  <testMode testMode="true"/>')
        await server.send(Testing(is_enabled=True))
        await server.expect('\n  <testMode testMode="false"/>')
        await server.send(Testing(is_enabled=False))
        await server.expect('\n  <scoreForPlayer displayName="Alice"/>')
        await server.send(score)
        await server.expect_goodbye()

    await session(administer, serve)


async def test_several_requests_are_answered_in_order() -> None:
    rooms: dict[str, PreparedRoom] = {}

    async def administer(admin: AdminClient) -> None:
        async def prepare(name: str) -> None:
            rooms[name] = await admin.prepare("swc_2021_blokus", [name])

        async with trio.open_nursery() as nursery:
            for name in ("a", "b"):
                nursery.start_soon(prepare, name)
                await trio.testing.wait_all_tasks_blocked()

    async def serve(server: FakeServer) -> None:
        for name in ("a", "b"):
            await server.expect('\n  <prepare gameType="swc_2021_blokus" pause="false">\n    <slot displayName="')
            await server.expect(f'{name}" canTimeout="true" reserved="true"/>\n  </prepare>')
        await server.send(Prepared("room a"), Prepared("room b"))
        await server.expect_goodbye()

    await session(administer, serve)
    assert {name: room.room_id for name, room in rooms.items()} == {"a": "room a", "b": "room b"}


async def test_the_answer_to_a_cancelled_call_is_not_taken_for_another_request(autojump_clock: MockClock) -> None:
    async def administer(admin: AdminClient) -> None:
        with trio.move_on_after(1):
            await admin.enable_test_mode()
        assert await admin.enable_test_mode(is_enabled=False) is False

    async def serve(server: FakeServer) -> None:
        await server.expect('\n  <testMode testMode="true"/>\n  <testMode testMode="false"/>')
        await server.send(Testing(is_enabled=True), Testing(is_enabled=False))
        await server.expect_goodbye()

    await session(administer, serve)


async def test_a_waiting_call_raises_the_refusal_of_the_password() -> None:
    async def administer(admin: AdminClient) -> None:
        await admin.prepare("swc_2021_blokus", ["a", "b"])

    async def serve(server: FakeServer) -> None:
        await refuse(server, "Failed to authenticate", AuthenticateRequest("geheim"))

    with pytest.raises(AuthenticationError, match=r"^Failed to authenticate$"):
        await session(administer, serve)


async def test_leaving_raises_a_refusal_that_no_call_has_raised() -> None:
    async def administer(admin: AdminClient) -> None:
        await admin.pause("nowhere")

    async def serve(server: FakeServer) -> None:
        await server.expect('\n  <pause roomId="nowhere" pause="true"/>')
        await refuse(server, "Couldn't find a room", PauseRequest("nowhere", is_paused=True))

    with pytest.raises(RequestRefusedError, match=r"^Couldn't find a room$"):
        await session(administer, serve)


async def test_a_refusal_that_arrives_after_the_goodbye_is_raised() -> None:
    async def administer(admin: AdminClient) -> None:
        await admin.cancel("nowhere")

    async def serve(server: FakeServer) -> None:
        await server.expect('\n  <cancel roomId="nowhere"/>' + GOODBYE)
        await refuse(server, "Couldn't find a room", None)

    with pytest.raises(RequestRefusedError, match=r"^Couldn't find a room$"):
        await session(administer, serve)


async def test_leaving_does_not_raise_a_refusal_again() -> None:
    async def administer(admin: AdminClient) -> None:
        with pytest.raises(RequestRefusedError):
            await admin.observe("nowhere")
        with pytest.raises(RequestRefusedError):
            await admin.pause("nowhere")

    async def serve(server: FakeServer) -> None:
        await server.expect('\n  <observe roomId="nowhere"/>')
        await refuse(server, "Couldn't find a room", None)

    await session(administer, serve)


async def test_a_request_without_a_packet_in_this_edition_is_not_sent() -> None:
    async def administer(admin: AdminClient) -> None:
        with pytest.raises(UnspeakableError, match="blokus-2027 has no way to write TestModeRequest"):
            await admin.enable_test_mode()
        await watch(admin)

    await session(administer, answer_another_observation, BLOKUS_2027)


async def test_hase_und_igel_is_administered_in_its_own_dialect() -> None:
    async def administer(admin: AdminClient) -> None:
        assert await admin.prepare("swc_2018_hase_und_igel", ["a", "b"], pause=True) == PreparedRoom(ROOM, ("c", "d"))
        assert await admin.score_for_player("nobody") == PlayerScore("", 0, ())

    async def serve(server: FakeServer) -> None:
        await server.expect(
            '\n  <prepare gameType="swc_2018_hase_und_igel">'
            '\n    <slot displayName="a" canTimeout="true" shouldBePaused="true"/>'
            '\n    <slot displayName="b" canTimeout="true" shouldBePaused="true"/>\n  </prepare>'
        )
        await server.send(Prepared(ROOM, ("c", "d")))
        await server.expect('\n  <scoreForPlayer displayName="nobody"/>')
        await server.send(PlayerScore("", 0, ()))
        await server.expect("\n  <sc.protocol.responses.CloseConnection/>\n</protocol>")
        await server.end()
        await server.expect_eof()

    await session(administer, serve, HASE_UND_IGEL_2018, "passphrase")


async def test_a_goodbye_without_a_reason_is_not_taken_for_success() -> None:
    async def administer(admin: AdminClient) -> None:
        await admin.pause(ROOM)

    async def serve(server: FakeServer) -> None:
        await server.expect(f'\n  <pause roomId="{ROOM}" pause="true"/>')
        await server.send(CloseConnection())
        await server.end()

    with pytest.raises(ConnectionLostError, match="without giving a reason"):
        await session(administer, serve)


async def test_unreadable_bytes_are_an_error() -> None:
    async def administer(admin: AdminClient) -> None:
        await admin.observe(ROOM)

    async def serve(server: FakeServer) -> None:
        await server.expect(f'\n  <observe roomId="{ROOM}"/>')
        await server.send_bytes(b"<protocol><observed></left>")

    with pytest.raises(ClientError, match="something unreadable"):
        await session(administer, serve)


async def test_sending_over_a_lost_connection_raises_the_reason_that_the_server_sent() -> None:
    transport, server = connected()
    await refuse(server, "the server stops", None)
    with pytest.raises(RequestRefusedError, match=r"^the server stops$"):
        async with AdminClient(transport).running("geheim") as admin:
            await admin.pause(ROOM)


async def test_sending_over_a_lost_connection_without_a_reason() -> None:
    transport, server = connected()
    await server.stream.aclose()
    with pytest.raises(ConnectionLostError):
        async with AdminClient(transport).running("geheim"):
            pass


async def test_an_error_inside_of_the_block_is_not_wrapped_in_a_group() -> None:
    async def administer(admin: AdminClient) -> None:
        raise LookupError("no idea")

    async def serve(server: FakeServer) -> None:
        await server.expect_goodbye()

    with pytest.raises(LookupError, match="no idea"):
        await session(administer, serve)


async def test_leaving_does_not_wait_for_ever_for_the_end_of_the_stream(autojump_clock: MockClock) -> None:
    async def administer(admin: AdminClient) -> None:
        await admin.pause(ROOM)

    async def serve(server: FakeServer) -> None:
        await server.expect(f'\n  <pause roomId="{ROOM}" pause="true"/>' + GOODBYE)
        await server.expect_eof()

    await session(administer, serve)


async def test_connect_opens_and_closes_a_tcp_connection() -> None:
    listener = (await trio.open_tcp_listeners(0, host="127.0.0.1"))[0]
    port = listener.socket.getsockname()[1]
    seen: list[bytes] = []

    async def administer() -> None:
        async with AdminClient.connect("127.0.0.1", port, "geheim", dialect=DIALECT, tap=seen.append) as admin:
            assert await admin.enable_test_mode() is True

    async def serve() -> None:
        stream = await listener.accept()
        server = FakeServer(stream)
        await server.expect(HELLO + '\n  <testMode testMode="true"/>')
        await server.send(Testing(is_enabled=True))
        await server.expect_goodbye()
        await stream.aclose()

    async with listener:
        await together(administer, serve)
    assert b"".join(seen) == b'<protocol>\n  <testing testMode="true"/>\n</protocol>'
