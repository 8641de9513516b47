"""The pages of one server: puts the parts of the web application together, and serves them."""

from __future__ import annotations

import hashlib
import random
import socket
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import trio
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from spielleiter.players.strategies import STRATEGIES
from spielleiter.server import events
from spielleiter.server.app import Server
from spielleiter.server.core.policy import Edition
from spielleiter.server.garbage import PauseMeter
from spielleiter.server.metrics import CONTENT_TYPE, Metrics
from spielleiter.server.net.password_guard import PasswordGuard
from spielleiter.viewer.page import STATIC, bundle_modules
from spielleiter.viewer.positions.describe import view_of
from spielleiter.viewer.web.administration import AdminSessions, admin_routes
from spielleiter.viewer.web.analysis_routes import analysis_routes
from spielleiter.viewer.web.answers import Application, WebError, error_response, json_response
from spielleiter.viewer.web.guard import Guard
from spielleiter.viewer.web.http_server import HttpServer
from spielleiter.viewer.web.live_games import Hub, LiveGames, room_routes
from spielleiter.viewer.web.replay_store import ReplayStore, replay_routes
from spielleiter.viewer.web.seats import Loopback, Seats, seat_routes

MOST_CONNECTIONS = 512
"""The maximum number of open connections of browsers."""
MOST_HEALTH_CONNECTIONS = 32
"""The maximum number of open connections at the address of `--metrics`."""

_FRESH: Final = "no-cache"  # a browser asks each time whether a file has changed: an update of the server is one of it
_STATUS_TEXTS: Final = {
    404: ("Diese Adresse gibt es hier nicht.", "There is no such address here."),
    405: ("Diese Anfrage ist hier nicht erlaubt.", "This request is not allowed here."),
    500: ("Der Server hat einen Fehler; das Protokoll nennt ihn.", "The server has a bug; its log names it."),
}
"""The sentences for errors that the toolkit finds itself, by status."""


class Site:
    """The web application of `server`.

    - `address`: where programs reach the game port.
    - `page_port`: the port of the pages, 0 if there are no pages.
    - `pauses`: those of the garbage collector.
    - `is_stopping`: says whether the server has begun to stop.
    - `single`: a replay that the pages show, besides those of the configured folders.
    """

    def __init__(
        self,
        server: Server,
        address: tuple[str, int],
        page_port: int,
        pauses: PauseMeter,
        is_stopping: Callable[[], bool],
        single: Path | None = None,
    ) -> None:
        self._server = server
        config = server.config
        self.metrics = Metrics(server.stream, server.board.snapshot, pauses)
        self.hub = Hub(
            LiveGames(server.lobby.rooms, server.stream),
            lambda: server.stream.counters[events.MovePlayed.__name__],
        )
        health = _health_routes(self.metrics, is_stopping)
        self.health_app = application(health)
        sessions = AdminSessions(server, self._new_guard(), page_port)
        self.loopback = Loopback(server)
        store = ReplayStore(config.replay_directory if single is None else single.parent, config.viewer_matches, single)
        seats = Seats(server, self.loopback, address)
        routes: list[BaseRoute] = [
            *health,
            *_page_routes(server.editions, address, has_admins=server.lobby.password is not None),
            *room_routes(self.hub),
            *replay_routes(store),
            *analysis_routes(store, self.hub),
            *seat_routes(seats, self.hub, store.state),
            *admin_routes(server, sessions, address),
        ]
        self.app: Application = Guard(application(routes), config.viewer_password, self._new_guard())

    def _new_guard(self) -> PasswordGuard:
        config = self._server.config
        return PasswordGuard(config.password_attempts, config.password_window, config.password_delay)

    async def serve_health(self, sockets: Iterable[socket.socket]) -> None:
        """Serve health and metrics alone; runs until cancelled. A failure of the sockets is reported."""
        await self._serve(self.health_app, MOST_HEALTH_CONNECTIONS, sockets)

    async def serve_pages(self, sockets: Iterable[socket.socket]) -> None:
        """Serve the pages; runs until cancelled. A failure of the sockets is reported."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self.hub.run)
            nursery.start_soon(self.loopback.run)
            await self._serve(self.app, MOST_CONNECTIONS, sockets)
            nursery.cancel_scope.cancel()

    async def _serve(self, app: Application, most_connections: int, sockets: Iterable[socket.socket]) -> None:
        def report_bug(error: BaseException) -> None:
            self._server.stream.publish(events.InternalError.of(error))

        try:
            await HttpServer(app, report_bug, most_connections).serve(sockets)
        except* OSError as errors:
            report_bug(errors)


def application(routes: Sequence[BaseRoute]) -> Application:
    """Return an application that answers errors in the form that the page expects."""

    async def refuse(_request: Request, error: Exception) -> Response:
        assert isinstance(error, WebError)
        return error_response(error)

    async def refuse_address(_request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        texts = _STATUS_TEXTS.get(error.status_code, (str(error.detail), str(error.detail)))
        response = error_response(WebError(error.status_code, *texts))
        response.headers.update(error.headers or {})
        return response

    async def admit_bug(_request: Request, _error: Exception) -> Response:
        return error_response(WebError(500, *_STATUS_TEXTS[500]))

    handlers = {WebError: refuse, HTTPException: refuse_address, Exception: admit_bug}
    return Starlette(routes=routes, exception_handlers=handlers)


def _health_routes(metrics: Metrics, is_stopping: Callable[[], bool]) -> list[Route]:
    async def healthz(_request: Request) -> Response:
        # whether new games can be played
        return PlainTextResponse("stopping\n", 503) if is_stopping() else PlainTextResponse("ok\n")

    async def show_metrics(_request: Request) -> Response:
        return Response(metrics.text(), headers={"content-type": CONTENT_TYPE})

    return [Route("/healthz", healthz), Route("/metrics", show_metrics)]


class _FreshFiles(StaticFiles):
    async def get_response(self, path: str, scope: Any) -> Response:
        response = await super().get_response(path, scope)
        response.headers["cache-control"] = _FRESH
        return response


def _page_routes(editions: Mapping[str, Edition], address: tuple[str, int], *, has_admins: bool) -> list[BaseRoute]:
    """Return the routes of the page and of what it needs to know: the version, the games, how to reach the server."""
    games = [
        {
            "gameType": edition.game_type,
            "game": view_of(edition.game.new_state(random.Random(0))).name,
            # as people write it: `Hase und Igel 2018` for `hase-und-igel-2018`
            "title": " ".join(word if word == "und" else word.capitalize() for word in edition.name.split("-")),
            "strategies": [
                kind.name
                for kind in STRATEGIES.values()
                if kind.choose is not None and not kind.is_bad and not kind.is_alias and kind.plays(edition.game)
            ],
        }
        for edition in editions.values()
    ]
    info = {
        "version": version("spielleiter"),
        "gameTypes": games,
        "hasAdmin": has_admins,
        "host": address[0],
        "port": address[1],
    }

    async def page(_request: Request) -> Response:
        return FileResponse(STATIC / "index.html", headers={"cache-control": _FRESH})

    async def show(_request: Request) -> Response:
        return json_response(info)

    @cache  # made for the first page, since most servers show none
    def script_and_headers() -> tuple[bytes, dict[str, str]]:
        script = bundle_modules().encode()
        return script, {"cache-control": _FRESH, "etag": f'"{hashlib.sha256(script).hexdigest()}"'}

    async def show_script(request: Request) -> Response:
        script, headers = script_and_headers()
        if request.headers.get("if-none-match") == headers["etag"]:
            return Response(status_code=304, headers=headers)
        return Response(script, media_type="text/javascript", headers=headers)

    static = _FreshFiles(directory=STATIC, check_dir=False)
    return [
        Route("/", page),
        Route("/page.js", show_script),
        Mount("/static", static),
        Route("/api/info", show),
    ]
