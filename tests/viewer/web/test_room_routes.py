"""Rooms over HTTP: the list, a whole game, its legal moves, its end, and hostile texts as data."""

from __future__ import annotations

import pytest
import trio
from trio.testing import MockClock

from spielleiter.client.strategies import make_responder
from tests.viewer.web.pages import GAME_TYPE, Pages, call, open_pages

HOSTILE = "<script>alert(1)</script>\u202e&amp;"


async def play(pages: Pages, code: str | None, strategy: str) -> None:
    edition = pages.server.editions[GAME_TYPE]
    async with pages.site.loopback.connect(edition.dialect, "program") as player:
        await player.join_prepared(code or "")
        await player.play_with(make_responder(strategy, seed=1))


async def play_game(
    pages: Pages, first: str = "first", second: str = "first", names: tuple[str, str] = ("A", "B")
) -> str:
    """Play a game to its end; return the id of its room."""
    room = pages.open_room(*names)
    async with trio.open_nursery() as nursery:
        for slot, strategy in zip(room.player_slots, (first, second), strict=True):
            nursery.start_soon(play, pages, slot.reservation, strategy)
    return room.id


async def test_the_list_has_waiting_running_and_ended_games() -> None:
    async with open_pages() as pages:
        ended = await play_game(pages)
        waiting = pages.open_room("C", "D")
        paused = pages.open_room("E", "F", is_paused=True)
        for slot in paused.player_slots:
            pages.nursery.start_soon(play, pages, slot.reservation, "first")
        while len(paused.players) < 2:
            await trio.lowlevel.checkpoint()
        rooms = (await pages.get("/api/rooms")).json["rooms"]
        assert [(room["id"], room["state"]) for room in rooms] == [
            (paused.id, "paused"),
            (waiting.id, "waiting"),
            (ended, "over"),
        ]
        assert rooms[1]["players"] == ["C", "D"]
        assert rooms[1]["freeSeats"] == 0  # both are reserved
        assert rooms[2]["game"] == "blokus"
        assert rooms[2]["ply"] > 20


async def test_a_finished_game_can_still_be_shown() -> None:
    async with open_pages() as pages:
        room_id = await play_game(pages)
        game = (await pages.get(f"/api/rooms/{room_id}")).json
        (ended,) = pages.logged("game_ended")
        assert game["end"]["cause"] == "REGULAR"
        assert game["end"]["winner"] == (ended["winners"][0] if len(ended["winners"]) == 1 else None)
        assert [position["ply"] for position in game["positions"]] == list(range(ended["plies"] + 1))
        assert all(each["thinkSeconds"] is not None for each in game["plies"])
        assert game["pieces"]["MONO"] == [[0, 0]]
        assert game["softLimitSeconds"] == pages.server.config.soft_timeout


async def test_an_illegal_move_is_shown_with_the_cells_that_break_the_rule() -> None:
    async with open_pages() as pages:
        room_id = await play_game(pages, "first", "illegal")
        end = (await pages.get(f"/api/rooms/{room_id}")).json["end"]
        assert end["cause"] == "RULE_VIOLATION"
        assert end["offender"] == 1
        assert end["illegal"]["offendingCells"]
        assert set(end["illegal"]["words"]) == {"de", "en"}


async def test_legal_moves_of_any_ply() -> None:
    async with open_pages() as pages:
        room_id = await play_game(pages)
        game = (await pages.get(f"/api/rooms/{room_id}")).json
        legal = (await pages.get(f"/api/rooms/{room_id}/legal?ply=4")).json
        assert legal["ply"] == 4
        assert legal["canSkip"]
        assert len(legal["moves"]) >= 1
        last = len(game["positions"]) - 1
        assert (await pages.get(f"/api/rooms/{room_id}/legal?ply={last}")).json["moves"] == []
        for query, status in (("", 400), ("?ply=-1", 400), ("?ply=x", 400), ("?ply=²", 400), (f"?ply={last + 1}", 404)):
            assert (await pages.get(f"/api/rooms/{room_id}/legal{query}")).status == status
        assert (await pages.get("/api/rooms/nowhere/legal?ply=0")).status == 404


async def test_texts_of_strangers_are_data() -> None:
    async with open_pages() as pages:
        room_id = await play_game(pages, names=(HOSTILE, "B"))
        listed = await pages.get("/api/rooms")
        game = await pages.get(f"/api/rooms/{room_id}")
        for answer in (listed, game):
            assert answer.headers["content-type"] == "application/json"
            assert answer.headers["x-content-type-options"] == "nosniff"
        assert listed.json["rooms"][0]["players"][0] == HOSTILE
        assert game.json["players"][0]["name"] == HOSTILE
        stream = await pages.open(f"/api/rooms/{room_id}/events")
        assert (await stream.until("position"))["players"][0]["name"] == HOSTILE


async def test_an_unknown_room_is_one_sentence_in_both_languages() -> None:
    async with open_pages() as pages:
        answer = await pages.get("/api/rooms/" + "x" * 500)
        assert answer.status == 404
        assert len(answer.json["error"]["en"]) < 200


async def test_the_list_keeps_itself_up_to_date(autojump_clock: MockClock) -> None:
    async with open_pages() as pages:
        stream = await pages.open("/api/events")
        assert await stream.until("rooms") == []
        room = pages.open_room("A", "B")
        (line,) = await stream.until("rooms")
        assert (line["id"], line["state"]) == (room.id, "waiting")
        room.is_paused = True
        assert (await stream.until("rooms"))[0]["isPaused"]
        room.cancel()
        assert await stream.until("rooms") == []


@pytest.mark.parametrize("strategy", ["crash", "garbage"])
async def test_games_that_end_by_a_fault_have_words_for_it(strategy: str) -> None:
    async with open_pages() as pages:
        room_id = await play_game(pages, strategy, "first", names=("Alice", "Bob"))
        end = (await pages.get(f"/api/rooms/{room_id}")).json["end"]
        assert end["winner"] == 1
        assert "Alice" in end["words"]["de"]
        assert "Bob wins" in end["words"]["en"]


@pytest.mark.parametrize("path", ["/api/events", "/api/rooms/nothing/events"])
async def test_the_head_of_an_event_stream_ends_at_once(path: str) -> None:
    async with open_pages() as pages:
        answer = await call(pages.site.app, "HEAD", path)
        assert (answer.status, answer.body) == (200, b"")
        assert pages.site.hub.stream_count == 0
