from __future__ import annotations

import pytest
import trio
from trio.testing import MockClock

from spielleiter.client.admin import AdminClient, PreparedRoom
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
from tests.client.admin_sessions import HELLO, goes_on, refuses, session, watch
from tests.client.fake import DIALECT, ROOM, FakeServer, connected, together

GOODBYE = "\n  <sc.protocol.CloseConnection/>\n</protocol>"


async def test_a_room_is_prepared() -> None:
    async def acts(admin: AdminClient) -> None:
        slots: list[Slot | str] = ["Alice", Slot("Bob & Co", can_timeout=False, is_reserved=False)]
        assert await admin.prepare("swc_2021_blokus", slots, pause=True) == PreparedRoom(ROOM, ("c1", "c2"))

    async def serves(server: FakeServer) -> None:
        await server.hears('\n  <prepare gameType="swc_2021_blokus" pause="true">\n    <slot displayName="Alice"')
        await server.hears(
            ' canTimeout="true" reserved="true"/>\n'
            '    <slot displayName="Bob &amp; Co" canTimeout="false" reserved="false"/>\n'
            "  </prepare>"
        )
        await server.says(JoinedGameRoom("some other room", 1), Prepared(ROOM, ("c1", "c2")))
        await server.hears_a_goodbye()

    await session(acts, serves)


async def test_requests_without_an_answer_are_just_sent() -> None:
    async def acts(admin: AdminClient) -> None:
        await admin.pause(ROOM)
        await admin.resume(ROOM)
        await admin.step(ROOM)
        await admin.step(ROOM, forced=True)
        await admin.cancel(ROOM)

    async def serves(server: FakeServer) -> None:
        await server.hears(
            f'\n  <pause roomId="{ROOM}" pause="true"/>\n  <pause roomId="{ROOM}" pause="false"/>'
            f'\n  <step roomId="{ROOM}" forced="false"/>\n  <step roomId="{ROOM}" forced="true"/>'
            f'\n  <cancel roomId="{ROOM}"/>'
        )
        await server.hears_a_goodbye()

    await session(acts, serves)


async def test_scores_are_kept_and_told() -> None:
    score = PlayerScore("Alice", 1, ())

    async def acts(admin: AdminClient) -> None:
        assert await admin.enable_test_mode() is True
        assert await admin.enable_test_mode(is_enabled=False) is False
        assert await admin.score_for_player("Alice") == score

    async def serves(server: FakeServer) -> None:
        await server.hears('\n  <testMode testMode="true"/>')
        await server.says(Testing(is_enabled=True))
        await server.hears('\n  <testMode testMode="false"/>')
        await server.says(Testing(is_enabled=False))
        await server.hears('\n  <scoreForPlayer displayName="Alice"/>')
        await server.says(score)
        await server.hears_a_goodbye()

    await session(acts, serves)


async def test_several_requests_are_answered_in_order() -> None:
    rooms: dict[str, PreparedRoom] = {}

    async def acts(admin: AdminClient) -> None:
        async def prepare(name: str) -> None:
            rooms[name] = await admin.prepare("swc_2021_blokus", [name])

        async with trio.open_nursery() as nursery:
            for name in ("a", "b"):
                nursery.start_soon(prepare, name)
                await trio.testing.wait_all_tasks_blocked()

    async def serves(server: FakeServer) -> None:
        for name in ("a", "b"):
            await server.hears('\n  <prepare gameType="swc_2021_blokus" pause="false">\n    <slot displayName="')
            await server.hears(f'{name}" canTimeout="true" reserved="true"/>\n  </prepare>')
        await server.says(Prepared("room a"), Prepared("room b"))
        await server.hears_a_goodbye()

    await session(acts, serves)
    assert {name: room.room_id for name, room in rooms.items()} == {"a": "room a", "b": "room b"}


async def test_the_answer_to_a_cancelled_call_belongs_to_nobody_else(autojump_clock: MockClock) -> None:
    async def acts(admin: AdminClient) -> None:
        with trio.move_on_after(1):
            await admin.enable_test_mode()
        assert await admin.enable_test_mode(is_enabled=False) is False

    async def serves(server: FakeServer) -> None:
        await server.hears('\n  <testMode testMode="true"/>\n  <testMode testMode="false"/>')
        await server.says(Testing(is_enabled=True), Testing(is_enabled=False))
        await server.hears_a_goodbye()

    await session(acts, serves)


async def test_a_wrong_password_is_raised_by_what_waits() -> None:
    async def acts(admin: AdminClient) -> None:
        await admin.prepare("swc_2021_blokus", ["a", "b"])

    async def serves(server: FakeServer) -> None:
        await refuses(server, "Failed to authenticate", AuthenticateRequest("geheim"))

    with pytest.raises(AuthenticationError, match=r"^Failed to authenticate$"):
        await session(acts, serves)


async def test_a_refusal_nobody_waited_for_is_raised_by_leaving() -> None:
    async def acts(admin: AdminClient) -> None:
        await admin.pause("nowhere")

    async def serves(server: FakeServer) -> None:
        await server.hears('\n  <pause roomId="nowhere" pause="true"/>')
        await refuses(server, "Couldn't find a room", PauseRequest("nowhere", is_paused=True))

    with pytest.raises(RequestRefusedError, match=r"^Couldn't find a room$"):
        await session(acts, serves)


async def test_a_refusal_on_the_way_out_is_still_heard() -> None:
    async def acts(admin: AdminClient) -> None:
        await admin.cancel("nowhere")

    async def serves(server: FakeServer) -> None:
        await server.hears('\n  <cancel roomId="nowhere"/>' + GOODBYE)
        await refuses(server, "Couldn't find a room", None)

    with pytest.raises(RequestRefusedError, match=r"^Couldn't find a room$"):
        await session(acts, serves)


async def test_a_refusal_that_was_told_is_not_told_again() -> None:
    async def acts(admin: AdminClient) -> None:
        with pytest.raises(RequestRefusedError):
            await admin.observe("nowhere")
        with pytest.raises(RequestRefusedError):
            await admin.pause("nowhere")

    async def serves(server: FakeServer) -> None:
        await server.hears('\n  <observe roomId="nowhere"/>')
        await refuses(server, "Couldn't find a room", None)

    await session(acts, serves)


async def test_what_an_edition_has_no_packet_for_is_not_sent() -> None:
    async def acts(admin: AdminClient) -> None:
        with pytest.raises(UnspeakableError, match="blokus-2027 has no way to write TestModeRequest"):
            await admin.enable_test_mode()
        await watch(admin)

    await session(acts, goes_on, BLOKUS_2027)


async def test_hase_und_igel_is_administered_in_its_own_words() -> None:
    async def acts(admin: AdminClient) -> None:
        assert await admin.prepare("swc_2018_hase_und_igel", ["a", "b"], pause=True) == PreparedRoom(ROOM, ("c", "d"))
        assert await admin.score_for_player("nobody") == PlayerScore("", 0, ())

    async def serves(server: FakeServer) -> None:
        await server.hears(
            '\n  <prepare gameType="swc_2018_hase_und_igel">'
            '\n    <slot displayName="a" canTimeout="true" shouldBePaused="true"/>'
            '\n    <slot displayName="b" canTimeout="true" shouldBePaused="true"/>\n  </prepare>'
        )
        await server.says(Prepared(ROOM, ("c", "d")))
        await server.hears('\n  <scoreForPlayer displayName="nobody"/>')
        await server.says(PlayerScore("", 0, ()))
        await server.hears("\n  <sc.protocol.responses.CloseConnection/>\n</protocol>")
        await server.ends()
        await server.hears_the_end()

    await session(acts, serves, HASE_UND_IGEL_2018, "passphrase")


async def test_a_goodbye_without_a_reason_is_not_taken_for_consent() -> None:
    async def acts(admin: AdminClient) -> None:
        await admin.pause(ROOM)

    async def serves(server: FakeServer) -> None:
        await server.hears(f'\n  <pause roomId="{ROOM}" pause="true"/>')
        await server.says(CloseConnection())
        await server.ends()

    with pytest.raises(ConnectionLostError, match="without giving a reason"):
        await session(acts, serves)


async def test_what_cannot_be_understood_is_an_error() -> None:
    async def acts(admin: AdminClient) -> None:
        await admin.observe(ROOM)

    async def serves(server: FakeServer) -> None:
        await server.hears(f'\n  <observe roomId="{ROOM}"/>')
        await server.says_bytes(b"<protocol><observed></left>")
        await server.hears(GOODBYE[:0])

    with pytest.raises(ClientError, match="cannot be understood"):
        await session(acts, serves)


async def test_sending_into_a_lost_connection_tells_the_servers_last_words() -> None:
    transport, server = connected()
    await refuses(server, "the server stops", None)
    with pytest.raises(RequestRefusedError, match=r"^the server stops$"):
        async with AdminClient(transport).running("geheim") as admin:
            await admin.pause(ROOM)


async def test_sending_into_a_lost_connection_without_last_words() -> None:
    transport, server = connected()
    await server.stream.aclose()
    with pytest.raises(ConnectionLostError):
        async with AdminClient(transport).running("geheim"):
            pass


async def test_an_error_of_the_caller_comes_out_as_it_is() -> None:
    async def acts(admin: AdminClient) -> None:
        raise LookupError("no idea")

    async def serves(server: FakeServer) -> None:
        await server.hears_a_goodbye()

    with pytest.raises(LookupError, match="no idea"):
        await session(acts, serves)


async def test_a_server_that_does_not_end_its_stream_is_left_alone(autojump_clock: MockClock) -> None:
    async def acts(admin: AdminClient) -> None:
        await admin.pause(ROOM)

    async def serves(server: FakeServer) -> None:
        await server.hears(f'\n  <pause roomId="{ROOM}" pause="true"/>' + GOODBYE)
        await server.hears_the_end()

    await session(acts, serves)


async def test_connecting_over_tcp() -> None:
    listener = (await trio.open_tcp_listeners(0, host="127.0.0.1"))[0]
    port = listener.socket.getsockname()[1]
    seen: list[bytes] = []

    async def acts() -> None:
        async with AdminClient.connect("127.0.0.1", port, "geheim", dialect=DIALECT, tap=seen.append) as admin:
            assert await admin.enable_test_mode() is True

    async def serves() -> None:
        stream = await listener.accept()
        server = FakeServer(stream)
        await server.hears(HELLO + '\n  <testMode testMode="true"/>')
        await server.says(Testing(is_enabled=True))
        await server.hears_a_goodbye()
        await stream.aclose()

    async with listener:
        await together(acts, serves)
    assert b"".join(seen) == b'<protocol>\n  <testing testMode="true"/>\n</protocol>'
