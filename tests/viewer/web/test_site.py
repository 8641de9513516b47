"""What all requests have in common: their bodies and errors, event streams, the files of the page, what it is told."""

from __future__ import annotations

import random
import socket
from importlib.metadata import version

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from spielleiter.players.choosers import ladder_of, level_name
from spielleiter.viewer.positions.describe import view_of
from spielleiter.viewer.web.answers import COMMENT_INTERVAL
from spielleiter.viewer.web.bodies import BODY_TIMEOUT, JSON_BYTES
from spielleiter.viewer.web.game_server import METRICS_AGE
from spielleiter.viewer.web.site import METRICS_TYPE
from tests.server.serving import read_all
from tests.viewer.web.pages import GAME_PORT, GAME_TYPE, HOST, JSON, PASSWORD, call, open_pages
from tests.viewer.web.test_http_server import running

LOGIN = b'{"password": "%b", "more": 1}' % PASSWORD.encode()


@pytest.mark.parametrize(
    ("parts", "headers", "status"),
    [
        ((LOGIN[:9], LOGIN[9:]), {"content-type": "Application/JSON; charset=utf-8"}, 200),
        ((LOGIN,), {}, 415),
        ((LOGIN,), {"content-type": "text/plain"}, 415),
        ((b"",), JSON, 400),
        ((b"{}",), JSON, 400),
        ((b'{"password": 1}',), JSON, 400),
        ((b'{"password": "\xff"}',), JSON, 400),
        ((b"[" * 10_000,), JSON, 400),
        ((b'{"x":' + b"[" * 8000,), JSON, 400),
        ((b" " * JSON_BYTES, b" "), JSON, 413),
    ],
)
async def test_what_is_not_the_form_is_refused(parts: tuple[bytes, ...], headers: dict[str, str], status: int) -> None:
    async with open_pages() as pages:
        answer = await call(pages.site.app, "POST", "/api/admin/login", headers, *parts)
        assert answer.status == status
        assert status == 200 or set(answer.json["error"]) == {"de", "en"}
        assert pages.logged("internal_error") == []


async def test_a_body_that_comes_too_slowly_is_refused(autojump_clock: MockClock) -> None:
    async with open_pages() as pages:
        start = trio.current_time()
        parts = [b" "] * 50
        answer = await call(pages.site.app, "POST", "/api/admin/login", JSON, *parts, pause=1)
        assert (answer.status, trio.current_time() - start) == (408, BODY_TIMEOUT)


async def test_addresses_that_do_not_exist_are_refused() -> None:
    async with open_pages() as pages:
        for method, path, status in (
            ("GET", "/api/there", 404),
            ("DELETE", "/api/rooms", 405),
            ("GET", "/api/rooms/" + "x" * 500, 404),
            ("GET", "/static/../page.py", 404),
            ("GET", "/static//etc/passwd", 404),
        ):
            answer = await call(pages.site.app, method, path)
            assert answer.status == status
            assert {len(text) < 200 for text in answer.json["error"].values()} == {True}
            assert ("allow" in answer.headers) == (status == 405)


async def test_an_idle_stream_is_kept_open_by_comments_and_forgotten_when_it_ends(autojump_clock: MockClock) -> None:
    async with open_pages() as pages:
        stream = await pages.open("/api/events")
        assert await stream.next() == ("rooms", [])
        start = trio.current_time()
        assert await stream.next() == ("comment", None)
        assert trio.current_time() - start == COMMENT_INTERVAL
        assert pages.site.hub.stream_count == 1
        stream.leave()
        await wait_all_tasks_blocked()
        for path in ("/api/events", "/api/rooms/nothing/events"):
            answer = await call(pages.site.app, "HEAD", path)
            assert (answer.status, answer.body) == (200, b"")
            assert answer.headers["content-type"] == "text/event-stream; charset=utf-8"
        assert pages.site.hub.stream_count == 0


async def test_listening_sockets_that_fail_are_reported_and_end_the_pages_only() -> None:
    broken = socket.socket()  # neither bound nor listening
    broken.close()
    async with open_pages(broken) as pages:
        assert len(pages.logged("internal_error")) == 1
        assert (await pages.get("/api/info")).status == 200


async def test_games_builtin_players_and_the_address_of_the_programs() -> None:
    async with open_pages(host="0.0.0.0") as pages:
        info = (await pages.get("/api/info")).json
        editions = pages.server.editions
    assert (info["host"], info["port"], info["hasAdmin"]) == ("127.0.0.1", GAME_PORT, False)
    assert info["version"] == version("spielleiter")
    games = {game["gameType"]: game for game in info["gameTypes"]}
    assert list(games) == list(editions)
    for game_type, edition in editions.items():
        start = edition.game.new_state(random.Random(1))
        strategies = games[game_type]["strategies"]
        assert games[game_type]["game"] == view_of(start).name
        assert {"random", "greedy", "first"} <= set(strategies)
        assert "illegal" not in strategies  # those that misbehave are no opponents for a person
        assert len(set(strategies)) == len(strategies)
        levels = [level_name(number) for number in range(1, 1 + len(ladder_of(start)))]
        assert [name for name in strategies if name.startswith("level-")] == levels
    assert games["swc_2018_hase_und_igel"]["title"] == "Hase und Igel 2018"


async def test_the_figures_are_those_of_the_server_at_most_a_second_old(autojump_clock: MockClock) -> None:
    async with open_pages() as pages:
        before = (await pages.get("/metrics")).body
        pages.open_room("A", "B")
        assert (await pages.get("/metrics")).body == before
        await trio.sleep(METRICS_AGE)
        answer = await pages.get("/metrics")
        assert (answer.status, answer.headers["content-type"]) == (200, METRICS_TYPE)
        assert answer.body.startswith(b"# HELP ")
        assert answer.body != before


async def test_a_script_that_has_not_changed_is_not_sent_again() -> None:
    async with open_pages() as pages:
        first = await pages.get("/page.js")
        again = await call(pages.site.app, "GET", "/page.js", {"if-none-match": first.headers["etag"]})
    assert (first.status, again.status, again.body) == (200, 304, b"")
    assert again.headers["etag"] == first.headers["etag"]


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/", b"text/html"),
        ("/page.js", b"text/javascript"),
        ("/page.css", b"text/css"),
        ("/static/icon.svg", b"image/svg+xml"),
    ],
)
async def test_files_are_complete_and_the_connection_is_closed(path: str, kind: bytes) -> None:
    async with open_pages() as pages, running(pages.site.app) as server, await server.connect() as stream:
        await stream.send_all(f"GET {path} HTTP/1.1\r\nHost: {HOST}\r\nConnection: close\r\n\r\n".encode())
        head, _, body = (await read_all(stream)).partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200 ")
        for header in (b"content-type: " + kind, b"content-length: %d" % len(body), b"cache-control: no-cache"):
            assert header in head
        assert server.bugs == []


async def test_a_browser_at_a_wrong_address_gets_a_page_and_a_script_gets_json() -> None:
    browser = {"accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
    async with open_pages() as pages:
        for path, hidden in (("/there/is/none", ""), ("/api/rooms/<script>alert(1)<%2fscript>", "<script>")):
            for languages, text in (("de-DE,de;q=0.9,en;q=0.8", "Zu den Spielen"), ("fr", "To the games")):
                answer = await pages.get(path, {**browser, "accept-language": languages})
                page = answer.body.decode()
                assert (answer.status, answer.headers["content-type"]) == (404, "text/html; charset=utf-8")
                assert text in page
                assert not hidden or hidden not in page
            assert set((await pages.get(path)).json) == {"error"}
        foreign = await pages.get("/", {**browser, "host": "evil.example"})
        assert (foreign.status, "<h1>This is not a name of this machine" in foreign.body.decode()) == (421, True)
        commands = (await pages.get("/api/info")).json["gameTypes"][0]["commands"]
        assert commands[-1]["text"] == f"spielleiter play --strategy greedy --game {GAME_TYPE}"
