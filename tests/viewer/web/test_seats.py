"""A person's seat is that of an ordinary player, and only moves that are asked for are played."""

from __future__ import annotations

import shlex
from typing import Any

import click
import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from spielleiter.cli.cli import cli
from spielleiter.client.player import Player
from spielleiter.client.responders import make_responder
from spielleiter.protocol.defaults import DEFAULT_HOST
from spielleiter.server.editions import EDITIONS
from spielleiter.viewer.web import seats as seats_module
from spielleiter.viewer.web.seats import ABANDON_TIMEOUT, joining_commands
from tests.timeouts import HANG_TIMEOUT, retry_with_longer_limits
from tests.viewer.web.pages import GAME_TYPE, Pages, Stream, open_pages

GAME_TYPES = sorted({edition.game_type for edition in EDITIONS.values()})


async def take_seat(pages: Pages, opponent: dict[str, Any], **more: Any) -> tuple[dict[str, Any], Stream]:
    """Take a seat; return it, and its events."""
    answer = await pages.post("/api/seat", {"gameType": GAME_TYPE, "opponent": opponent, **more})
    assert answer.status == 200, answer.json
    return answer.json, await pages.open(f"/api/seat/{answer.json['seat']}/events")


async def until_over(stream: Stream) -> None:
    with trio.fail_after(HANG_TIMEOUT):
        await stream.until("seat", lambda seat: seat["state"] == "over")


async def until_asked(stream: Stream) -> Any:
    """Return the next request with moves."""
    return await stream.until("request", lambda request: request["moves"] is not None)


@pytest.mark.slow
@pytest.mark.parametrize(("game_type", "player"), [(name, number % 2) for number, name in enumerate(GAME_TYPES)])
async def test_a_person_plays_a_whole_game_against_a_builtin_player(game_type: str, player: int) -> None:
    async with open_pages() as pages:
        seat, stream = await take_seat(pages, {"strategy": "first"}, gameType=game_type, player=player)
        moves = 0
        while True:
            name, data = await stream.next()
            if name == "seat" and data["state"] == "over":
                break
            if name == "request" and data["moves"] is not None:
                form = {"ply": data["ply"], "index": 0} if data["moves"] else {"ply": data["ply"], "skip": True}
                assert (await pages.post(f"/api/seat/{seat['seat']}/move", form)).json == {}
                moves += 1
        assert (seat["player"], data["room"]) == (player, seat["room"])
        (ended,) = pages.logged("game_ended")
        assert ended["causes"] == ["REGULAR", "REGULAR"]
        assert (ended["names"][player], ended["names"][1 - player]) == ("Mensch", "first")
        await pages.caught_up()
        game = (await pages.get(f"/api/rooms/{seat['room']}")).json
        assert len(game["positions"]) == ended["plies"] + 1
        assert moves == sum(each["player"] == player for each in game["plies"])


async def test_a_page_that_is_told_that_the_game_has_begun_finds_its_positions(autojump_clock: MockClock) -> None:
    """The person's connection knows it before the list of games does."""
    async with open_pages() as pages:
        taken = (await pages.post("/api/seat", {"opponent": {"strategy": "greedy"}, "gameType": GAME_TYPE})).json
        stream = await pages.open(f"/api/seat/{taken['seat']}/events")
        await stream.until("seat", lambda seat: seat["state"] == "playing")
        assert (await pages.get(f"/api/rooms/{taken['room']}")).json["positions"] != []
        await stream.until("request", lambda request: request["moves"])


async def test_a_person_has_no_clock_unless_asked_for() -> None:
    async with open_pages() as pages:
        for clock in (False, True):
            seat, _ = await take_seat(pages, {"strategy": "random"}, clock=clock)
            slots = pages.server.lobby.rooms[seat["room"]].player_slots
            limits = [slot.limits.soft_timeout for slot in slots]
            assert limits == [pages.server.config.soft_timeout if clock else None, pages.server.config.soft_timeout]


async def test_a_program_takes_the_other_seat() -> None:
    async with open_pages() as pages:
        seat, stream = await take_seat(pages, {"program": True}, player=1)
        assert seat["state"] == "waiting"
        commands = {line["kind"]: line["text"] for line in seat["commands"]}
        assert commands["java"] == "java -jar program.jar"
        assert commands["builtin"] == f"spielleiter play --strategy greedy --game {GAME_TYPE}"
        edition = pages.server.editions[GAME_TYPE]
        async with pages.player(edition) as player:
            assert await player.join(GAME_TYPE) == seat["room"]
            pages.nursery.start_soon(player.play_with, make_responder("first"))
            await stream.until("seat", lambda seat: seat["state"] == "playing")
            assert (await until_asked(stream))["ply"] == 1


@pytest.mark.parametrize("clock", [False, True])
async def test_a_person_who_joins_the_room_of_somebody_else_has_the_clock_of_the_server(clock: bool) -> None:
    async def join_and_never_move(limit: float) -> None:
        async with open_pages(soft_timeout=limit, hard_timeout=limit) as pages:
            edition = pages.server.editions[GAME_TYPE]
            async with pages.player(edition) as player:
                room_id = await player.join(GAME_TYPE)
                pages.nursery.start_soon(player.play_with, make_responder("first"))
                await pages.caught_up()
                seat, stream = await take_seat(pages, {"room": room_id}, clock=clock)
                assert (seat["room"], seat["player"]) == (room_id, 1)
                assert (await pages.post("/api/seat", {"opponent": {"room": room_id}})).status == 409  # it is full
                await until_over(stream)
        assert pages.logged("game_ended")[0]["causes"] == ["REGULAR", "HARD_TIMEOUT"]

    await retry_with_longer_limits(join_and_never_move, 0.2)


async def test_a_stranger_in_the_room_of_a_person_has_the_clock_of_the_server() -> None:
    async with open_pages(soft_timeout=0.1, hard_timeout=0.1) as pages:
        person, stream = await take_seat(pages, {"program": True}, player=1)
        await take_seat(pages, {"room": person["room"]}, name="stranger")
        await until_over(stream)
    (ended,) = pages.logged("game_ended")
    assert (ended["names"], ended["causes"]) == (["", "Mensch"], ["HARD_TIMEOUT", "REGULAR"])


async def test_a_person_is_refused_a_seat_that_a_program_takes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_pages() as pages, pages.player() as first, pages.player() as rival:
        room_id = await first.join(GAME_TYPE)
        await pages.caught_up()
        join_room = Player.join_room

        async def join_too_late(person: Player, room: str) -> str | None:
            await rival.join(GAME_TYPE)
            return await join_room(person, room)

        monkeypatch.setattr(Player, "join_room", join_too_late)
        refused = await pages.post("/api/seat", {"opponent": {"room": room_id}, "gameType": GAME_TYPE})
        assert refused.status == 409


async def test_a_game_starts_from_a_position_of_another_one() -> None:
    async with open_pages() as pages:
        first, stream = await take_seat(pages, {"strategy": "first"})
        while (request := await until_asked(stream))["ply"] < 4:
            await pages.post(f"/api/seat/{first['seat']}/move", {"ply": request["ply"], "index": 1})
        await pages.caught_up()
        turn = pages.server.lobby.rooms[first["room"]].state.turn
        start = {"room": first["room"], "ply": request["ply"]}
        second, _ = await take_seat(pages, {"strategy": "first"}, **{"from": start, "gameType": None})
        again = await pages.open(f"/api/rooms/{second['room']}/events")
        shown = await again.until("position", lambda data: data["positions"])
        assert shown["positions"][0]["turn"] == turn
        missing = {"opponent": {"strategy": "first"}, "from": {**start, "ply": 500}}
        assert (await pages.post("/api/seat", missing)).status == 404


async def test_no_address_can_take_all_seats(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seats_module, "MOST_SEATS", 4)
    monkeypatch.setattr(seats_module, "MOST_ENDED_SEATS", 1)
    form = {"gameType": GAME_TYPE, "opponent": {"program": True}}
    async with open_pages() as pages:
        taken = [await take_seat(pages, {"program": True}) for _ in range(2)]
        for client, status in (("127.0.0.1", 429), ("127.0.0.2", 429), ("192.0.2.1", 200)):
            assert (await pages.post("/api/seat", form, client=client)).status == status
        for seat, stream in taken:
            await pages.post(f"/api/seat/{seat['seat']}/leave")
            await until_over(stream)
        await take_seat(pages, {"program": True})
        ids = [seat["seat"] for seat, _ in taken]
        assert (await pages.post(f"/api/seat/{ids[0]}/leave")).status == 404  # forgotten
        assert (await pages.post(f"/api/seat/{ids[1]}/leave")).status == 200


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"gameType": "no_such_game", "opponent": {"strategy": "greedy"}}, 400),
        ({"opponent": {"strategy": "no-such-player"}}, 400),
        ({"opponent": {"strategy": "slow"}}, 400),
        ({"opponent": {"strategy": "blokus-greedy", "program": True}}, 400),
        ({"opponent": {}}, 400),
        ({"opponent": None}, 400),
        ({"opponent": {"room": "no such room"}}, 404),
        ({"player": 2}, 400),
        ({"name": "A\nB"}, 400),
        ({"name": "x" * 51}, 400),
        ({"from": {"room": "no such room", "ply": 0}}, 404),
    ],
)
async def test_impossible_requests_are_refused_and_change_nothing(change: dict[str, Any], status: int) -> None:
    async with open_pages() as pages:
        answer = await pages.post("/api/seat", {"gameType": GAME_TYPE, "opponent": {"program": True}, **change})
        assert answer.status == status
        assert set(answer.json["error"]) == {"de", "en"}
        assert pages.server.lobby.rooms == {}


async def test_a_server_that_has_too_many_waiting_rooms_refuses_another_one() -> None:
    async with open_pages(rooms_waiting=1) as pages:
        pages.open_room("A", "B")
        answer = await pages.post("/api/seat", {"gameType": GAME_TYPE, "opponent": {"program": True}})
        assert answer.status == 429


async def test_moves_that_are_not_asked_for_are_refused_and_leaving_ends_the_game() -> None:
    async with open_pages() as pages:
        seat, stream = await take_seat(pages, {"strategy": "first"})
        address = f"/api/seat/{seat['seat']}"
        count = len((await until_asked(stream))["moves"])
        for form, status in (
            ({"ply": 1, "index": 0}, 409),
            ({"ply": 0, "index": count}, 400),
            ({"ply": 0, "index": -1}, 400),
            ({"ply": 0, "skip": True}, 409),  # the first piece has to be placed
            ({"ply": 0}, 400),
            ({"ply": "0", "index": 0}, 400),
            ([], 400),
            ({"ply": 0, "index": 0}, 200),
            ({"ply": 0, "index": 0}, 409),
        ):
            answer = await pages.post(f"{address}/move", form)
            assert (answer.status, form) == (status, form)
        gone = await pages.open("/api/seat/unknown/events")
        assert (await gone.until("gone"))["error"]["en"] == "There is no such seat (any more)."
        assert (await pages.post("/api/seat/unknown/move", {"ply": 0, "index": 0})).status == 404
        assert (await pages.post(f"{address}/leave")).json == {}
        await until_over(stream)
        rooms = await pages.open("/api/events")
        await rooms.until("rooms", lambda listed: listed[0]["state"] == "over")
        assert pages.logged("game_ended")[0]["causes"] == ["LEFT", "REGULAR"]


async def test_a_room_that_nobody_has_joined_is_closed_with_its_seat() -> None:
    async with open_pages() as pages:
        seat, stream = await take_seat(pages, {"program": True})
        await pages.post(f"/api/seat/{seat['seat']}/leave")
        await until_over(stream)
        await wait_all_tasks_blocked()
        assert pages.server.lobby.rooms == {}


async def test_a_seat_is_given_up_when_no_page_looks_at_it(autojump_clock: MockClock) -> None:
    async with open_pages() as pages:
        seat, stream = await take_seat(pages, {"program": True})

        def is_open() -> bool:
            return seat["room"] in pages.server.lobby.rooms

        await trio.sleep(ABANDON_TIMEOUT + 1)
        assert is_open()
        stream.leave()
        await trio.sleep(ABANDON_TIMEOUT / 2)
        assert is_open()
        await trio.sleep(ABANDON_TIMEOUT / 2 + 1)
        while is_open():
            await trio.lowlevel.checkpoint()


@pytest.mark.parametrize(
    ("is_windows", "host", "port", "code", "arguments", "game"),
    [
        (False, "10.0.0.7", 1, "c-1", " --host 10.0.0.7 --port 1 --reservation c-1", ""),
        (True, "10.0.0.7", 13050, "c-1", " --host 10.0.0.7 --reservation c-1", ""),
        (False, DEFAULT_HOST, 13051, None, " --port 13051", f" --game {GAME_TYPE}"),
        (False, DEFAULT_HOST, 13050, None, "", f" --game {GAME_TYPE}"),
    ],
)
def test_there_is_a_line_for_each_kind_of_program(
    is_windows: bool, host: str, port: int, code: str | None, arguments: str, game: str
) -> None:
    """Arguments that are the defaults are left out; without a reservation the built-in player is told the game."""
    lines = {
        line["kind"]: line["text"] for line in joining_commands(host, port, GAME_TYPE, code, is_windows=is_windows)
    }
    assert lines == {
        "java": f"java -jar program.jar{arguments}",
        "python": f"{'python' if is_windows else 'python3'} program.py{arguments}",
        "executable": f"{'.' + chr(92) + 'program.exe' if is_windows else './program'}{arguments}",
        "builtin": f"spielleiter play --strategy greedy{game}{arguments}",
    }
    _, name, *given = shlex.split(lines["builtin"])
    play = cli.get_command(click.Context(cli), name)
    assert play is not None
    options = play.make_context(name, given).params
    assert (options["host"], options["port"], options["reservation"]) == (host, port, code)
