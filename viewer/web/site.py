"""The pages of one server: puts the parts of the web application together.

Invariants: this module only connects; what an address answers is decided in the module of its part.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterable, Sequence

import trio
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from spielleiter.server import events
from spielleiter.server.app import Server
from spielleiter.server.monitor.metrics import Metrics
from spielleiter.server.net.password_guard import PasswordGuard
from spielleiter.server.runtime.garbage import PauseMeter
from spielleiter.viewer.web.answers import error_response
from spielleiter.viewer.web.errors import STATUS_TEXTS, WebError
from spielleiter.viewer.web.guard import Application, Guard
from spielleiter.viewer.web.health import health_routes
from spielleiter.viewer.web.http_server import HttpServer
from spielleiter.viewer.web.hub import Hub
from spielleiter.viewer.web.live_games import LiveGames
from spielleiter.viewer.web.room_routes import room_routes
from spielleiter.viewer.web.static_files import page_routes

MOST_CONNECTIONS = 256
"""The maximum number of open connections of browsers."""
MOST_HEALTH_CONNECTIONS = 32
"""The maximum number of open connections at the address of `--metrics`."""


class Site:
    """The web application of `server`.

    `pauses` are those of the garbage collector, `is_stopping` says whether the server has begun to stop, and `port` is
    the port of the pages, 0 if there are none.
    """

    def __init__(self, server: Server, pauses: PauseMeter, is_stopping: Callable[[], bool], port: int) -> None:
        self._server = server
        config = server.config
        self.metrics = Metrics(server.stream, server.board.snapshot, pauses)
        self.hub = Hub(
            LiveGames(server.lobby.rooms, server.stream),
            lambda: server.stream.counters[events.MovePlayed.__name__],
        )
        health = health_routes(self.metrics, is_stopping)
        self.health_app: Application = application(health)
        guard = PasswordGuard(config.password_attempts, config.password_window, config.password_delay)
        routes: list[BaseRoute] = [*health, *page_routes(), *room_routes(self.hub)]
        self.app: Application = Guard(application(routes), config.viewer_password, guard)

    async def serve_health(self, sockets: Iterable[socket.socket]) -> None:
        """Serve health and metrics alone; runs until cancelled. A failure of the sockets is reported."""
        await self._serve(HttpServer(self.health_app, self._report_bug, MOST_HEALTH_CONNECTIONS), sockets)

    async def serve_pages(self, sockets: Iterable[socket.socket]) -> None:
        """Serve the pages; runs until cancelled. A failure of the sockets is reported."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self.hub.run)
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
