"""The parts of the web application together: every error has the form that the page expects, and bugs are reported."""

from __future__ import annotations

import random
import socket
from importlib.metadata import version
from typing import Any

import pytest
import trio
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from spielleiter.client.choosers import ladder_of, level_name
from spielleiter.server.garbage import PauseMeter
from spielleiter.server.metrics import CONTENT_TYPE
from spielleiter.viewer.positions.describe import view_of
from spielleiter.viewer.web.answers import WebError
from spielleiter.viewer.web.site import Site, application
from tests.server.serving import read_all
from tests.viewer.web.pages import GAME_PORT, HOST, call, open_pages
from tests.viewer.web.test_http_server import running


def raising(error: Exception) -> Any:
    async def endpoint(_request: Request) -> Response:
        raise error

    return application([Route("/api/here", endpoint)])


async def test_a_refusal_has_its_sentence_in_both_languages() -> None:
    answer = await call(raising(WebError(409, "Nein.", "No.")), "GET", "/api/here")
    assert (answer.status, answer.json) == (409, {"error": {"de": "Nein.", "en": "No."}})


@pytest.mark.parametrize(("method", "path", "status"), [("GET", "/api/there", 404), ("DELETE", "/api/here", 405)])
async def test_an_address_that_does_not_exist_has_one_too(method: str, path: str, status: int) -> None:
    answer = await call(raising(ValueError()), method, path)
    assert answer.status == status
    assert set(answer.json["error"]) == {"de", "en"}
    assert ("allow" in answer.headers) == (status == 405)


async def test_a_bug_is_admitted_without_its_text_and_passed_on() -> None:
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        return {"type": "http.request", "body": b"", "more_body": False}

    scope = {"type": "http", "method": "GET", "path": "/api/here", "query_string": b"", "headers": [], "root_path": ""}
    with pytest.raises(ValueError, match="secret"):
        await raising(ValueError("secret"))(scope, receive, send)
    assert sent[0]["status"] == 500
    assert b"secret" not in sent[1]["body"]
    assert b'"de"' in sent[1]["body"]


@pytest.mark.parametrize("path", ["/", "/api/info", "/api/rooms", "/api/replays", "/healthz", "/metrics", "/api/admin"])
async def test_every_part_is_connected(path: str) -> None:
    async with open_pages() as pages:
        assert (await pages.get(path)).status == 200


async def test_listening_sockets_that_fail_are_reported_and_end_the_pages_only() -> None:
    async with open_pages() as pages:
        broken = socket.socket()  # neither bound nor listening
        broken.close()
        with trio.fail_after(60):
            await pages.site.serve_health([broken])
        assert len(pages.logged("internal_error")) == 1
        assert (await pages.get("/api/info")).status == 200


# -- /api/info, /healthz, /metrics and the files of the page --------------------------------------------------------


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
    async with open_pages() as pages:
        assert (await pages.get("/api/info")).json["hasAdmin"]


async def test_health_says_whether_new_games_can_be_played() -> None:
    async with open_pages() as pages:
        is_stopping = False
        site = Site(pages.server, ("127.0.0.1", GAME_PORT), 0, PauseMeter(), lambda: is_stopping)
        for app in (site.app, site.health_app):
            is_stopping = False
            answer = await call(app, "GET", "/healthz")
            assert (answer.status, answer.body) == (200, b"ok\n")
            is_stopping = True
            answer = await call(app, "GET", "/healthz")
            assert (answer.status, answer.body) == (503, b"stopping\n")


async def test_the_figures_are_those_of_the_server() -> None:
    async with open_pages() as pages:
        before = (await pages.get("/metrics")).body.decode()
        pages.open_room("A", "B")
        answer = await pages.get("/metrics")
        assert answer.status == 200
        assert answer.headers["content-type"] == CONTENT_TYPE
        text = answer.body.decode()
        assert text.startswith("# HELP ")
        assert text != before
        assert (await pages.post("/metrics")).status == 405


@pytest.mark.parametrize(
    ("path", "kind"),
    [("/", b"text/html"), ("/static/main.js", b"text/javascript"), ("/static/style.css", b"text/css")],
)
async def test_files_are_complete_and_the_connection_is_closed(path: str, kind: bytes) -> None:
    async with open_pages() as pages, running(pages.site.app) as server, await server.connect() as stream:
        await stream.send_all(f"GET {path} HTTP/1.1\r\nHost: {HOST}\r\nConnection: close\r\n\r\n".encode())
        head, _, body = (await read_all(stream)).partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200 ")
        assert b"content-type: " + kind in head
        assert b"content-length: %d" % len(body) in head
        assert b"cache-control: no-cache" in head
        assert server.bugs == []


@pytest.mark.parametrize("path", ["/static/../page.py", "/static//etc/passwd", "/static/none.js"])
async def test_nothing_outside_the_folder_is_served(path: str) -> None:
    async with open_pages() as pages:
        answer = await pages.get(path)
        assert answer.status == 404
        assert set(answer.json["error"]) == {"de", "en"}
