"""The pages of one server: puts the parts of the web application together, and serves them.

They know the server by its address and by a secret only, so they run in a process of their own beside it, or anywhere.
"""

from __future__ import annotations

import hashlib
import socket
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
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
from spielleiter.server.core.policy import Edition
from spielleiter.server.editions import EDITIONS, choose_default, choose_editions
from spielleiter.server.errors import StartError
from spielleiter.server.metrics import with_more_refusals
from spielleiter.server.net.password_guard import PasswordGuard
from spielleiter.viewer.game_json import edition_title
from spielleiter.viewer.page import STATIC, bundle_modules, bundle_styles
from spielleiter.viewer.positions.describe import view_of
from spielleiter.viewer.web.administration import AdminSessions, admin_routes
from spielleiter.viewer.web.analysis_routes import analysis_routes
from spielleiter.viewer.web.answers import Application, WebError, error_response, json_response
from spielleiter.viewer.web.boards import board_routes
from spielleiter.viewer.web.bodies import BodyBudget
from spielleiter.viewer.web.downloads import download_routes
from spielleiter.viewer.web.followed_games import FollowedGames
from spielleiter.viewer.web.game_server import Connect, GameServer
from spielleiter.viewer.web.guard import Guard
from spielleiter.viewer.web.http_server import HttpServer
from spielleiter.viewer.web.live_games import Hub, room_routes
from spielleiter.viewer.web.page_settings import PageSettings
from spielleiter.viewer.web.replay_store import FindReplay, ReplayStore, dropped_file_routes, replay_routes
from spielleiter.viewer.web.seats import Seats, joining_commands, seat_routes

MOST_CONNECTIONS = 512
"""The maximum number of open connections of browsers."""
MOST_HEALTH_CONNECTIONS = 32
"""The maximum number of open connections at the address of `--metrics`."""
METRICS_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
"""The content type of the format of Prometheus."""

_FRESH: Final = "no-cache"  # a browser asks each time whether a file has changed: an update of the server is one of it
_STATUS_TEXTS: Final = {
    404: ("Diese Adresse gibt es hier nicht.", "There is no such address here."),
    405: ("Diese Anfrage ist hier nicht erlaubt.", "This request is not allowed here."),
    500: ("Der Server hat einen Fehler; das Protokoll nennt ihn.", "The server has a bug; its log names it."),
}
"""The sentences for errors that the toolkit finds itself, by status."""


@dataclass(frozen=True, slots=True)
class Home:
    """The site that these pages are part of: its address, seen from them, and what returns its title.

    `language`: the address that chooses the language of that site when a tag such as ``de`` is appended.
    """

    href: str
    title: Callable[[], str]
    language: str


class Site:
    """The web application that shows the server of `settings`.

    - `publish`: called with what the log has to say.
    - `connect`: opens the connections to the server, by default over TCP.
    - `find_replay`: finds a replay that is in no folder, as `ReplayStore` says.
    - `home`: what the pages belong to, if they are part of another site.
    """

    def __init__(
        self,
        settings: PageSettings,
        publish: Callable[[events.ServerEvent], None],
        connect: Connect | None = None,
        find_replay: FindReplay | None = None,
        home: Home | None = None,
    ) -> None:
        self._settings = settings
        self._publish_to_log = publish
        self._refusals: Counter[tuple[str, str]] = Counter()
        """The refusals of the pages by the class of the event and the reason, which the server does not know of."""
        self.games = FollowedGames(_editions_of(settings))
        edition = choose_default(None, self.games.editions) if settings.edition is None else EDITIONS[settings.edition]
        address = settings.host, settings.port
        self.server = GameServer(
            address, settings.secret, self.games, edition, self._report_bug, connect, is_own=settings.is_own
        )
        self.hub = Hub(self.games)
        self.bodies = BodyBudget()
        health = _health_routes(self.server, self._refusals)
        self.health_app = application(health)
        sessions = AdminSessions(settings.admin_password, self._new_guard(), settings.page_port, self._publish)
        store = ReplayStore(*settings.folders, find_replay=find_replay)
        routes: list[BaseRoute] = [
            *health,
            *_page_routes(self.server, settings, home),
            *room_routes(self.hub, self.server.look_for),
            *board_routes(self.hub, self.server.look_for),
            *replay_routes(store),
            *download_routes(store, self.hub, makes_files=not settings.spares_processor),
            *admin_routes(self.server, sessions),
        ]
        if not settings.spares_processor:
            routes += [*dropped_file_routes(store), *analysis_routes(store, self.hub)]
        if not settings.is_match:
            routes += seat_routes(Seats(self.server), self.hub, store.state)
        self.open_app: Application = application(routes, self.bodies)
        """The pages without a guard, for a site that has one of its own."""
        self.app: Application = Guard(self.open_app, settings.viewer_password, self._new_guard())

    def _new_guard(self) -> PasswordGuard:
        settings = self._settings
        return PasswordGuard(settings.password_attempts, settings.password_window, settings.password_delay)

    def _publish(self, event: events.ServerEvent) -> None:
        if refusal := events.REFUSALS.get(type(event)):
            self._refusals[type(event).__name__, refusal.reason_of(event)] += 1
        self._publish_to_log(event)

    def _report_bug(self, error: BaseException) -> None:
        self._publish(events.InternalError.of(error))

    async def serve(self, pages: Sequence[socket.socket], monitor: Sequence[socket.socket] = ()) -> None:
        """Serve the pages, and health and metrics alone on the sockets of `monitor`; runs until cancelled.

        A failure of the sockets is reported, and ends what is served there only.
        """
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self.server.run)
            nursery.start_soon(self.hub.run)
            if monitor:
                nursery.start_soon(self._serve, self.health_app, MOST_HEALTH_CONNECTIONS, monitor)
            if pages:
                nursery.start_soon(self._serve, self.app, MOST_CONNECTIONS, pages)

    async def _serve(self, app: Application, most_connections: int, sockets: Iterable[socket.socket]) -> None:
        try:
            await HttpServer(app, self._report_bug, most_connections).serve(sockets)
        except* OSError as errors:
            self._report_bug(errors)


def _editions_of(settings: PageSettings) -> Callable[[Mapping[str, str], Mapping[str, str]], Mapping[str, Edition]]:
    """Return the function with which the editions that a server plays are chosen."""

    def choose(offered: Mapping[str, str], game_options: Mapping[str, str]) -> Mapping[str, Edition]:
        known = {
            game_type: name
            for game_type, name in offered.items()
            if name in EDITIONS and EDITIONS[name].game_type == game_type
        }
        if not known and settings.edition is not None:
            edition = EDITIONS[settings.edition]
            known = {edition.game_type: edition.name}
        try:
            return choose_editions(known, game_options)
        except StartError:  # a newer server, whose options are not known here
            return choose_editions(known, {})

    return choose


def application(routes: Sequence[BaseRoute], bodies: BodyBudget | None = None) -> Application:
    """Return an application that answers errors in the form that the page expects; `bodies` is the budget of bodies."""

    async def refuse(request: Request, error: Exception) -> Response:
        assert isinstance(error, WebError)
        return error_response(error, request.headers, request.scope.get("root_path", ""))

    async def refuse_address(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        texts = _STATUS_TEXTS.get(error.status_code, (str(error.detail), str(error.detail)))
        response = error_response(
            WebError(error.status_code, *texts), request.headers, request.scope.get("root_path", "")
        )
        response.headers.update(error.headers or {})
        return response

    async def admit_bug(request: Request, _error: Exception) -> Response:
        return error_response(WebError(500, *_STATUS_TEXTS[500]), request.headers, request.scope.get("root_path", ""))

    handlers = {WebError: refuse, HTTPException: refuse_address, Exception: admit_bug}
    app = Starlette(routes=routes, exception_handlers=handlers)
    app.state.bodies = bodies or BodyBudget()
    return app


def _health_routes(server: GameServer, refusals: Mapping[tuple[str, str], int]) -> list[Route]:
    async def healthz(_request: Request) -> Response:
        """Text: whether new games can be played (200), or the server stops or cannot be reached (503)."""
        # whether new games can be played
        if not server.is_connected:
            return PlainTextResponse("no connection to the game server\n", 503)
        return PlainTextResponse("stopping\n", 503) if server.games.is_stopping else PlainTextResponse("ok\n")

    async def show_metrics(_request: Request) -> Response:
        """The figures of the server, in the format of Prometheus."""
        text = with_more_refusals(await server.metrics(), refusals)
        return Response(text, headers={"content-type": METRICS_TYPE})

    return [Route("/healthz", healthz), Route("/metrics", show_metrics)]


class _FreshFiles(StaticFiles):
    async def get_response(self, path: str, scope: Any) -> Response:
        response = await super().get_response(path, scope)
        response.headers["cache-control"] = _FRESH
        return response


@cache
def _describe_edition(edition: Edition) -> dict[str, Any]:
    return {
        "gameType": edition.game_type,
        "game": view_of(edition.game).name,
        "title": edition_title(edition),
        "strategies": [
            kind.name
            for kind in STRATEGIES.values()
            if kind.choose is not None and not kind.is_bad and not kind.is_alias and kind.plays(edition.game)
        ],
    }


def _page_routes(server: GameServer, settings: PageSettings, home: Home | None) -> list[BaseRoute]:
    """Return the routes of the page and of what it needs to know: the version, the games, how to reach the server."""

    async def page(_request: Request) -> Response:
        return FileResponse(STATIC / "index.html", headers={"cache-control": _FRESH})

    async def show(_request: Request) -> Response:
        """The version, the games, the built-in players, and where programs reach the server."""
        host, port = server.address
        return json_response(
            {
                "version": version("spielleiter"),
                "gameTypes": [
                    {**_describe_edition(edition), "commands": joining_commands(host, port, edition.game_type)}
                    for edition in server.games.editions.values()
                ],
                "hasAdmin": settings.admin_password is not None,
                "canPlay": not settings.is_match,
                "sparesProcessor": settings.spares_processor,
                "home": None if home is None else {"title": home.title(), "href": home.href, "language": home.language},
                "host": host,
                "port": port,
            }
        )

    @cache  # made for the first page, since most servers show none
    def bundled(bundle: Callable[[], str]) -> tuple[bytes, dict[str, str]]:
        content = bundle().encode()
        return content, {"cache-control": _FRESH, "etag": f'"{hashlib.sha256(content).hexdigest()}"'}

    def route_of(path: str, bundle: Callable[[], str], media_type: str) -> Route:
        async def show(request: Request) -> Response:
            content, headers = bundled(bundle)
            if request.headers.get("if-none-match") == headers["etag"]:
                return Response(status_code=304, headers=headers)
            return Response(content, media_type=media_type, headers=headers)

        return Route(path, show)

    static = _FreshFiles(directory=STATIC, check_dir=False)
    return [
        Route("/", page),
        route_of("/page.js", bundle_modules, "text/javascript"),
        route_of("/page.css", bundle_styles, "text/css"),
        Mount("/static", static),
        Route("/api/info", show),
    ]
