"""The web application of a league: puts its pages together with those of the viewer, and serves them.

Invariants: no page shows anything without a session, except those for logging in. The pages never play a game, so that
no visitor slows one. What a visitor may see of a game or a team is decided where the page is made; of replays, before
the viewer is asked.
"""

from __future__ import annotations

import ipaddress
import re
import socket
import time
from collections.abc import Callable, Iterable
from typing import Any, Final
from urllib.parse import urlsplit

import trio
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from spielleiter.league.accounts import Accounts
from spielleiter.league.database import Database
from spielleiter.league.errors import LeagueDiskError, RefusedError
from spielleiter.league.games import get_game, get_recording
from spielleiter.league.settings import load_settings
from spielleiter.league.web.keeping import Keeping
from spielleiter.league.web.parts import Arena, Director, Gate
from spielleiter.league.web.public import EVERYBODY, public_routes
from spielleiter.league.web.teacher import teacher_routes
from spielleiter.league.web.team import team_routes
from spielleiter.league.web.visits import LoginNeededError, Visits, local_path, read_form, see_other
from spielleiter.server import events
from spielleiter.server.net.password_guard import PasswordGuard
from spielleiter.viewer.web.answers import Application, Receive, Scope, Send, WebError, json_response, number_in
from spielleiter.viewer.web.bodies import BodyBudget
from spielleiter.viewer.web.guard import CONTENT_SECURITY_POLICY, Guard, client_address
from spielleiter.viewer.web.http_server import HttpServer
from spielleiter.viewer.web.page_settings import PageSettings
from spielleiter.viewer.web.site import Home, Site

VIEWER: Final = "/viewer"
"""The path below which the pages of the viewer are."""
MOST_CONNECTIONS: Final = 768
MOST_BODY_BYTES: Final = 256 * 1024 * 1024
"""The maximum size of all uploads that arrive at once."""
_STATIC: Final = "static"
_FILES: Final = frozenset({f"{VIEWER}/page.css", f"{VIEWER}/static/icon.svg"})
_REPLAYS: Final = f"{VIEWER}/api/replays/"
_ENTRANCE: Final = re.compile(r"/|/login|/watch/.*|/games.*|/teams/\d+|/final|/beamer|/setup|/upload|/teacher|/viewer/")
"""Where links on pages of others may lead: into pages, never to what an address alone could do."""
_STATUS: Final = {
    "no-such-team": 404, "no-such-version": 404, "no-such-game": 404, "no-such-pair": 404, "no-such-helper": 404,
    "too-large": 413, "too-many-uploads": 429, "too-many-challenges": 429,
}  # fmt: skip
"""The status of a refusal by its code; of the others it is 409."""
_STATUS_TEXTS: Final = {
    404: ("Diese Seite gibt es nicht.", "There is no such page."),
    405: ("Diese Anfrage ist hier nicht erlaubt.", "This request is not allowed here."),
    500: (
        "Die Liga hat einen Fehler; er steht in dem Fenster, in dem spielleiter läuft.",
        "The league has a bug; the window in which spielleiter runs names it.",
    ),
}
_DISK: Final = (
    "Auf diesem Rechner ist kein Platz mehr, oder die Festplatte streikt; sag es deiner Lehrerin oder deinem Lehrer.",
    "This machine has no space left, or its disk fails; tell your teacher.",
)
_TEACHERS_DISK: Final = (
    "Die Festplatte mit dem Ordner der Liga ist voll oder streikt. Machen Sie Platz, und versuchen Sie es noch einmal.",
    "The disk with the folder of the league is full, or it fails. Make space, and try once more.",
)
_WRONG_CODE: Final = (
    "Dieser Code stimmt nicht. Achte auf Tippfehler; ein neuer Code macht den alten ungültig.",
    "This code is not right. Look for typing errors; a new code makes the old one invalid.",
)
_WRONG_PASSWORD: Final = ("Dieses Passwort stimmt nicht.", "This password is not right.")
_WRONG_LINK: Final = WebError(403, "Dieser Link gilt nicht mehr.", "This link is no longer valid.")
_SECRET_REPLAY: Final = WebError(
    403,
    "Die Spiele anderer Teams darfst du in dieser Liga nicht ansehen.",
    "In this league you may not watch the games of other teams.",
)


class LeagueSite:
    """The pages of the league in `database`.

    - `director`, `arena`, `gate`: the other parts; `gate` is None if no helpers' PCs are used.
    - `port`: the port of the pages.
    - `fingerprint`: that of the certificate of the gate.
    - `public_url`: the address under which browsers reach the pages through a web server in front of them, such as
      ``https://liga.schule.example``; None: directly.
    - `now`: the time in seconds since 1970.
    - `report_bug`: called with unexpected exceptions.
    """

    def __init__(
        self,
        database: Database,
        director: Director,
        arena: Arena,
        gate: Gate | None = None,
        *,
        port: int,
        fingerprint: bytes = b"",
        public_url: str | None = None,
        now: Callable[[], float] = time.time,
        report_bug: Callable[[BaseException], None],
    ) -> None:
        self._database = database
        self._report_bug = report_bug
        self._name = ""
        """The name of the league, as the last request for the viewer's pages has read it."""
        url = urlsplit(public_url or "")
        visits = Visits(database, Accounts(database), director, port, public_url, now=now)
        self._visits = visits
        self.keeping = Keeping(visits, report_bug)
        pages = PageSettings(host="127.0.0.1", port=0, secret=arena.viewer_secret, is_match=True, spares_processor=True)
        self._viewer = Site(
            pages, self._note, arena.connect_viewer, self._find_replay, Home("../", lambda: self._name, "../language/")
        )
        self.routes: list[BaseRoute] = [
            *_session_routes(visits),
            *public_routes(visits),
            *team_routes(visits),
            *teacher_routes(visits, gate, fingerprint),
            *self.keeping.routes(),
            Mount("/static", _files()),
            Mount(VIEWER, self._watched),
        ]
        app = Starlette(routes=self.routes, exception_handlers=self._handlers())
        app.state.bodies = BodyBudget(MOST_BODY_BYTES)
        names = [url.hostname] if url.hostname else []
        self.app: Application = Guard(
            app, None, PasswordGuard(10, 60.0, 30.0), names, lambda path: _ENTRANCE.fullmatch(path) is not None
        )

    async def serve(self, sockets: Iterable[socket.socket]) -> None:
        """Serve the pages on the listening `sockets`; runs until cancelled."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._viewer.serve, ())
            nursery.start_soon(self.keeping.run)
            await HttpServer(self.app, self._report_bug, MOST_CONNECTIONS).serve(sockets)

    def _note(self, event: events.ServerEvent) -> None:
        if isinstance(event, events.InternalError):
            self._report_bug(RuntimeError(str(event)))

    # -- the viewer's pages

    async def _watched(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request for the viewer's pages, if this visitor may see what it is about."""
        path: str = scope["path"]
        if path in _FILES:  # which the page for logging in has as well
            await self._viewer.open_app(scope, receive, send)
            return
        visit = await self._visits.open(Request(scope, receive), *EVERYBODY)
        self._name = visit.settings.name
        if path.startswith(_REPLAYS):
            game = await self._database.read(get_game, _game_id(path.removeprefix(_REPLAYS).partition("/")[0]))
            if not visit.may_watch(game.team1, game.team2):
                raise _SECRET_REPLAY

        async def send_framed(message: Any) -> None:
            if message["type"] == "http.response.start":
                policy = CONTENT_SECURITY_POLICY.replace("frame-ancestors 'none'", "frame-ancestors 'self'")
                given = [header for header in message["headers"] if header[0].lower() != b"content-security-policy"]
                own = dict(message["headers"]).get(b"content-security-policy", policy.encode())
                message["headers"] = [
                    *given, (b"content-security-policy", own), (b"x-frame-options", b"SAMEORIGIN")
                ]  # fmt: skip
            await send(message)

        await self._viewer.open_app(scope, receive, send_framed)

    async def _find_replay(self, name: str) -> bytes | None:
        recording = await self._database.read(get_recording, _game_id(name))
        return None if recording is None else recording.replay

    # -- errors

    def _handlers(self) -> dict[Any, Callable[[Request, Any], Any]]:
        visits = self._visits

        async def refuse(request: Request, error: WebError) -> Response:
            if "text/html" not in request.headers.get("accept", ""):
                return json_response(error.as_json(), error.status)
            return (await visits.open(request)).error_page(error)

        async def refuse_address(request: Request, error: HTTPException) -> Response:
            texts = _STATUS_TEXTS.get(error.status_code, (str(error.detail), str(error.detail)))
            response = await refuse(request, WebError(error.status_code, *texts))
            response.headers.update(error.headers or {})
            return response

        async def explain(request: Request, error: RefusedError) -> Response:
            return await refuse(request, WebError(_STATUS.get(error.code, 409), error.de, error.en))

        async def ask_to_log_in(request: Request, _error: LoginNeededError) -> Response:
            if "text/html" not in request.headers.get("accept", ""):
                return await refuse(request, WebError(401, "Melde dich zuerst an.", "Log in first."))
            settings = await self._database.read(load_settings)
            return RedirectResponse("/login" if settings.teacher_password_hash else "/setup", 303)

        async def disk(request: Request, _error: LeagueDiskError) -> Response:
            # no bug, and it may be true of every request for hours; the director names it on the teacher's page
            texts = _TEACHERS_DISK if (await visits.open(request)).is_teacher else _DISK
            return await refuse(request, WebError(507, *texts))

        async def admit_bug(request: Request, _error: Exception) -> Response:
            error = WebError(500, *_STATUS_TEXTS[500])
            try:
                return await refuse(request, error)
            except Exception:  # such as of a database that cannot be read, which the page needs as well
                return JSONResponse(error.as_json(), 500)

        return {
            WebError: refuse,
            HTTPException: refuse_address,
            RefusedError: explain,
            LoginNeededError: ask_to_log_in,
            LeagueDiskError: disk,
            Exception: admit_bug,
        }


def _game_id(name: str) -> int:
    """Return the game that a replay of the viewer is of; -1, which is none, for another name."""
    number = number_in(name)
    return -1 if number is None else number


def _files() -> StaticFiles:
    from pathlib import Path

    return StaticFiles(directory=Path(__file__).with_name(_STATIC))


def _session_routes(visits: Visits) -> list[BaseRoute]:
    """Return the routes for logging in and out, and for the language."""

    async def login_page(request: Request) -> Response:
        """The forms for a code and for the teacher's password."""
        visit = await visits.open(request)
        if not visit.settings.teacher_password_hash:
            return see_other("/setup")
        return visit.page("login", error="", is_remote=_is_remote(request))

    async def log_in(request: Request) -> Response:
        """Log in with a code or with the teacher's password."""
        form, address = await read_form(request, None), client_address(request)
        if "password" in form:
            new = await visits.accounts.log_in_teacher(address, form["password"], visits.now())
            path, texts = "/teacher", _WRONG_PASSWORD
        else:
            new = await visits.accounts.log_in_team(address, form.get("code", ""), visits.now())
            path, texts = "/", _WRONG_CODE
        if new is None:
            visit = await visits.open(request)
            return visit.page("login", 403, error=visit.words.say(*texts), is_remote=_is_remote(request))
        if new.session.team_id is not None:
            path = f"/teams/{new.session.team_id}"
        return visits.begin(new, see_other(path))

    async def log_out(request: Request) -> Response:
        """End the session."""
        visit = await visits.open(request)
        await read_form(request, visit.session)
        return await visits.end(request, see_other("/login"))

    async def watch(request: Request) -> Response:
        """Begin the session of a spectator, unless there is a session already."""
        visit = await visits.open(request)
        if visit.session is not None:
            return see_other("/")
        token = request.path_params["token"][:100]
        new = await visits.accounts.log_in_spectator(client_address(request), token, visits.now())
        if new is None:
            raise _WRONG_LINK
        return visits.begin(new, see_other("/"))

    async def speak(request: Request) -> Response:
        """Choose the language, and go back to the page `?back=`."""
        back = local_path(request.query_params.get("back", "/"))
        return visits.speak(request.path_params["language"], see_other(back))

    return [
        Route("/login", login_page),
        Route("/login", log_in, methods=["POST"]),
        Route("/logout", log_out, methods=["POST"]),
        Route("/watch/{token}", watch),
        Route("/language/{language}", speak),
    ]


def _is_remote(request: Request) -> bool:
    try:
        return not ipaddress.ip_address(client_address(request)).is_loopback
    except ValueError:
        return False
