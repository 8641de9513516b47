"""Administrators in the browser can do what administrators on the game port can, and nobody else can."""

from __future__ import annotations

from typing import Any

import pytest
import trio
from trio.testing import MockClock

from spielleiter.client.admin import AdminClient
from spielleiter.client.client_errors import AuthenticationError
from spielleiter.client.responders import make_responder
from spielleiter.server.core.room import Phase
from spielleiter.viewer.web import administration
from tests.viewer.web.pages import GAME_TYPE, PASSWORD, Pages, open_pages

TWO = [{"name": "Alice"}, {"name": "Bob", "canTimeout": False}]
FORM: dict[str, Any] = {"gameType": GAME_TYPE, "players": TWO, "isPaused": True}


async def test_logging_in_gives_a_cookie_and_a_token() -> None:
    async with open_pages() as pages:
        assert (await pages.get("/api/info")).json["hasAdmin"]
        assert (await pages.get("/api/admin")).json == {"isLoggedIn": False, "token": None}
        answer = await pages.post("/api/admin/login", {"password": PASSWORD})
        cookie = answer.headers["set-cookie"].lower()
        assert [part for part in ("httponly", "samesite=strict", "path=/api/admin") if part not in cookie] == []
        assert (await pages.get("/api/admin")).json == {"isLoggedIn": True, "token": answer.json["token"]}
        token = {"x-spielleiter-token": answer.json["token"]}
        assert (await pages.post("/api/admin/logout", headers=token)).json == {}
        assert (await pages.get("/api/admin")).json == {"isLoggedIn": False, "token": None}
        assert PASSWORD not in pages.log.getvalue()
        assert pages.logged("admin_authenticated") != []


async def join(pages: Pages, code: str) -> None:
    async with pages.player() as player:
        await player.join_prepared(code)
        await player.play_with(make_responder("first"))


async def test_a_prepared_game_is_played_with_its_reservations() -> None:
    async with open_pages() as pages:
        token = await pages.log_in()
        prepared = (await pages.post("/api/admin/prepare", FORM, token)).json
        room = pages.server.lobby.rooms[prepared["room"]]
        assert (room.names, room.is_paused) == (("Alice", "Bob"), True)
        assert [slot.limits.soft_timeout for slot in room.player_slots] == [2.0, None]
        for code, commands in zip(prepared["reservations"], prepared["commands"], strict=True):
            assert {"kind": "java", "text": f"java -jar program.jar --reservation {code}"} in commands
            assert all(line["text"].endswith(f" --reservation {code}") for line in commands)
            pages.nursery.start_soon(join, pages, code)
        while room.phase is Phase.OPEN:
            await trio.lowlevel.checkpoint()
        stream = await pages.open(f"/api/rooms/{room.id}/events")
        shown = await stream.until("position", lambda shown: shown["positions"])
        assert (shown["state"], shown["toMove"]) == ("paused", None)

        async def send(action: str) -> None:
            assert (await pages.post(f"/api/admin/{action}", {"room": room.id}, token)).json == {}

        await send("step")
        await stream.until("position", lambda shown: shown["positions"] and shown["positions"][-1]["ply"] == 1)
        await send("resume")
        await send("pause")
        await stream.until("position", lambda shown: shown["isPaused"])
        await send("cancel")
        shown = await stream.until("position", lambda shown: shown["state"] == "over")
        assert shown["end"]["cause"] == "REGULAR"


@pytest.mark.parametrize("action", ["prepare", "pause", "resume", "step", "cancel", "logout"])
async def test_nothing_is_done_without_cookie_and_token(action: str) -> None:
    async with open_pages() as pages:
        room = pages.open_room("A", "B")
        form, address = {**FORM, "room": room.id}, f"/api/admin/{action}"
        assert (await pages.post(address, form)).status == 401
        token = await pages.log_in()
        assert (await pages.post(address, form)).status == 401  # a foreign page could send this one
        assert (await pages.post(address, form, {"x-spielleiter-token": "x" * 43})).status == 401
        pages.cookies.clear()
        assert (await pages.post(address, form, token)).status == 401
        assert (list(pages.server.lobby.rooms), room.is_paused) == ([room.id], False)


async def test_wrong_passwords_are_logged_counted_and_answered_late(autojump_clock: MockClock) -> None:
    async with open_pages(password_attempts=2) as pages:
        for _ in range(4):
            answer = await pages.post("/api/admin/login", {"password": "falsch"})
            assert (answer.status, "set-cookie" in answer.headers) == (403, False)
        assert len(pages.logged("request_refused")) == 4
        assert len(pages.logged("answer_delayed")) == 2
        transport = await pages.connect(pages.server.editions[GAME_TYPE].dialect)
        with pytest.raises(AuthenticationError):  # at the game port
            async with AdminClient(transport).running("falsch") as admin:
                await admin.status()
        figures = (await pages.get("/metrics")).body.decode()
        assert 'spielleiter_refusals_total{reason="wrong_password",refused="request"} 5.0\n' in figures
        assert 'spielleiter_refusals_total{reason="password_guessing",refused="password"} 2.0\n' in figures
        assert "falsch" not in pages.log.getvalue()
        before = trio.current_time()
        assert before > 0
        assert (await pages.post("/api/admin/login", {"password": PASSWORD})).status == 200
        assert trio.current_time() == before


async def test_a_public_server_with_the_known_password_has_no_administrators() -> None:
    async with open_pages(host="0.0.0.0") as pages:
        answer = await pages.post("/api/admin/login", {"password": PASSWORD})
        assert answer.status == 403
        assert "--password" in answer.json["error"]["en"]


async def test_sessions_are_bounded_in_time_and_number(
    autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(administration, "MOST_SESSIONS", 2)
    monkeypatch.setattr(administration, "SESSION_TIMEOUT", 5.0)  # in hours, the server collects garbage very often

    async def is_logged_in(cookies: dict[str, str]) -> object:
        pages.cookies = cookies
        return (await pages.get("/api/admin")).json["isLoggedIn"]

    async with open_pages() as pages:
        room = pages.open_room("A", "B")
        each, token = [], {}
        for _ in range(3):
            token = await pages.log_in()
            each.append(pages.cookies)
            pages.cookies = {}
        assert [await is_logged_in(cookies) for cookies in each] == [False, True, True]
        await trio.sleep(administration.SESSION_TIMEOUT - 1)
        assert await is_logged_in(each[2])
        await trio.sleep(administration.SESSION_TIMEOUT - 1)
        assert [await is_logged_in(cookies) for cookies in each] == [False, False, True]
        await trio.sleep(administration.SESSION_TIMEOUT + 1)
        assert (await pages.post("/api/admin/pause", {"room": room.id}, token)).status == 401


async def test_what_cannot_be_done_is_refused() -> None:
    async with open_pages(rooms_waiting=1) as pages:
        token = await pages.log_in()
        changes: list[dict[str, Any]] = [{"gameType": "no_such_game"}, {"isPaused": "perhaps"}]
        changes += [
            {"players": TWO[:1]},
            *({"players": [{"name": "A"}, {"name": name}]} for name in ("", "\0", "B" * 101)),
        ]
        for change in changes:
            assert (await pages.post("/api/admin/prepare", {**FORM, **change}, token)).status == 400
        assert pages.server.lobby.rooms == {}
        assert (await pages.post("/api/admin/pause", {"room": "x"}, token)).status == 404
        assert (await pages.post("/api/admin/prepare", FORM, token)).status == 200
        answer = await pages.post("/api/admin/prepare", FORM, token)
        assert answer.status == 409
        assert "1 room waits" in answer.json["error"]["en"]
