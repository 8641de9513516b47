"""What an administrator is told of refusals where they are not the end of the connection."""

from __future__ import annotations

import pytest
import trio
from trio.testing import MemoryReceiveStream, MemorySendStream, wait_all_tasks_blocked

from spielleiter.client.admin import AdminClient
from spielleiter.client.errors import (
    AuthenticationError,
    ConnectionLostError,
    RequestRefusedError,
)
from spielleiter.client.transport import Transport
from spielleiter.protocol.dialects.blokus_2021 import BLOKUS_2021_R3
from spielleiter.protocol.dialects.blokus_2027 import BLOKUS_2027
from spielleiter.protocol.messages import (
    AuthenticateRequest,
    ErrorPacket,
    Left,
    Observed,
    ObserveRequest,
    PauseRequest,
    PrepareRequest,
)
from tests.client.admin_sessions import goes_on, hears_2027_goodbye, session, watch
from tests.client.fake import ROOM, FakeServer
from tests.patience import PATIENCE


async def test_where_a_refusal_is_not_the_end_whoever_waits_is_told_and_goes_on() -> None:
    async def acts(admin: AdminClient) -> None:
        with pytest.raises(RequestRefusedError, match=r"^no such room$"):
            await admin.observe("nowhere")
        await watch(admin)

    async def serves(server: FakeServer) -> None:
        await server.hears('\n  <observe roomId="nowhere"/>')
        await server.says(ErrorPacket("no such room", ObserveRequest("nowhere")))
        await goes_on(server)

    await session(acts, serves, BLOKUS_2027)


async def test_a_refusal_goes_to_the_first_request_of_its_kind() -> None:
    told: list[str] = []

    async def acts(admin: AdminClient) -> None:
        async def prepares() -> None:
            with pytest.raises(RequestRefusedError):
                await admin.prepare("chess", ["a", "b"])
            told.append("prepare")

        async with trio.open_nursery() as nursery:
            nursery.start_soon(prepares)
            await trio.testing.wait_all_tasks_blocked()
            nursery.start_soon(watch, admin)

    async def serves(server: FakeServer) -> None:
        await server.hears('\n  <prepare gameType="chess" pause="false">\n    <slot displayName="a"')
        await server.hears(' canTimeout="true" reserved="true"/>\n    <slot displayName="b" canTimeout="true"')
        await server.hears(f' reserved="true"/>\n  </prepare>\n  <observe roomId="{ROOM}"/>')
        await server.says(ErrorPacket("no such game", PrepareRequest("chess", ())), Observed(ROOM), Left(ROOM))
        await hears_2027_goodbye(server)

    await session(acts, serves, BLOKUS_2027)
    assert told == ["prepare"]


async def test_where_a_refusal_is_not_the_end_a_wrong_password_is_told_once() -> None:
    async def acts(admin: AdminClient) -> None:
        with pytest.raises(AuthenticationError, match=r"^wrong$"):
            await admin.observe(ROOM)
        await watch(admin)

    async def serves(server: FakeServer) -> None:
        await server.hears(f'\n  <observe roomId="{ROOM}"/>')
        await server.says(
            ErrorPacket("wrong", AuthenticateRequest("geheim")), ErrorPacket("not allowed", ObserveRequest(ROOM))
        )
        await goes_on(server)

    await session(acts, serves, BLOKUS_2027)


async def test_where_a_refusal_is_not_the_end_the_next_request_tells_of_one_nobody_waited_for() -> None:
    async def acts(admin: AdminClient) -> None:
        await admin.pause("nowhere")
        await trio.testing.wait_all_tasks_blocked()
        with pytest.raises(RequestRefusedError, match=r"^no such room$"):
            await admin.pause(ROOM)
        await watch(admin)

    async def serves(server: FakeServer) -> None:
        await server.hears('\n  <pause roomId="nowhere" pause="true"/>')
        await server.says(ErrorPacket("no such room", PauseRequest("nowhere", is_paused=True)))
        await goes_on(server)

    await session(acts, serves, BLOKUS_2027)


async def test_where_a_refusal_is_not_the_end_leaving_tells_of_one_nobody_waited_for() -> None:
    async def acts(admin: AdminClient) -> None:
        await admin.pause("nowhere")

    async def serves(server: FakeServer) -> None:
        await server.hears('\n  <pause roomId="nowhere" pause="true"/>')
        await server.says(ErrorPacket("no such room", PauseRequest("nowhere", is_paused=True)))
        await hears_2027_goodbye(server)

    with pytest.raises(RequestRefusedError, match=r"^no such room$"):
        await session(acts, serves, BLOKUS_2027)


async def test_a_refusal_of_long_ago_is_not_why_the_connection_ends() -> None:
    async def acts(admin: AdminClient) -> None:
        with pytest.raises(RequestRefusedError):
            await admin.observe("nowhere")
        observation = await admin.observe(ROOM)
        with pytest.raises(ConnectionLostError, match="the server ended the connection"):
            await anext(observation)

    async def serves(server: FakeServer) -> None:
        await server.hears('\n  <observe roomId="nowhere"/>')
        await server.says(ErrorPacket("no such room", ObserveRequest("nowhere")))
        await server.hears(f'\n  <observe roomId="{ROOM}"/>')
        await server.says(Observed(ROOM))
        await server.ends()

    await session(acts, serves, BLOKUS_2027)


@pytest.mark.parametrize("_turn", range(20))  # trio runs what is ready in any order: each has to end well
async def test_a_request_that_meets_the_end_of_the_stream_is_told_why(_turn: int) -> None:
    receiving = MemoryReceiveStream()
    transport = Transport(trio.StapledStream(MemorySendStream(), receiving), BLOKUS_2021_R3)
    with trio.fail_after(PATIENCE):
        async with AdminClient(transport).running("wrong") as admin:
            await wait_all_tasks_blocked()
            receiving.put_data(b'<protocol><errorpacket message="no">')
            receiving.put_data(b'<originalRequest class="authenticate"/></errorpacket>')
            receiving.put_data(b"</protocol>")
            receiving.put_eof()
            with pytest.raises(AuthenticationError, match=r"^no$"):
                await admin.prepare("swc_2021_blokus", ["a", "b"])
