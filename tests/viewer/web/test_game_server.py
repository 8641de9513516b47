"""Servers elsewhere, which say less than those of this version, or other things."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path

import trio
from trio.testing import MemoryReceiveStream, MemorySendStream, MockClock, memory_stream_pair

from spielleiter.client.transport import Transport
from spielleiter.protocol.dialect import Dialect
from spielleiter.protocol.feed import OfferedEdition, RoomOpened, ServerDescribed
from spielleiter.protocol.messages import ErrorMessage, Memento, Result
from spielleiter.viewer.web.followed_games import MOST_TOLD, TOO_MUCH, FollowedGame
from spielleiter.viewer.web.game_server import MOST_OBSERVED, NO_FEED, REFUSED_PAUSE
from spielleiter.viewer.web.page_settings import PageSettings
from spielleiter.viewer.web.site import Site
from tests.viewer.web.pages import GAME_TYPE, JSON, call, open_pages

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


async def test_a_password_that_was_refused_is_not_sent_again_by_visitors(autojump_clock: MockClock) -> None:
    """Each wrong one makes everybody at the address of the pages wait longer."""
    async with open_pages() as pages:
        site = Site(SETTINGS, lambda _event: None, pages.connect)
        pages.nursery.start_soon(site.server.run)

        async def click() -> int:
            form = {"opponent": {"strategy": "greedy"}, "gameType": GAME_TYPE}
            return (await call(site.app, "POST", "/api/seat", JSON, json.dumps(form).encode())).status

        assert [await click() for _ in range(5)] == [503] * 5
        await trio.sleep(REFUSED_PAUSE - 60)
        assert await click() == 503
        assert len(pages.logged("request_refused")) == 1
        await trio.sleep(120)
        assert await click() == 503
        assert len(pages.logged("request_refused")) == 2


async def test_positions_that_an_observer_is_sent_for_ever_are_not_kept() -> None:
    games = Site(SETTINGS, lambda _event: None).games
    edition = games.editions[GAME_TYPE]
    start = edition.game.new_state(random.Random(1))
    later = start.play(next(iter(start.generate_legal_moves())))
    game = FollowedGame("one", edition, ("", ""))
    games.add(game)
    for number in range(MOST_TOLD):
        games.observe(game, Memento((start, later)[number % 2], ("x" * 1000, "")), 0.0)
        games.observe(game, ErrorMessage("x" * 1000), 0.0)
    found = games.find("one")
    assert found is not None
    assert (len(found.record), found.ply, len(found.names[0])) == (MOST_TOLD, MOST_TOLD // 2 - 1, 80)
    assert games.notice == TOO_MUCH


async def test_the_times_of_an_observed_game_are_those_at_which_it_was_seen_to_begin_and_to_end() -> None:
    """A server without a feed does not tell them. When a game began that was already played is not known."""
    games = Site(SETTINGS, lambda _event: None).games
    edition = games.editions[GAME_TYPE]
    start = edition.game.new_state(random.Random(1))
    later = start.play(next(iter(start.generate_legal_moves())))
    for room, first in (("from the start", start), ("joined later", later)):
        game = FollowedGame(room, edition, ("A", "B"))
        games.add(game)
        games.observe(game, Memento(first), 0.0)
        assert (game.started_at != "", game.ended_at) == (first is start, "")
        games.observe(game, Result(edition.dialect.score_definition, (), ()), 1.0)
        assert game.ended_at != ""


async def test_a_whole_game_at_an_official_server_is_shown_as_an_observer_sees_it(autojump_clock: MockClock) -> None:
    """Release 27.0.4 closes the connection without a word when it is asked for its feed."""
    # what it has sent to the observer of a game of two programs
    observed = gzip.decompress((Path(__file__).parent / "observed-27.0.4.xml.gz").read_bytes())
    room = "c9c3296c-ea69-45c5-86f1-cd11914d5351"
    async with trio.open_nursery() as nursery:

        async def answer(stream: trio.StapledStream[MemorySendStream, MemoryReceiveStream]) -> None:
            received = b""
            async for data in stream:
                received += data
                if b"<feed" in received:
                    break
                if f'<observe roomId="{room}"'.encode() in received:
                    await stream.send_all(observed)
                    break
            await stream.send_eof()

        async def connect(dialect: Dialect) -> Transport:
            near, far = memory_stream_pair()
            nursery.start_soon(answer, far)
            return Transport(near, dialect)

        site = Site(SETTINGS, lambda _event: None, connect)
        nursery.start_soon(site.server.run)
        await site.server.has_answered.wait()
        assert (site.games.notice, site.server.is_connected) == (NO_FEED, True)
        await site.server.look_for(room)
        while (game := site.games.find(room)) is None or game.phase != "over":  # noqa: ASYNC110 - the pages tell nobody
            await trio.sleep(1)
        assert (game.names, game.ply, len(game.record)) == (("Carla", "Dora"), 61, 63)
        assert (game.think_times, game.soft_limit, game.free_seats) == (([], []), None, 0)  # are not told
        assert game.summary()["points"] == [121, 126]
        nursery.cancel_scope.cancel()
