"""Administrators in the browser can do what administrators on the game port can, and nobody else can."""

from __future__ import annotations

from typing import Any

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from spielleiter.client.strategies import make_responder
from spielleiter.server.core.room import Phase
from spielleiter.server.net.password_guard import LONGEST_WAIT
from spielleiter.viewer.web import administration
from tests.viewer.web.pages import GAME_TYPE, JSON, PASSWORD, Pages, call, open_pages

TWO = [{"name": "Alice"}, {"name": "Bob", "canTimeout": False}]


async def prepare(pages: Pages, token: dict[str, str], **more: Any) -> dict[str, Any]:
    form = {"gameType": GAME_TYPE, "players": TWO, "isPaused": True, **more}
    answer = await pages.post("/api/admin/prepare", form, token)
    assert answer.status == 200, answer.json
    found: dict[str, Any] = answer.json
    return found


async def test_logging_in_gives_a_cookie_and_a_token() -> None:
    async with open_pages() as pages:
        assert (await pages.get("/api/admin")).json == {"isLoggedIn": False, "token": None}
        answer = await pages.post("/api/admin/login", {"password": PASSWORD})
        cookie = answer.headers["set-cookie"].lower()
        assert "httponly" in cookie
        assert "samesite=strict" in cookie
        assert "path=/api/admin" in cookie
        assert (await pages.get("/api/admin")).json == {"isLoggedIn": True, "token": answer.json["token"]}
        token = {"x-spielleiter-token": answer.json["token"]}
        assert (await pages.post("/api/admin/logout", headers=token)).json == {}
        assert (await pages.get("/api/admin")).json == {"isLoggedIn": False, "token": None}
        assert PASSWORD not in pages.log.getvalue()
        assert pages.logged("admin_authenticated") != []


@pytest.mark.parametrize("form", [b'{"x":' + b"[" * 8000, b'{"password":' * 1000, b"[" * 16_000, b"\xff", b"1e999"])
async def test_a_body_that_cannot_be_read_is_a_mistake_of_its_sender(form: bytes) -> None:
    async with open_pages() as pages:
        answer = await call(pages.site.app, "POST", "/api/admin/login", JSON, form)
        assert answer.status == 400
        assert pages.logged("internal_error") == []


async def test_a_prepared_game_is_played_with_its_reservations() -> None:
    async with open_pages() as pages:
        token = await pages.log_in()
        prepared = await prepare(pages, token)
        room = pages.server.lobby.rooms[prepared["room"]]
        assert room.names == ("Alice", "Bob")
        assert room.is_paused
        assert [slot.clock.next_limits.soft_timeout for slot in room.player_slots] == [2.0, None]
        for code, commands in zip(prepared["reservations"], prepared["commands"], strict=True):
            assert {"kind": "java", "text": f"java -jar program.jar --reservation {code}"} in commands
            assert all(line["text"].endswith(f" --reservation {code}") for line in commands)
            pages.nursery.start_soon(join, pages, code)
        while room.phase is Phase.OPEN:
            await trio.lowlevel.checkpoint()
        stream = await pages.open(f"/api/rooms/{room.id}/events")
        shown = await stream.until("position")
        assert (shown["state"], shown["toMove"]) == ("paused", None)
        request = {"room": room.id}
        assert (await pages.post("/api/admin/step", request, token)).json == {}
        while not shown["positions"] or shown["positions"][-1]["ply"] != 1:
            shown = await stream.until("position")
        assert (await pages.post("/api/admin/resume", request, token)).json == {}
        assert (await pages.post("/api/admin/pause", request, token)).json == {}
        assert room.is_paused
        assert (await pages.post("/api/admin/cancel", request, token)).json == {}
        while shown["state"] != "over":
            shown = await stream.until("position")
        assert shown["end"]["cause"] == "REGULAR"


async def join(pages: Pages, code: str) -> None:
    edition = pages.server.editions[GAME_TYPE]
    async with pages.site.loopback.connect(edition.dialect, "program") as player:
        await player.join_prepared(code)
        await player.play_with(make_responder("first"))


@pytest.mark.parametrize("action", ["prepare", "pause", "resume", "step", "cancel", "logout"])
async def test_nothing_is_done_without_cookie_and_token(action: str) -> None:
    async with open_pages() as pages:
        room = pages.open_room("A", "B")
        form = {"gameType": GAME_TYPE, "players": TWO, "room": room.id}
        address = f"/api/admin/{action}"
        assert (await pages.post(address, form)).status == 401
        token = await pages.log_in()
        assert (await pages.post(address, form)).status == 401  # a foreign page could send this one
        assert (await pages.post(address, form, {"x-spielleiter-token": "x" * 43})).status == 401
        pages.cookies.clear()
        assert (await pages.post(address, form, token)).status == 401
        assert list(pages.server.lobby.rooms) == [room.id]
        assert not room.is_paused


async def test_wrong_passwords_are_logged_counted_and_answered_late(autojump_clock: MockClock) -> None:
    async with open_pages(password_attempts=2) as pages:
        for _ in range(4):
            answer = await pages.post("/api/admin/login", {"password": "falsch"})
            assert answer.status == 403
            assert "set-cookie" not in answer.headers
        assert len(pages.logged("request_refused")) == 4
        assert len(pages.logged("answer_delayed")) == 2
        assert pages.server.stream.refusals["RequestRefused", "wrong_password"] == 4
        assert "falsch" not in pages.log.getvalue()
        before = trio.current_time()
        assert (await pages.post("/api/admin/login", {"password": PASSWORD})).status == 200
        assert trio.current_time() == before


async def test_a_flood_of_wrong_passwords_does_not_keep_out_the_right_one(autojump_clock: MockClock) -> None:
    statuses: list[int] = []
    async with open_pages(password_attempts=1) as pages:

        async def guess() -> None:
            statuses.append((await pages.post("/api/admin/login", {"password": "falsch"})).status)

        async with trio.open_nursery() as nursery:
            for _ in range(400):
                nursery.start_soon(guess)
            await wait_all_tasks_blocked()
            for _ in range(10):
                before = trio.current_time()
                assert (await pages.post("/api/admin/login", {"password": PASSWORD})).status == 200
                assert trio.current_time() - before <= LONGEST_WAIT
        assert statuses == [403] * 400
        assert pages.server.stream.refusals["RequestRefused", "wrong_password"] == 400


async def test_a_public_server_with_the_known_password_has_no_administrators() -> None:
    async with open_pages(host="0.0.0.0") as pages:
        answer = await pages.post("/api/admin/login", {"password": PASSWORD})
        assert answer.status == 403
        assert "--password" in answer.json["error"]["en"]
        assert (await pages.get("/api/info")).json["hasAdmin"] is False


async def test_sessions_end_after_a_while(autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(administration, "SESSION_TIMEOUT", 60.0)
    async with open_pages() as pages:
        token = await pages.log_in()
        room = pages.open_room("A", "B")
        await trio.sleep(59)
        assert (await pages.get("/api/admin")).json["isLoggedIn"]
        await trio.sleep(61)
        assert (await pages.post("/api/admin/pause", {"room": room.id}, token)).status == 401


async def test_the_number_of_sessions_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(administration, "MOST_SESSIONS", 2)
    async with open_pages() as pages:
        cookies = []
        for _ in range(3):
            await pages.log_in()
            cookies.append(dict(pages.cookies))
            pages.cookies.clear()
        found = []
        for each in cookies:
            pages.cookies = each
            found.append((await pages.get("/api/admin")).json["isLoggedIn"])
        assert found == [False, True, True]


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"gameType": "no_such_game"}, 400),
        ({"players": [{"name": "A"}]}, 400),
        ({"players": [{"name": "A"}, {"name": ""}]}, 400),
        ({"players": [{"name": "A"}, {"name": "B\x00"}]}, 400),
        ({"players": [{"name": "A"}, {"name": "B" * 101}]}, 400),
        ({"isPaused": "perhaps"}, 400),
    ],
)
async def test_games_that_cannot_be_prepared_are_refused(change: dict[str, Any], status: int) -> None:
    async with open_pages() as pages:
        token = await pages.log_in()
        form = {"gameType": GAME_TYPE, "players": TWO, **change}
        assert (await pages.post("/api/admin/prepare", form, token)).status == status
        assert pages.server.lobby.rooms == {}


async def test_too_many_waiting_rooms_are_refused_like_on_the_game_port() -> None:
    async with open_pages(rooms_waiting=1) as pages:
        token = await pages.log_in()
        await prepare(pages, token)
        answer = await pages.post("/api/admin/prepare", {"gameType": GAME_TYPE, "players": TWO}, token)
        assert answer.status == 409
        assert "1 room waits" in answer.json["error"]["en"]


async def test_commands_for_an_unknown_room_are_refused() -> None:
    async with open_pages() as pages:
        token = await pages.log_in()
        assert (await pages.post("/api/admin/pause", {"room": "x"}, token)).status == 404
