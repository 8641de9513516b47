"""Servers elsewhere, which say less than those of this version, or other things."""

from __future__ import annotations

import trio
from trio.testing import MockClock, memory_stream_pair

from spielleiter.client.transport import Transport
from spielleiter.protocol.dialect import Dialect
from spielleiter.protocol.feed import OfferedEdition, RoomOpened, ServerDescribed
from spielleiter.viewer.web.game_server import MOST_OBSERVED
from spielleiter.viewer.web.page_settings import PageSettings
from spielleiter.viewer.web.site import Site

SETTINGS = PageSettings(host="elsewhere", port=1, secret="geheim", is_own=False)


async def test_rooms_for_which_a_server_has_no_answer_keep_out_no_others(autojump_clock: MockClock) -> None:
    """An observer is refused in some seasons without a word; any visitor may name rooms."""
    async with trio.open_nursery() as nursery:

        async def answer(stream: trio.abc.Stream) -> None:
            async for data in stream:
                if b'roomId="real"' in data:
                    await stream.send_all(b'<protocol><observed roomId="real"/>')

        async def connect(dialect: Dialect) -> Transport:
            near, far = memory_stream_pair()
            nursery.start_soon(answer, far)
            return Transport(near, dialect)

        site = Site(SETTINGS, lambda _event: None, connect)
        nursery.start_soon(site.server.run)
        while site.server.has_feed:  # noqa: ASYNC110 - the pages tell nobody
            await trio.sleep(1)
        async with trio.open_nursery() as visitors:
            for number in range(MOST_OBSERVED):
                visitors.start_soon(site.server.look_for, str(number))
        await trio.sleep(60)  # the connections have been left as well
        await site.server.look_for("real")
        assert [game.id for game in site.games.listed(10)] == ["real"]
        nursery.cancel_scope.cancel()


async def test_an_edition_of_another_game_type_is_left_out() -> None:
    games = Site(SETTINGS, lambda _event: None).games
    offered = (OfferedEdition("blokus-2027", "chess"), OfferedEdition("blokus-2021-r3", "swc_2021_blokus"))
    games.apply(ServerDescribed("9", "", offered, {"a": "b"}, "chess", True, "host", 1, False), 0.0)
    for room, name in (("one", "blokus-2027"), ("two", "blokus-2021-r3")):
        games.apply(RoomOpened(room, name, False, ("A", "B"), 0, (None, None)), 0.0)
    assert list(games.editions) == ["swc_2021_blokus"]
