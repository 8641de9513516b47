"""A person's seat is that of an ordinary player, and only moves that are asked for are played."""

from __future__ import annotations

import gc
import shlex
from functools import partial
from typing import Any

import click
import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from spielleiter.cli.cli import cli
from spielleiter.client.player import Player
from spielleiter.client.strategies import make_responder
from spielleiter.protocol.defaults import DEFAULT_HOST
from spielleiter.server.editions import EDITIONS
from spielleiter.viewer.web import seats as seats_module
from spielleiter.viewer.web.seats import ABANDON_TIMEOUT, Loopback, joining_commands, program_arguments
from tests.server.harness import open_harness
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
async def test_impossible_requests_are_refused_and_change_nothing(form: dict[str, Any], status: int) -> None:
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


async def test_moves_that_are_not_asked_for_are_refused() -> None:
    async with open_pages() as pages:
        seat = await take_seat(pages, {"strategy": "first"})
        address = f"/api/seat/{seat['seat']}/move"
        stream = await pages.open(f"/api/seat/{seat['seat']}/events")
        while (request := await stream.until("request"))["moves"] is None:
            pass
        count = len(request["moves"])
        for form, status in (
            ({"ply": 1, "index": 0}, 409),
            ({"ply": 0, "index": count}, 400),
            ({"ply": 0, "index": -1}, 400),
            ({"ply": 0, "skip": True}, 409),  # the first piece has to be placed
            ({"ply": 0}, 400),
            ({"ply": "0", "index": 0}, 400),
            ([], 400),
        ):
            answer = await pages.post(address, form)
            assert (answer.status, form) == (status, form)
        assert (await pages.post(address, {"ply": 0, "index": 0})).status == 200
        assert (await pages.post(address, {"ply": 0, "index": 0})).status == 409
        gone = await pages.open("/api/seat/unknown/events")
        assert (await gone.until("gone"))["error"]["en"] == "There is no such seat (any more)."
        assert (await pages.post("/api/seat/unknown/move", {"ply": 0, "index": 0})).status == 404


async def test_leaving_ends_the_game() -> None:
    async with open_pages() as pages:
        seat = await take_seat(pages, {"strategy": "first"})
        stream = await pages.open(f"/api/seat/{seat['seat']}/events")
        while (await stream.until("request"))["moves"] is None:
            pass
        assert (await pages.post(f"/api/seat/{seat['seat']}/leave")).json == {}
        while (await stream.until("seat"))["state"] != "over":
            pass
        rooms = await pages.open("/api/events")
        while (await rooms.until("rooms"))[0]["state"] != "over":
            pass
        assert pages.logged("game_ended")[0]["causes"] == ["LEFT", "REGULAR"]


async def test_a_room_that_nobody_has_joined_is_closed_with_its_seat() -> None:
    async with open_pages() as pages:
        seat = await take_seat(pages, {"program": True})
        stream = await pages.open(f"/api/seat/{seat['seat']}/events")
        await pages.post(f"/api/seat/{seat['seat']}/leave")
        while (await stream.until("seat"))["state"] != "over":
            pass
        await wait_all_tasks_blocked()
        assert pages.server.lobby.rooms == {}


async def test_a_seat_is_given_up_when_no_page_looks_at_it(mock_clock: MockClock) -> None:
    async with open_pages() as pages:
        seat = await take_seat(pages, {"program": True})
        stream = await pages.open(f"/api/seat/{seat['seat']}/events")
        await wait_all_tasks_blocked()
        mock_clock.jump(ABANDON_TIMEOUT + 1)
        await wait_all_tasks_blocked()
        found = pages.site.seats.find(seat["seat"])
        assert found.state == "waiting"
        stream.leave()
        await wait_all_tasks_blocked()
        mock_clock.jump(ABANDON_TIMEOUT / 2)
        await wait_all_tasks_blocked()
        assert found.state == "waiting"
        mock_clock.jump(ABANDON_TIMEOUT)
        while found.state != "over":  # the server closes the connection through real sockets
            await trio.lowlevel.checkpoint()


GAME = "swc_2027_blokus"


def test_only_arguments_that_differ_from_the_defaults_are_there() -> None:
    assert program_arguments(DEFAULT_HOST, 13050) == ""
    assert program_arguments(DEFAULT_HOST, 13051) == "--port 13051"
    assert program_arguments("10.0.0.7", 13050, "c-1") == "--host 10.0.0.7 --reservation c-1"


@pytest.mark.parametrize("is_windows", [False, True])
def test_there_is_a_line_for_each_kind_of_program(is_windows: bool) -> None:
    arguments = "--host 10.0.0.7 --port 1 --reservation c-1"
    lines = joining_commands("10.0.0.7", 1, GAME, "c-1", is_windows=is_windows)
    assert {line["kind"]: line["text"] for line in lines} == {
        "java": f"java -jar program.jar {arguments}",
        "python": f"{'python' if is_windows else 'python3'} program.py {arguments}",
        "executable": f"{'.' + chr(92) + 'program.exe' if is_windows else './program'} {arguments}",
        "builtin": f"spielleiter play --strategy greedy {arguments}",
    }


def test_without_a_reservation_the_builtin_player_is_told_the_game() -> None:
    lines = {line["kind"]: line["text"] for line in joining_commands(DEFAULT_HOST, 13050, GAME)}
    assert lines["java"] == "java -jar program.jar"
    assert lines["builtin"] == f"spielleiter play --strategy greedy --game {GAME}"


@pytest.mark.parametrize("reservation", [None, "c-1"])
def test_the_line_of_the_builtin_player_is_accepted(reservation: str | None) -> None:
    (line,) = (each["text"] for each in joining_commands("10.0.0.7", 1, GAME, reservation) if each["kind"] == "builtin")
    _, name, *arguments = shlex.split(line)
    play = cli.get_command(click.Context(cli), name)
    assert play is not None
    given = play.make_context(name, arguments).params
    assert (given["host"], given["port"], given["reservation"]) == ("10.0.0.7", 1, reservation)


async def test_a_connection_that_comes_too_late_is_cancelled_and_leaves_nothing_open(autojump_clock: object) -> None:
    async with open_harness() as harness:
        loopback = Loopback(harness.server)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(loopback.run)
            await trio.testing.wait_all_tasks_blocked()
            nursery.cancel_scope.cancel()
        with trio.move_on_after(1) as scope:
            async with loopback.connect(EDITIONS["blokus-2027"].dialect, "late"):
                raise AssertionError("connected to a server that has stopped")
        assert scope.cancelled_caught
    gc.collect()  # a socket that is still open is a warning, which is an error
