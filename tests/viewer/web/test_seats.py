"""A person's seat is that of an ordinary player: against a built-in player, a program, or somebody who waits."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
import trio

from spielleiter.client.player import Player
from spielleiter.client.strategies import make_responder
from spielleiter.server.editions import EDITIONS
from spielleiter.viewer.web import seats as seats_module
from tests.timeouts import HANG_TIMEOUT, retry_with_longer_limits
from tests.viewer.web.pages import GAME_TYPE, Pages, Stream, open_pages

GAME_TYPES = sorted({edition.game_type for edition in EDITIONS.values()})


async def take_seat(pages: Pages, opponent: dict[str, Any], **more: Any) -> dict[str, Any]:
    answer = await pages.post("/api/seat", {"gameType": GAME_TYPE, "opponent": opponent, **more})
    assert answer.status == 200, answer.json
    found: dict[str, Any] = answer.json
    return found


async def until_over(stream: Stream) -> None:
    with trio.fail_after(HANG_TIMEOUT):
        while (await stream.until("seat"))["state"] != "over":
            pass


async def play_to_the_end(pages: Pages, seat: str, stream: Stream) -> tuple[int, dict[str, Any]]:
    """Play the first legal move each time; return the number of moves and the last state of the seat."""
    moves = 0
    while True:
        name, data = await stream.next()
        if name == "seat" and data["state"] == "over":
            return moves, data
        if name == "request" and data["moves"] is not None:
            form = {"ply": data["ply"], "index": 0} if data["moves"] else {"ply": data["ply"], "skip": True}
            answer = await pages.post(f"/api/seat/{seat}/move", form)
            assert answer.json == {}
            moves += 1


@pytest.mark.slow
@pytest.mark.parametrize("game_type", GAME_TYPES)
@pytest.mark.parametrize("player", [0, 1])
async def test_a_person_plays_a_whole_game_against_a_builtin_player(game_type: str, player: int) -> None:
    async with open_pages() as pages:
        seat = await take_seat(pages, {"strategy": "first"}, gameType=game_type, player=player)
        assert seat["player"] == player
        stream = await pages.open(f"/api/seat/{seat['seat']}/events")
        moves, last = await play_to_the_end(pages, seat["seat"], stream)
        assert last["room"] == seat["room"]
        (ended,) = pages.logged("game_ended")
        assert ended["causes"] == ["REGULAR", "REGULAR"]
        assert ended["names"][player] == "Mensch"
        assert ended["names"][1 - player] == "first"
        game = (await pages.get(f"/api/rooms/{seat['room']}")).json
        assert len(game["positions"]) == ended["plies"] + 1
        assert moves == sum(each["player"] == player for each in game["plies"])


async def test_a_person_has_no_clock_unless_asked_for() -> None:
    async with open_pages() as pages:
        for clock in (False, True):
            seat = await take_seat(pages, {"strategy": "random"}, clock=clock)
            room = pages.server.lobby.rooms[seat["room"]]
            limit = room.player_slots[0].clock.next_limits.soft_timeout
            assert (limit is not None) == clock
            assert room.player_slots[1].clock.next_limits.soft_timeout == pages.server.config.soft_timeout


async def test_a_program_takes_the_other_seat() -> None:
    async with open_pages() as pages:
        seat = await take_seat(pages, {"program": True}, player=1)
        assert seat["state"] == "waiting"
        commands = {line["kind"]: line["text"] for line in seat["commands"]}
        assert commands["java"] == "java -jar program.jar"
        assert commands["builtin"] == f"spielleiter play --strategy greedy --game {GAME_TYPE}"
        stream = await pages.open(f"/api/seat/{seat['seat']}/events")
        assert (await stream.until("seat"))["state"] == "waiting"
        edition = pages.server.editions[GAME_TYPE]
        async with pages.site.loopback.connect(edition.dialect, "program") as player:
            assert await player.join(GAME_TYPE) == seat["room"]
            pages.nursery.start_soon(player.play_with, make_responder("first"))
            while (await stream.until("seat"))["state"] != "playing":
                pass
            request = await stream.until("request")
            while request["moves"] is None:
                request = await stream.until("request")
            assert request["ply"] == 1


@pytest.mark.parametrize("clock", [False, True])
async def test_a_person_who_joins_the_room_of_somebody_else_has_the_clock_of_the_server(clock: bool) -> None:
    await retry_with_longer_limits(partial(_join_and_never_move, clock), 0.2)


async def _join_and_never_move(clock: bool, limit: float) -> None:
    async with open_pages(soft_timeout=limit, hard_timeout=limit) as pages:
        edition = pages.server.editions[GAME_TYPE]
        async with pages.site.loopback.connect(edition.dialect, "program") as player:
            room_id = await player.join(GAME_TYPE)
            pages.nursery.start_soon(player.play_with, make_responder("first"))
            seat = await take_seat(pages, {"room": room_id}, clock=clock)
            assert (seat["room"], seat["player"]) == (room_id, 1)
            full = await pages.post("/api/seat", {"opponent": {"room": room_id}})
            assert full.status == 409
            stream = await pages.open(f"/api/seat/{seat['seat']}/events")
            await until_over(stream)
    assert pages.logged("game_ended")[0]["causes"] == ["REGULAR", "HARD_TIMEOUT"]


async def test_a_stranger_in_the_room_of_a_person_has_the_clock_of_the_server() -> None:
    async with open_pages(soft_timeout=0.1, hard_timeout=0.1) as pages:
        person = await take_seat(pages, {"program": True}, player=1)
        await take_seat(pages, {"room": person["room"]}, name="stranger")
        await until_over(await pages.open(f"/api/seat/{person['seat']}/events"))
    (ended,) = pages.logged("game_ended")
    assert (ended["names"], ended["causes"]) == (["", "Mensch"], ["HARD_TIMEOUT", "REGULAR"])


async def test_a_person_is_refused_a_seat_that_a_program_takes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_pages() as pages:
        dialect = pages.server.editions[GAME_TYPE].dialect
        connect = pages.site.loopback.connect
        async with connect(dialect, "program") as first, connect(dialect, "rival") as rival:
            room_id = await first.join(GAME_TYPE)
            join_room = Player.join_room

            async def join_too_late(person: Player, room: str) -> str | None:
                await rival.join(GAME_TYPE)
                return await join_room(person, room)

            monkeypatch.setattr(Player, "join_room", join_too_late)
            refused = await pages.post("/api/seat", {"opponent": {"room": room_id}, "gameType": GAME_TYPE})
            assert refused.status == 409


async def test_a_game_starts_from_a_position_of_another_one() -> None:
    async with open_pages() as pages:
        first = await take_seat(pages, {"strategy": "first"})
        stream = await pages.open(f"/api/seat/{first['seat']}/events")
        while (request := await stream.until("request"))["ply"] < 4 or request["moves"] is None:
            if request["moves"]:
                await pages.post(f"/api/seat/{first['seat']}/move", {"ply": request["ply"], "index": 1})
        position = pages.server.lobby.rooms[first["room"]].state
        start = {"room": first["room"], "ply": request["ply"]}
        second = await take_seat(pages, {"strategy": "first"}, **{"from": start, "gameType": None})
        again = await pages.open(f"/api/rooms/{second['room']}/events")
        while not (shown := await again.until("position"))["positions"]:
            pass
        assert shown["positions"][0]["turn"] == position.turn
        missing = {"opponent": {"strategy": "first"}, "from": {"room": first["room"], "ply": 500}}
        assert (await pages.post("/api/seat", missing)).status == 404


async def test_no_address_can_take_all_seats(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seats_module, "MOST_SEATS", 4)
    monkeypatch.setattr(seats_module, "MOST_ENDED_SEATS", 1)
    async with open_pages() as pages:
        taken = [await take_seat(pages, {"program": True}) for _ in range(2)]
        refused = await pages.post("/api/seat", {"gameType": GAME_TYPE, "opponent": {"program": True}})
        assert refused.status == 429
        form = {"gameType": GAME_TYPE, "opponent": {"program": True}}
        assert (await pages.post("/api/seat", form, client="192.0.2.1")).status == 200
        for seat in taken:
            await pages.post(f"/api/seat/{seat['seat']}/leave")
            found = pages.site.seats.find(seat["seat"])
            while found.state != "over":
                await trio.lowlevel.checkpoint()
        await take_seat(pages, {"program": True})
        assert (await pages.post(f"/api/seat/{taken[0]['seat']}/leave")).status == 404  # forgotten
        assert (await pages.open(f"/api/seat/{taken[1]['seat']}/events")).status == 200


@pytest.mark.parametrize(
    ("form", "status"),
    [
        ({"gameType": "no_such_game", "opponent": {"strategy": "greedy"}}, 400),
        ({"gameType": GAME_TYPE, "opponent": {"strategy": "no-such-player"}}, 400),
        ({"gameType": GAME_TYPE, "opponent": {"strategy": "slow"}}, 400),
        ({"gameType": GAME_TYPE, "opponent": {"strategy": "blokus-greedy", "program": True}}, 400),
        ({"gameType": GAME_TYPE, "opponent": {}}, 400),
        ({"gameType": GAME_TYPE}, 400),
        ({"gameType": GAME_TYPE, "opponent": {"room": "no such room"}}, 404),
        ({"gameType": GAME_TYPE, "opponent": {"program": True}, "player": 2}, 400),
        ({"gameType": GAME_TYPE, "opponent": {"program": True}, "name": "A\nB"}, 400),
        ({"gameType": GAME_TYPE, "opponent": {"program": True}, "name": "x" * 51}, 400),
        ({"gameType": GAME_TYPE, "opponent": {"program": True}, "from": {"room": "no such room", "ply": 0}}, 404),
    ],
)
async def test_impossible_wishes_are_refused_and_change_nothing(form: dict[str, Any], status: int) -> None:
    async with open_pages() as pages:
        answer = await pages.post("/api/seat", form)
        assert answer.status == status
        assert set(answer.json["error"]) == {"de", "en"}
        assert pages.server.lobby.rooms == {}


async def test_a_server_that_has_too_many_waiting_rooms_refuses_another_one() -> None:
    async with open_pages(rooms_waiting=1) as pages:
        pages.open_room("A", "B")
        answer = await pages.post("/api/seat", {"gameType": GAME_TYPE, "opponent": {"program": True}})
        assert answer.status == 429
