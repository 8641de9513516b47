"""Several games in one stream: the list, each game by its number, and a share of the streams for each of them."""

from __future__ import annotations

from typing import Any

import pytest
from trio.testing import wait_all_tasks_blocked

from spielleiter.viewer.web import live_games
from tests.viewer.web.pages import open_pages
from tests.viewer.web.test_live_games import play_game


async def test_a_stream_has_the_list_and_each_game_by_its_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_games, "MOST_STREAMS", 8)
    async with open_pages() as pages:
        rooms = [await play_game(pages, "first", "illegal") for _ in range(2)]
        path = f"/api/boards/events?room={rooms[0]}&room=unknown&room={rooms[1]}"
        stream = await pages.open(path)
        found: dict[str, Any] = {}
        while not found.keys() >= {"gone-1", "rooms", "position-0", "position-2"}:
            name, data = await stream.next()
            found[name] = data
        assert {room["id"] for room in found["rooms"]} == set(rooms)
        assert all(found[name]["end"]["cause"] == "RULE_VIOLATION" for name in ("position-0", "position-2"))
        assert pages.site.hub.stream_count == 3
        # what is left for this address is too little for the list and two games; nothing of it stays taken
        assert (await pages.get(path)).status == 429
        assert pages.site.hub.stream_count == 3
        stream.leave()
        await wait_all_tasks_blocked()
        assert pages.site.hub.stream_count == 0
        assert (await pages.get("/api/boards/events" + "?room=x" + 4 * "&room=x")).status == 400
