"""Status requests; servers that do not know them are told apart from servers that refuse them."""

from __future__ import annotations

import json

import pytest
from trio.testing import MockClock

from spielleiter.client.admin import AdminClient
from spielleiter.client.errors import AuthenticationError, NoStatusError, RequestRefusedError
from spielleiter.protocol.messages import (
    AuthenticateRequest,
    CloseConnection,
    ErrorPacket,
    PauseRequest,
    Status,
    UnknownPacket,
)
from tests.client.admin_sessions import refuse, session
from tests.client.fake import FakeServer


async def test_a_long_status_is_read() -> None:
    report = {"closed": ["x" * 1000] * 2000}

    async def administer(admin: AdminClient) -> None:
        assert await admin.status() == report

    async def serve(server: FakeServer) -> None:
        await server.expect("\n  <status/>")
        await server.send(Status(json.dumps(report)))
        await server.expect_goodbye()

    await session(administer, serve)


async def expect_no_status(admin: AdminClient) -> None:
    with pytest.raises(NoStatusError, match="does not report its status"):
        await admin.status()


async def test_a_server_that_refuses_the_request_as_unknown_has_no_status() -> None:
    async def serve(server: FakeServer) -> None:
        await server.send(ErrorPacket("<status> is no packet", UnknownPacket("status")), CloseConnection())
        await server.end()

    await session(expect_no_status, serve)


async def test_a_server_that_ends_the_connection_has_no_status() -> None:
    async def serve(server: FakeServer) -> None:
        await server.expect("\n  <status/>")
        await server.stream.aclose()

    await session(expect_no_status, serve)


async def test_a_server_that_does_not_answer_has_no_status(autojump_clock: MockClock) -> None:
    async def serve(server: FakeServer) -> None:
        await server.expect("\n  <status/>")
        await server.expect_goodbye()

    async def administer(admin: AdminClient) -> None:
        await admin.status()

    with pytest.raises(NoStatusError, match=r"no answer for 10 s"):
        await session(administer, serve)


async def test_a_wrong_password_is_not_mistaken_for_a_server_without_a_status() -> None:
    async def serve(server: FakeServer) -> None:
        await refuse(server, "Failed to authenticate", AuthenticateRequest("geheim"))

    async def administer(admin: AdminClient) -> None:
        await admin.status()

    with pytest.raises(AuthenticationError):
        await session(administer, serve)


async def test_an_earlier_refusal_is_not_mistaken_for_a_server_without_a_status() -> None:
    async def administer(admin: AdminClient) -> None:
        await admin.pause("nowhere")
        await admin.status()

    async def serve(server: FakeServer) -> None:
        await server.expect('\n  <pause roomId="nowhere" pause="true"/>')
        await refuse(server, "Couldn't find a room", PauseRequest("nowhere", is_paused=True))

    with pytest.raises(RequestRefusedError, match="find a room"):
        await session(administer, serve)


@pytest.mark.parametrize("report", ["{", "[]", "1"])
async def test_an_unreadable_status_is_an_error(report: str) -> None:
    async def administer(admin: AdminClient) -> None:
        with pytest.raises(NoStatusError, match="cannot be read"):
            await admin.status()

    async def serve(server: FakeServer) -> None:
        await server.expect("\n  <status/>")
        await server.send(Status(report))
        await server.expect_goodbye()

    await session(administer, serve)
