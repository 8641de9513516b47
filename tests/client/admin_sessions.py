"""Helpers that connect an administrator to a scripted server."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from spielleiter.client.admin import AdminClient
from spielleiter.protocol.dialect import Dialect
from spielleiter.protocol.messages import (
    AuthenticateRequest,
    CloseConnection,
    ErrorPacket,
    Left,
    Observed,
    PauseRequest,
)
from tests.client.fake import DIALECT, ROOM, FakeServer, connected, together

HELLO = '<protocol>\n  <authenticate password="geheim"/>'


async def session(
    administer: Callable[[AdminClient], Awaitable[None]],
    serve: Callable[[FakeServer], Awaitable[None]],
    dialect: Dialect = DIALECT,
    attribute: str = "password",
) -> None:
    """Run `administer` with a client and `serve` with its server, once the server has received the password.

    `attribute` is the name of the password's attribute in this dialect. Raises what `administer` raises.
    """
    transport, server = connected(dialect=dialect)

    async def run_client() -> None:
        async with AdminClient(transport).running("geheim") as admin:
            await administer(admin)

    async def run_server() -> None:
        await server.expect(HELLO.replace("password", attribute))
        await serve(server)

    failures: list[Exception] = []

    async def keep_failure() -> None:
        try:
            await run_client()
        except Exception as error:
            failures.append(error)

    await together(keep_failure, run_server)
    if failures:
        raise failures[0]


async def refuse(server: FakeServer, text: str, request: AuthenticateRequest | PauseRequest | None) -> None:
    await server.send(ErrorPacket(text, request), CloseConnection())
    await server.end()


async def answer_another_observation(server: FakeServer) -> None:
    """Show that the connection goes on: answer another request, and expect an orderly goodbye."""
    await server.expect(f'\n  <observe roomId="{ROOM}"/>')
    await server.send(Observed(ROOM), Left(ROOM))
    await expect_2027_goodbye(server)


async def expect_2027_goodbye(server: FakeServer) -> None:
    await server.expect("\n  <close/>\n</protocol>")
    await server.end()
    await server.expect_eof()


async def watch(admin: AdminClient) -> None:
    assert [event async for event in await admin.observe(ROOM)] == []
