"""Refusals that an administrator receives in editions where the connection goes on after them."""

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
from tests.client.admin_sessions import answer_another_observation, expect_2027_goodbye, session, watch
from tests.client.fake import ROOM, FakeServer
from tests.timeouts import HANG_TIMEOUT


async def test_the_waiting_call_raises_the_refusal_and_the_connection_goes_on() -> None:
    async def administer(admin: AdminClient) -> None:
        with pytest.raises(RequestRefusedError, match=r"^no such room$"):
            await admin.observe("nowhere")
        assert admin._observations == [], "an observation that nobody will read"
        await watch(admin)

    async def serve(server: FakeServer) -> None:
        await server.expect('\n  <observe roomId="nowhere"/>')
        await server.send(ErrorPacket("no such room", ObserveRequest("nowhere")))
        await answer_another_observation(server)

    await session(administer, serve, BLOKUS_2027)


async def test_a_refusal_goes_to_the_first_request_of_its_kind() -> None:
    refused: list[str] = []

    async def administer(admin: AdminClient) -> None:
        async def prepares() -> None:
            with pytest.raises(RequestRefusedError):
                await admin.prepare("chess", ["a", "b"])
            refused.append("prepare")

        async with trio.open_nursery() as nursery:
            nursery.start_soon(prepares)
            await trio.testing.wait_all_tasks_blocked()
            nursery.start_soon(watch, admin)

    async def serve(server: FakeServer) -> None:
        await server.expect('\n  <prepare gameType="chess" pause="false">\n    <slot displayName="a"')
        await server.expect(' canTimeout="true" reserved="true"/>\n    <slot displayName="b" canTimeout="true"')
        await server.expect(f' reserved="true"/>\n  </prepare>\n  <observe roomId="{ROOM}"/>')
        await server.send(ErrorPacket("no such game", PrepareRequest("chess", ())), Observed(ROOM), Left(ROOM))
        await expect_2027_goodbye(server)

    await session(administer, serve, BLOKUS_2027)
    assert refused == ["prepare"]


async def test_a_wrong_password_is_raised_once() -> None:
    async def administer(admin: AdminClient) -> None:
        with pytest.raises(AuthenticationError, match=r"^wrong$"):
            await admin.observe(ROOM)
        await watch(admin)

    async def serve(server: FakeServer) -> None:
        await server.expect(f'\n  <observe roomId="{ROOM}"/>')
        await server.send(
            ErrorPacket("wrong", AuthenticateRequest("geheim")), ErrorPacket("not allowed", ObserveRequest(ROOM))
        )
        await answer_another_observation(server)

    await session(administer, serve, BLOKUS_2027)


async def test_the_next_request_raises_a_refusal_that_no_call_has_raised() -> None:
    async def administer(admin: AdminClient) -> None:
        await admin.pause("nowhere")
        await trio.testing.wait_all_tasks_blocked()
        with pytest.raises(RequestRefusedError, match=r"^no such room$"):
            await admin.pause(ROOM)
        await watch(admin)

    async def serve(server: FakeServer) -> None:
        await server.expect('\n  <pause roomId="nowhere" pause="true"/>')
        await server.send(ErrorPacket("no such room", PauseRequest("nowhere", is_paused=True)))
        await answer_another_observation(server)

    await session(administer, serve, BLOKUS_2027)


async def test_leaving_raises_a_refusal_that_no_call_has_raised() -> None:
    async def administer(admin: AdminClient) -> None:
        await admin.pause("nowhere")

    async def serve(server: FakeServer) -> None:
        await server.expect('\n  <pause roomId="nowhere" pause="true"/>')
        await server.send(ErrorPacket("no such room", PauseRequest("nowhere", is_paused=True)))
        await expect_2027_goodbye(server)

    with pytest.raises(RequestRefusedError, match=r"^no such room$"):
        await session(administer, serve, BLOKUS_2027)


async def test_an_old_refusal_is_not_the_reason_for_the_end_of_the_connection() -> None:
    async def administer(admin: AdminClient) -> None:
        with pytest.raises(RequestRefusedError):
            await admin.observe("nowhere")
        observation = await admin.observe(ROOM)
        with pytest.raises(ConnectionLostError, match="the server ended the connection"):
            await anext(observation)

    async def serve(server: FakeServer) -> None:
        await server.expect('\n  <observe roomId="nowhere"/>')
        await server.send(ErrorPacket("no such room", ObserveRequest("nowhere")))
        await server.expect(f'\n  <observe roomId="{ROOM}"/>')
        await server.send(Observed(ROOM))
        await server.end()

    await session(administer, serve, BLOKUS_2027)


@pytest.mark.parametrize(
    "_attempt", range(20)
)  # trio runs tasks that are ready in random order; every order has to work
async def test_a_request_at_the_end_of_the_stream_raises_the_reason(_attempt: int) -> None:
    receiving = MemoryReceiveStream()
    transport = Transport(trio.StapledStream(MemorySendStream(), receiving), BLOKUS_2021_R3)
    with trio.fail_after(HANG_TIMEOUT):
        async with AdminClient(transport).running("wrong") as admin:
            await wait_all_tasks_blocked()
            receiving.put_data(b'<protocol><errorpacket message="no">')
            receiving.put_data(b'<originalRequest class="authenticate"/></errorpacket>')
            receiving.put_data(b"</protocol>")
            receiving.put_eof()
            with pytest.raises(AuthenticationError, match=r"^no$"):
                await admin.prepare("swc_2021_blokus", ["a", "b"])
