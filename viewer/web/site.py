"""The pages of one server: puts the parts of the web application together.

Invariants: this module only connects; what an address answers is decided in the module of its part.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import trio
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from spielleiter.protocol.defaults import DEFAULT_HOST
from spielleiter.server import events
from spielleiter.server.app import Server
from spielleiter.server.garbage import PauseMeter
from spielleiter.server.metrics import Metrics
from spielleiter.server.net.password_guard import PasswordGuard
from spielleiter.viewer.web.admin_routes import admin_routes
from spielleiter.viewer.web.admin_sessions import AdminSessions
from spielleiter.viewer.web.analysis_routes import analysis_routes
from spielleiter.viewer.web.answers import error_response
from spielleiter.viewer.web.errors import STATUS_TEXTS, WebError
from spielleiter.viewer.web.guard import Application, Guard
from spielleiter.viewer.web.health import health_routes
from spielleiter.viewer.web.http_server import HttpServer
from spielleiter.viewer.web.hub import Hub
from spielleiter.viewer.web.info_routes import info_routes
from spielleiter.viewer.web.listening import EVERY_ADDRESS
from spielleiter.viewer.web.live_games import LiveGames
from spielleiter.viewer.web.loopback import Loopback
from spielleiter.viewer.web.replay_routes import replay_routes
from spielleiter.viewer.web.replay_shelf import ReplayShelf
from spielleiter.viewer.web.room_routes import room_routes
from spielleiter.viewer.web.seat_routes import seat_routes
from spielleiter.viewer.web.seats import Seats
from spielleiter.viewer.web.static_files import page_routes

MOST_CONNECTIONS = 512
"""The maximum number of open connections of browsers."""
MOST_HEALTH_CONNECTIONS = 32
"""The maximum number of open connections at the address of `--metrics`."""


class Site:
    """The web application of `server`.

    - `game_port`, `page_port`: the ports of the games and of the pages, the latter 0 if there are no pages.
    - `pauses`: those of the garbage collector.
    - `is_stopping`: says whether the server has begun to stop.
    - `single`: a replay that the pages show, besides those of the configured folders.
    """

    def __init__(
        self,
        server: Server,
        game_port: int,
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
        health = health_routes(self.metrics, is_stopping)
        self.health_app: Application = application(health)
        address = (DEFAULT_HOST if config.host in EVERY_ADDRESS else config.host, game_port)
        has_admins = server.lobby.password is not None
        sessions = AdminSessions(
            server.lobby.is_password, self._new_guard(), server.stream.publish, has_admins=has_admins, port=page_port
        )
        self.loopback = Loopback(server)
        shelf = ReplayShelf(config.replay_directory if single is None else single.parent, config.viewer_matches, single)
        self.seats = Seats(server, self.loopback, address)
        routes: list[BaseRoute] = [
            *health,
            *page_routes(),
            *info_routes(server.editions, address, has_admins=has_admins),
            *room_routes(self.hub),
            *replay_routes(shelf),
            *analysis_routes(shelf, self.hub),
            *seat_routes(self.seats, self.hub, shelf.state),
            *admin_routes(server, sessions, address),
        ]
        self.app: Application = Guard(application(routes), config.viewer_password, self._new_guard())

    def _new_guard(self) -> PasswordGuard:
        config = self._server.config
        return PasswordGuard(config.password_attempts, config.password_window, config.password_delay)

    async def serve_health(self, sockets: Iterable[socket.socket]) -> None:
        """Serve health and metrics alone; runs until cancelled. A failure of the sockets is reported."""
        await self._serve(HttpServer(self.health_app, self._report_bug, MOST_HEALTH_CONNECTIONS), sockets)

    async def serve_pages(self, sockets: Iterable[socket.socket]) -> None:
        """Serve the pages; runs until cancelled. A failure of the sockets is reported."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self.hub.run)
            nursery.start_soon(self.loopback.run)
            nursery.start_soon(self.seats.run)
            await self._serve(HttpServer(self.app, self._report_bug, MOST_CONNECTIONS), sockets)
            nursery.cancel_scope.cancel()

    async def _serve(self, http: HttpServer, sockets: Iterable[socket.socket]) -> None:
        try:
            await http.serve(sockets)
        except* OSError as errors:
            self._report_bug(errors)

    def _report_bug(self, error: BaseException) -> None:
        self._server.stream.publish(events.InternalError.of(error))


def application(routes: Sequence[BaseRoute]) -> Application:
    """Return an application that answers errors in the form that the page expects."""

    async def refuse(_request: Request, error: Exception) -> Response:
        assert isinstance(error, WebError)
        return error_response(error)

    async def refuse_address(_request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        texts = STATUS_TEXTS.get(error.status_code, (str(error.detail), str(error.detail)))
        response = error_response(WebError(error.status_code, *texts))
        response.headers.update(error.headers or {})
        return response

    async def admit_bug(_request: Request, _error: Exception) -> Response:
        return error_response(WebError(500, *STATUS_TEXTS[500]))

    handlers = {WebError: refuse, HTTPException: refuse_address, Exception: admit_bug}
    return Starlette(routes=routes, exception_handlers=handlers)
