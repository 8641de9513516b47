"""An administrator asks for the server's status; servers that do not know it are told apart from those that refuse."""

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
from tests.client.admin_sessions import refuses, session
from tests.client.fake import FakeServer


async def test_the_status_is_told_however_long_it_is() -> None:
    report = {"closed": ["x" * 1000] * 2000}

    async def acts(admin: AdminClient) -> None:
        assert await admin.status() == report

    async def serves(server: FakeServer) -> None:
        await server.hears("\n  <status/>")
        await server.says(Status(json.dumps(report)))
        await server.hears_a_goodbye()

    await session(acts, serves)


async def asks_in_vain(admin: AdminClient) -> None:
    with pytest.raises(NoStatusError, match="does not tell its status"):
        await admin.status()


async def test_a_server_that_says_it_does_not_know_that_request_has_no_status() -> None:
    async def serves(server: FakeServer) -> None:
        await server.says(ErrorPacket("<status> is no packet", UnknownPacket("status")), CloseConnection())
        await server.ends()

    await session(asks_in_vain, serves)


async def test_a_server_that_ends_the_connection_over_it_has_no_status() -> None:
    async def serves(server: FakeServer) -> None:
        await server.hears("\n  <status/>")
        await server.stream.aclose()

    await session(asks_in_vain, serves)


async def test_a_server_that_says_nothing_has_no_status(autojump_clock: MockClock) -> None:
    async def serves(server: FakeServer) -> None:
        await server.hears("\n  <status/>")
        await server.hears_a_goodbye()

    async def acts(admin: AdminClient) -> None:
        await admin.status()

    with pytest.raises(NoStatusError, match=r"no answer for 10 s"):
        await session(acts, serves)


async def test_a_wrong_password_is_not_taken_for_a_server_without_a_status() -> None:
    async def serves(server: FakeServer) -> None:
        await refuses(server, "Failed to authenticate", AuthenticateRequest("geheim"))

    async def acts(admin: AdminClient) -> None:
        await admin.status()

    with pytest.raises(AuthenticationError):
        await session(acts, serves)


async def test_what_was_refused_before_is_not_taken_for_a_server_without_a_status() -> None:
    async def acts(admin: AdminClient) -> None:
        await admin.pause("nowhere")
        await admin.status()

    async def serves(server: FakeServer) -> None:
        await server.hears('\n  <pause roomId="nowhere" pause="true"/>')
        await refuses(server, "Couldn't find a room", PauseRequest("nowhere", is_paused=True))

    with pytest.raises(RequestRefusedError, match="find a room"):
        await session(acts, serves)


@pytest.mark.parametrize("report", ["{", "[]", "1"])
async def test_a_status_that_cannot_be_read_is_said_so(report: str) -> None:
    async def acts(admin: AdminClient) -> None:
        with pytest.raises(NoStatusError, match="cannot be read"):
            await admin.status()

    async def serves(server: FakeServer) -> None:
        await server.hears("\n  <status/>")
        await server.says(Status(report))
        await server.hears_a_goodbye()

    await session(acts, serves)
