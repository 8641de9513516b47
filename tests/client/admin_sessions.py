"""An administrator against a scripted server."""

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
    acts: Callable[[AdminClient], Awaitable[None]],
    serves: Callable[[FakeServer], Awaitable[None]],
    dialect: Dialect = DIALECT,
    attribute: str = "password",
) -> None:
    """`acts` against a server that does what `serves` says once it has heard the password."""
    transport, server = connected(dialect=dialect)

    async def administers() -> None:
        async with AdminClient(transport).running("geheim") as admin:
            await acts(admin)

    async def runs() -> None:
        await server.hears(HELLO.replace("password", attribute))
        await serves(server)

    failures: list[Exception] = []

    async def kept() -> None:
        try:
            await administers()
        except Exception as error:
            failures.append(error)

    await together(kept, runs)
    if failures:
        raise failures[0]


async def refuses(server: FakeServer, text: str, request: AuthenticateRequest | PauseRequest | None) -> None:
    await server.says(ErrorPacket(text, request), CloseConnection())
    await server.ends()


async def goes_on(server: FakeServer) -> None:
    """Nobody was sent away: another request is answered, and the goodbye is a polite one."""
    await server.hears(f'\n  <observe roomId="{ROOM}"/>')
    await server.says(Observed(ROOM), Left(ROOM))
    await hears_2027_goodbye(server)


async def hears_2027_goodbye(server: FakeServer) -> None:
    await server.hears("\n  <close/>\n</protocol>")
    await server.ends()
    await server.hears_the_end()


async def watch(admin: AdminClient) -> None:
    assert [event async for event in await admin.observe(ROOM)] == []
