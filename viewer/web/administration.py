"""Administrators in the browser: logging in and out, and preparing, pausing, stepping, resuming, cancelling games.

Invariants: the password is compared in constant time, is never kept, and is in no address and no log. A session is a
secret in a cookie that scripts cannot read and that other sites do not get, and a token that the page sends along with
each request, so a request of a foreign page has neither. Sessions are bounded in number and in time. Wrong passwords
are answered late, and counted like those on the game port. Nothing but logging in is done without a session.
"""

from __future__ import annotations

import hmac
import secrets
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated, Final

import msgspec
import trio
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from spielleiter.protocol.messages import Slot
from spielleiter.server import events
from spielleiter.server.errors import Fault
from spielleiter.server.net.password_guard import PasswordGuard
from spielleiter.viewer.web.answers import (
    WebError,
    json_response,
    printable,
    unknown_game_type,
)
from spielleiter.viewer.web.bodies import read_json
from spielleiter.viewer.web.game_server import GameServer
from spielleiter.viewer.web.guard import client_address
from spielleiter.viewer.web.seats import joining_commands

MOST_SESSIONS: Final = 64
"""The maximum number of sessions; one more ends the one that was not used for the longest time."""
SESSION_TIMEOUT: Final = 12 * 3600.0
"""Seconds after its last use until a session ends."""
TOKEN_HEADER: Final = "x-spielleiter-token"  # noqa: S105 - the name of a header

_NOT_LOGGED_IN: Final = WebError(
    401,
    "Dafür musst du dich mit dem Administratorpasswort anmelden.",
    "Log in with the administrators' password first.",
)
_WRONG_PASSWORD: Final = WebError(403, "Das Passwort ist falsch.", "The password is wrong.")
_NO_ADMINS: Final = WebError(
    403,
    "Dieser Server ist von anderen Rechnern erreichbar und hat noch das allgemein bekannte Passwort; "
    "wähle ein anderes (--password).",
    "This server can be reached from other machines and still has the well-known password; choose another --password.",
)


@dataclass(slots=True)
class _Session:
    token: str
    used_at: float


class AdminSessions:
    """The sessions of administrators, who know `password`; None: there are none.

    `port` is that of the pages, which distinguishes the cookies of several servers on one machine, since cookies have
    no port. `publish` is called with what the log has to say.
    """

    def __init__(
        self,
        password: str | None,
        password_guard: PasswordGuard,
        port: int,
        publish: Callable[[events.ServerEvent], None],
    ) -> None:
        self._password = None if password is None else password.encode()
        self._publish = publish
        self._password_guard = password_guard
        self._cookie = f"spielleiter_{port}"
        self._sessions: OrderedDict[str, _Session] = OrderedDict()

    def __len__(self) -> int:
        return len(self._sessions)

    async def log_in(self, request: Request, password: str) -> Response:
        """Return the answer with the token and the cookie of a new session. Raises WebError."""
        address = client_address(request)
        label = f"viewer {address}".rstrip()
        if self._password is None:
            self._publish(events.RequestRefused(label, Fault.WRONG_PASSWORD, _NO_ADMINS.en))
            raise _NO_ADMINS

        def note_wrong(delay: float) -> None:
            self._publish(events.RequestRefused(label, Fault.WRONG_PASSWORD, _WRONG_PASSWORD.en))
            if delay:
                self._publish(events.AnswerDelayed(label, delay))

        is_right = hmac.compare_digest(self._password, password.encode("utf-8", "surrogatepass"))
        await self._password_guard.wait_to_answer(address, note_wrong, is_right=is_right)
        if not is_right:
            raise _WRONG_PASSWORD
        self._publish(events.AdminAuthenticated(label))
        secret, token = secrets.token_urlsafe(32), secrets.token_urlsafe(32)
        self._sessions[secret] = _Session(token, trio.current_time())
        while len(self._sessions) > MOST_SESSIONS:
            self._sessions.popitem(last=False)
        response = json_response({"token": token})
        response.set_cookie(self._cookie, secret, httponly=True, samesite="strict", path="/api/admin")
        return response

    def token_of(self, request: Request) -> str | None:
        """Return the token of the session to which the cookie of `request` belongs; None if there is none."""
        secret = request.cookies.get(self._cookie, "")
        session = self._sessions.get(secret)
        if session is None:
            return None
        now = trio.current_time()
        if now - session.used_at > SESSION_TIMEOUT:
            del self._sessions[secret]
            return None
        session.used_at = now
        self._sessions.move_to_end(secret)
        return session.token

    def require(self, request: Request) -> None:
        """Raise WebError unless `request` has the cookie and the token of a session."""
        token = self.token_of(request)
        given = request.headers.get(TOKEN_HEADER, "")
        if token is None or not hmac.compare_digest(token.encode(), given.encode("utf-8", "surrogatepass")):
            raise _NOT_LOGGED_IN

    def log_out(self, request: Request) -> None:
        """End the session of `request`, if there is one."""
        self._sessions.pop(request.cookies.get(self._cookie, ""), None)


_Name = Annotated[str, msgspec.Meta(min_length=1, max_length=100)]
_Id = Annotated[str, msgspec.Meta(max_length=100)]


class _Login(msgspec.Struct):
    password: Annotated[str, msgspec.Meta(max_length=1000)]


class _Player(msgspec.Struct, rename="camel"):
    name: _Name
    can_timeout: bool = True


class _Preparation(msgspec.Struct, rename="camel"):
    game_type: _Name
    players: tuple[_Player, _Player]
    is_paused: bool = False


class _RoomRequest(msgspec.Struct):
    room: _Id


def admin_routes(server: GameServer, sessions: AdminSessions) -> list[BaseRoute]:
    """Return the routes."""

    async def show(request: Request) -> Response:
        """The session of an administrator."""
        token = sessions.token_of(request)
        return json_response({"isLoggedIn": token is not None, "token": token})

    async def log_in(request: Request) -> Response:
        """Logs in with `{"password": …}`: a cookie, and the token for the header `X-Spielleiter-Token`."""
        form = await read_json(request, _Login)
        return await sessions.log_in(request, form.password)

    async def log_out(request: Request) -> Response:
        """Logs out."""
        sessions.require(request)
        sessions.log_out(request)
        return json_response({})

    async def prepare(request: Request) -> Response:
        """Prepares a game: the `room`, and for each seat the code (`reservations`) and command lines (`commands`).

        `/api/admin/pause`, `step`, `resume` and `cancel` take `{"room": …}`.
        """
        sessions.require(request)
        form = await read_json(request, _Preparation)
        edition = server.games.editions.get(form.game_type)
        if edition is None:
            raise unknown_game_type(form.game_type, server.games.editions)
        slots = tuple(Slot(printable(player.name), can_timeout=player.can_timeout) for player in form.players)
        room = await server.prepare(edition, slots, is_paused=form.is_paused)
        codes = room.reservations
        commands = [joining_commands(*server.address, edition.game_type, code) for code in codes]
        return json_response({"room": room.room_id, "reservations": codes, "commands": commands})

    def on_room(act: Callable[[str], Awaitable[None]]) -> Callable[[Request], object]:
        async def answer(request: Request) -> Response:
            sessions.require(request)
            form = await read_json(request, _RoomRequest)
            await act(form.room)
            return json_response({})

        return answer

    actions: dict[str, Callable[[str], Awaitable[None]]] = {
        "pause": lambda room: server.pause(room, is_paused=True),
        "resume": lambda room: server.pause(room, is_paused=False),
        "step": server.step,
        "cancel": server.cancel,
    }
    return [
        Route("/api/admin", show),
        Route("/api/admin/login", log_in, methods=["POST"]),
        Route("/api/admin/logout", log_out, methods=["POST"]),
        Route("/api/admin/prepare", prepare, methods=["POST"]),
        *(Route(f"/api/admin/{name}", on_room(act), methods=["POST"]) for name, act in actions.items()),
    ]
