"""Administrators in the browser: logging in with the server's password, and the sessions that follow.

Invariants: the password is compared in constant time, is never kept, and is in no address and no log. A session is a
secret in a cookie that scripts cannot read and that other sites do not get, and a token that the page sends along with
each request, so a request of a foreign page has neither. Sessions are bounded in number and in time. Wrong passwords
are answered late, and counted like those on the game port.
"""

from __future__ import annotations

import hmac
import secrets
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import trio
from starlette.requests import Request
from starlette.responses import Response

from spielleiter.server import events
from spielleiter.server.core.lobby import NO_ADMINS
from spielleiter.server.errors import Fault
from spielleiter.server.net.password_guard import PasswordGuard
from spielleiter.viewer.web.errors import WebError
from spielleiter.viewer.web.shares import client_address

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
    NO_ADMINS[0].upper() + NO_ADMINS[1:] + ".",
)


@dataclass(slots=True)
class _Session:
    token: str
    used_at: float


class AdminSessions:
    """The sessions of administrators.

    `is_password` compares a password with the server's, `has_admins` says whether the server accepts administrators at
    all, and `port` distinguishes the cookies of several servers on one machine, since cookies have no port.
    """

    def __init__(
        self,
        is_password: Callable[[str], bool],
        password_guard: PasswordGuard,
        publish: Callable[[events.ServerEvent], None],
        *,
        has_admins: bool,
        port: int,
    ) -> None:
        self._is_password = is_password
        self._password_guard = password_guard
        self._publish = publish
        self.has_admins = has_admins
        self._cookie = f"spielleiter_{port}"
        self._sessions: OrderedDict[str, _Session] = OrderedDict()

    def __len__(self) -> int:
        return len(self._sessions)

    async def log_in(self, request: Request, password: str, response_of: Callable[[str], Response]) -> Response:
        """Return the answer that `response_of` makes of a new token, with the cookie. Raises WebError."""
        address = client_address(request)
        label = f"viewer {address}".rstrip()
        if not self.has_admins:
            self._publish(events.RequestRefused(label, Fault.WRONG_PASSWORD, _NO_ADMINS.en))
            raise _NO_ADMINS
        await self._password_guard.wait_for_turn(address)
        if not self._is_password(password):
            self._publish(events.RequestRefused(label, Fault.WRONG_PASSWORD, _WRONG_PASSWORD.en))
            if delay := self._password_guard.delay(address, trio.current_time()):
                self._publish(events.AnswerDelayed(label, delay))
            await self._password_guard.answer_late(address, delay)
            raise _WRONG_PASSWORD
        self._password_guard.note_success()
        self._publish(events.AdminAuthenticated(label))
        secret, token = secrets.token_urlsafe(32), secrets.token_urlsafe(32)
        self._sessions[secret] = _Session(token, trio.current_time())
        while len(self._sessions) > MOST_SESSIONS:
            self._sessions.popitem(last=False)
        response = response_of(token)
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
