"""What visitors of the pages try: to get the rights that the pages hold, and to take what belongs to others."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import MutableMapping
from typing import Any

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from spielleiter.viewer.web.bodies import MOST_BYTES
from spielleiter.viewer.web.replay_store import MOST_DROPPED_BYTES
from spielleiter.viewer.web.seats import MOST_SEATS
from tests.viewer.web.pages import GAME_TYPE, HOST, JSON, SECRET, call, open_pages, request_scope

SEAT: dict[str, Any] = {"gameType": GAME_TYPE, "opponent": {"program": True}}
BINARY = {"content-type": "application/octet-stream"}


async def test_the_secret_of_the_pages_makes_no_visitor_an_administrator() -> None:
    async with open_pages(viewer_password="geheim") as pages:
        answer = await pages.post("/api/admin/login", {"password": SECRET}, {"authorization": "Basic OmdlaGVpbQ=="})
        assert answer.status == 403
        assert (await pages.get("/api/rooms", {"authorization": f"Basic {SECRET}"})).status == 401


async def test_the_secret_is_in_no_answer_and_in_no_log() -> None:
    async with open_pages() as pages:
        token = await pages.log_in()
        form = {"gameType": GAME_TYPE, "players": [{"name": "A"}, {"name": "B"}]}
        room = (await pages.post("/api/admin/prepare", form, token)).json["room"]
        answers = [await pages.post("/api/seat", SEAT), await pages.post("/api/admin/pause", {"room": "x"}, token)]
        paths = [f"/api/{name}" for name in ("info", "rooms", f"rooms/{room}", "replays", "admin", "nothing")]
        answers += [await pages.get(path) for path in (*paths, "/metrics", "/healthz")]
        assert [answer for answer in answers if SECRET.encode() in answer.body] == []
        assert SECRET not in pages.log.getvalue()


@pytest.mark.parametrize("path", ["/api/seat", "/api/admin/prepare"])
async def test_a_name_is_never_a_request_of_the_pages(path: str) -> None:
    async with open_pages() as pages:
        token = await pages.log_in()
        victim = pages.open_room("A", "B")
        await pages.caught_up()
        name = f'x"/><cancel roomId="{victim.id}"/>'[:50]
        players = [{"name": name}, {"name": f'"/></prepare><cancel roomId="{victim.id}"/>'}]
        form = {**SEAT, "name": name} if path == "/api/seat" else {"gameType": GAME_TYPE, "players": players}
        assert (await pages.post(path, form, token)).status == 200
        assert victim.id in pages.server.lobby.rooms
        (new,) = (room for room in pages.server.lobby.rooms.values() if room is not victim)
        assert new.names[0] == name


async def test_a_room_that_is_not_one_is_never_a_request_of_the_pages() -> None:
    async with open_pages() as pages:
        token = await pages.log_in()
        victim = pages.open_room("A", "B")
        await pages.caught_up()
        before = pages.server.stream.counters["ConnectionOpened"]
        room = f'x"/><cancel roomId="{victim.id}"/>'
        for path, form in (
            ("/api/admin/pause", {"room": room[:100]}),
            ("/api/admin/cancel", {"room": "x"}),
            ("/api/seat", {"opponent": {"room": room}}),
        ):
            assert (await pages.post(path, form, token)).status == 404
        assert victim.id in pages.server.lobby.rooms
        assert pages.server.stream.counters["ConnectionOpened"] == before  # the server was not even asked


async def test_no_address_takes_more_seats_by_asking_for_all_of_them_at_once() -> None:
    async with open_pages() as pages:
        answers: Counter[int] = Counter()

        async def take() -> None:
            answers[(await pages.post("/api/seat", SEAT)).status] += 1

        async with trio.open_nursery() as nursery:
            for _ in range(MOST_SEATS):
                nursery.start_soon(take)
        assert answers == {200: MOST_SEATS // 2, 429: MOST_SEATS // 2}
        assert len(pages.server.lobby.rooms) == MOST_SEATS // 2


async def test_a_visitor_that_leaves_while_a_seat_is_opened_leaves_no_room_without_a_seat() -> None:
    async with open_pages() as pages:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(pages.post, "/api/seat", SEAT)
            while not pages.server.lobby.rooms:
                await trio.lowlevel.checkpoint()
            nursery.cancel_scope.cancel()
        (room,) = pages.server.lobby.rooms.values()
        while not room.players:
            await trio.lowlevel.checkpoint()


async def test_unfinished_bodies_have_one_budget_and_no_address_takes_more_than_half_of_it(
    autojump_clock: MockClock,
) -> None:
    async with open_pages() as pages:
        taken = pages.bodies.taken
        most = 0
        statuses: Counter[tuple[str, int]] = Counter()

        async def send(client: str) -> None:
            nonlocal most
            sent: list[MutableMapping[str, Any]] = []
            parts = [bytes(64 * 1024)] * (MOST_DROPPED_BYTES // (64 * 1024) - 1)

            async def receive() -> MutableMapping[str, Any]:
                nonlocal most
                most = max(most, taken.total())
                if not parts:
                    await trio.sleep_forever()
                await trio.lowlevel.checkpoint()
                return {"type": "http.request", "body": parts.pop(), "more_body": True}

            async def note(message: MutableMapping[str, Any]) -> None:
                sent.append(message)

            scope = request_scope("POST", "/api/replays", {"host": HOST, **BINARY}, client)
            await pages.site.app(scope, receive, note)
            statuses[client, sent[0]["status"]] += 1

        async with trio.open_nursery() as nursery:
            for _ in range(100):
                nursery.start_soon(send, "192.0.2.1")
            await wait_all_tasks_blocked()
            assert MOST_BYTES * 0.4 < most < MOST_BYTES * 0.6
            nursery.start_soon(send, "192.0.2.2")  # there is still room for somebody else
        assert most < MOST_BYTES
        assert statuses["192.0.2.2", 408] == 1
        assert statuses["192.0.2.1", 429] > 90
        assert taken == {}


async def test_a_body_that_is_announced_as_too_large_is_refused_before_it_is_read() -> None:
    async with open_pages() as pages:
        status = 0

        async def receive() -> MutableMapping[str, Any]:
            raise AssertionError("the body was read")

        async def note(message: MutableMapping[str, Any]) -> None:
            nonlocal status
            status = message.get("status", status)

        for path, headers, size in (("/api/replays", BINARY, MOST_DROPPED_BYTES), ("/api/seat", JSON, 16 * 1024)):
            scope = request_scope("POST", path, {"host": HOST, **headers, "content-length": str(size + 1)})
            await pages.site.app(scope, receive, note)
            assert status == 413


async def test_pages_without_their_server_say_so_and_follow_it_again(autojump_clock: MockClock) -> None:
    async with open_pages() as pages:
        room = pages.open_room("A", "B")
        stream = await pages.open("/api/events")
        await stream.until("rooms", lambda rooms: len(rooms) == 1)
        pages.is_reachable = False
        for session in list(pages.server.sessions):
            session.end("", 0.0)
        assert "No connection" in (await stream.until("notice"))["en"]
        assert (await pages.get("/healthz")).body == b"no connection to the game server\n"
        assert (await pages.get("/metrics")).status == 503
        assert [each["id"] for each in (await pages.get("/api/rooms")).json["rooms"]] == [room.id]
        for path, form in (("/api/seat", SEAT), ("/api/admin/cancel", {"room": room.id})):
            answer = await pages.post(path, form, await pages.log_in())
            assert (answer.status, "cannot be reached" in json.dumps(answer.json)) == (503, True)
        room.cancel()
        pages.is_reachable = True
        assert await stream.until("notice") == {"de": "", "en": ""}
        assert await stream.until("rooms") == []
        assert (await call(pages.site.app, "GET", "/healthz")).status == 200
