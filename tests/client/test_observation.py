"""Observers receive every event of their room, and learn how the observation ended."""

from __future__ import annotations

import pytest

from spielleiter.client.admin import AdminClient
from spielleiter.client.errors import ConnectionLostError
from spielleiter.client.observation import Feed, ObserverEvent
from spielleiter.protocol.messages import ErrorMessage, Left, Memento, Observed, Paused
from tests.client.admin_sessions import session
from tests.client.fake import ROOM, START, FakeServer, result


async def test_a_game_is_observed_to_its_end() -> None:
    events: list[ObserverEvent] = [
        Memento(START, ("Alice", "Bob")),
        Paused(is_paused=True),
        ErrorMessage("no"),
        result((0,)),
    ]
    seen: list[ObserverEvent] = []

    async def administer(admin: AdminClient) -> None:
        seen.extend([event async for event in await admin.observe(ROOM)])

    async def serve(server: FakeServer) -> None:
        await server.expect(f'\n  <observe roomId="{ROOM}"/>')
        await server.send(Observed(ROOM))
        await server.send_in_room(*events)
        await server.send(Left("another room"), Left(ROOM))
        await server.expect_goodbye()

    await session(administer, serve)
    assert seen == events


async def test_two_rooms_can_be_observed_at_once() -> None:
    async def administer(admin: AdminClient) -> None:
        first, second = await admin.observe(ROOM), await admin.observe("other")
        assert [event async for event in second] == []
        assert [event async for event in first] == [Paused(is_paused=False)]

    async def serve(server: FakeServer) -> None:
        await server.expect(f'\n  <observe roomId="{ROOM}"/>')
        await server.send(Observed(ROOM))
        await server.expect('\n  <observe roomId="other"/>')
        await server.send(Observed("other"))
        await server.send_in_room(Paused(is_paused=False))
        await server.send(Left(ROOM), Left("other"))
        await server.expect_goodbye()

    await session(administer, serve)


async def test_an_observation_ends_with_an_error_if_the_connection_does() -> None:
    async def administer(admin: AdminClient) -> None:
        observation = await admin.observe(ROOM)
        assert await anext(observation) == Paused(is_paused=True)
        with pytest.raises(ConnectionLostError, match="the server ended the connection"):
            await anext(observation)

    async def serve(server: FakeServer) -> None:
        await server.expect(f'\n  <observe roomId="{ROOM}"/>')
        await server.send(Observed(ROOM))
        await server.send_in_room(Paused(is_paused=True))
        await server.end()

    await session(administer, serve)


@pytest.mark.parametrize("is_over", [True, False])
async def test_events_before_the_end_can_be_read_after_it(is_over: bool) -> None:
    feed = Feed(ROOM, lambda: ConnectionLostError("gone"))
    feed.put_nowait(Paused(is_paused=True))
    feed.put_nowait(Memento(START))
    feed.end(is_over=is_over)
    assert [await anext(feed), await anext(feed)] == [Paused(is_paused=True), Memento(START)]
    for _ in range(2):
        with pytest.raises(StopAsyncIteration if is_over else ConnectionLostError):
            await anext(feed)
