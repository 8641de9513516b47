"""Who asks for a page, what that person may do, and the page that is sent back.

Invariants: a session is a random token in a cookie that scripts cannot read and that requests of other sites do not
bring along; of requests that change something, a form token comes with the body or in a header as well. What templates
print is escaped, and no page has scripts or styles but those of this site.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import parse_qsl, quote, urlsplit

from sqlalchemy import Connection
from starlette.convertors import IntegerConvertor, register_url_convertor
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from spielleiter.league.accounts import (
    IDLE_SECONDS,
    Accounts,
    NewSession,
    end_session,
    find_session,
    is_form_token,
    must_touch,
    touch_session,
)
from spielleiter.league.database import Database
from spielleiter.league.errors import LeagueDiskError
from spielleiter.league.log import list_messages
from spielleiter.league.model import Message, Role, Session
from spielleiter.league.settings import LeagueSettings, load_settings
from spielleiter.league.web.parts import Director
from spielleiter.league.words import LANGUAGES, Language, Words
from spielleiter.match.reports.rendering import render
from spielleiter.server.setting import shown_address
from spielleiter.viewer.web.answers import WebError
from spielleiter.viewer.web.bodies import body_of
from spielleiter.viewer.web.companion import network_address

TOKEN_FIELD: Final = "form_token"  # noqa: S105 - the name of a field
TOKEN_HEADER: Final = "x-form-token"  # noqa: S105 - the name of a header
FORM_BYTES: Final = 128 * 1024
"""The largest form: the names of all teams of a school."""
_LANGUAGE_COOKIE: Final = "spielleiter_language"
_LOCAL: Final = re.compile(r"/(?!/)[A-Za-z0-9/_-]*(\?[A-Za-z0-9=&_-]*)?")
_YEAR: Final = 365 * 86_400
_MESSAGE_SECONDS: Final = 14 * 86_400.0
"""How long a message of the teacher stands on all pages."""
_TEMPLATES: Final = "league/web/templates"
_FORM: Final = "application/x-www-form-urlencoded"
POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)

_HEADERS: Final = {
    "content-security-policy": POLICY,
    # with the policy of other pages, browsers would not say where a form comes from
    "referrer-policy": "same-origin",
}
_FORBIDDEN: Final = WebError(
    403, "Das ist dir nicht erlaubt; melde dich anders an.", "You are not allowed to; log in as somebody else."
)
_STALE_FORM: Final = WebError(
    403,
    "Dieses Formular gehört nicht zu deiner Anmeldung; lade die Seite neu und versuche es noch einmal.",
    "This form does not belong to your session; load the page again and try once more.",
)


class LoginNeededError(Exception):
    """Nobody has logged in, and the page is not for everybody."""


@dataclass(frozen=True, slots=True)
class Visit:
    """One request: who asks, in which language, and what every page needs.

    `session` is None if nobody has logged in.
    """

    request: Request
    session: Session | None
    settings: LeagueSettings
    messages: list[Message]
    words: Words
    director: Director
    public_url: str | None
    now: float

    @property
    def is_encrypted(self) -> bool:
        """Whether browsers reach the pages over TLS."""
        return (self.public_url or "").startswith("https:")

    @property
    def address(self) -> str:
        """The address of the pages for other machines, as far as that is known, without a slash at the end."""
        if self.public_url is not None:
            return self.public_url.rstrip("/")
        url = self.request.url
        return f"{url.scheme}://{shown_address((self.host, url.port or 80))}"

    @property
    def host(self) -> str:
        """The name or the IP address of this machine for others, as far as that is known."""
        name = self.request.url.hostname or ""
        return (network_address() or name) if name == "localhost" or name.startswith("127.") or name == "::1" else name

    @property
    def is_reachable(self) -> bool:
        """Whether other machines can reach the pages."""
        return self.settings.is_open_to_network or self.public_url is not None

    @property
    def here(self) -> str:
        """The page that is asked for; of one that a form has led to, the page with the form."""
        url = self.request.url
        return local_path(f"{url.path}?{url.query}") if self.request.method == "GET" else self.came_from

    @property
    def came_from(self) -> str:
        """The page of this site that led here, as far as the browser says."""
        try:
            url = urlsplit(self.request.headers.get("referer", ""))
        except ValueError:  # whatever it is, it is nobody's page
            return "/"
        return local_path(f"{url.path}?{url.query}") if url.netloc == self.request.headers.get("host") else "/"

    @property
    def role(self) -> Role | None:
        return None if self.session is None else self.session.role

    @property
    def team_id(self) -> int | None:
        """The team that asks; None for everybody else."""
        return None if self.session is None else self.session.team_id

    @property
    def is_teacher(self) -> bool:
        return self.role == "teacher"

    def may_see_inside(self, team_id: int | None) -> bool:
        """Return whether faults, errors and outputs of this team's programs may be shown."""
        return self.is_teacher or (team_id is not None and team_id == self.team_id)

    def may_watch(self, *team_ids: int | None) -> bool:
        """Return whether the finished games of these teams may be shown."""
        own = self.team_id is not None and self.team_id in team_ids
        return self.is_teacher or own or self.settings.shows_opponents_replays

    def page(self, template: str, status: int = 200, **values: Any) -> Response:
        """Return the page of a template, which gets the values and this visit."""
        words = self.words
        text = render(
            f"{_TEMPLATES}/{template}.html.j2",
            visit=self,
            settings=self.settings,
            say=words.say,
            number=words.number,
            signed=words.signed,
            moment=words.moment,
            day=words.day,
            duration=words.duration,
            team_link=lambda team_id: f"/teams/{team_id}",
            **values,
        )
        return HTMLResponse(text, status, headers=_HEADERS)

    def error_page(self, error: WebError) -> Response:
        """Return the page of a refusal."""
        return self.page("error", error.status, text=error.de if self.words.language == "de" else error.en)


class Visits:
    """Tells who asks, begins and ends sessions.

    - `port`: that of the pages, which tells the cookies of several leagues on one machine apart.
    - `public_url`: the address for browsers, if they come through another web server; None: directly.
    - `now`: the time in seconds since 1970.
    """

    def __init__(
        self,
        database: Database,
        accounts: Accounts,
        director: Director,
        port: int,
        public_url: str | None = None,
        *,
        now: Callable[[], float] = time.time,
    ) -> None:
        self.database = database
        self.accounts = accounts
        self.director = director
        self.now = now
        self._cookie = f"spielleiter_league_{port}"
        self._public_url = public_url
        self._is_encrypted = (public_url or "").startswith("https:")

    async def open(self, request: Request, *roles: Role, token: str | None = None) -> Visit:
        """Return the visit that a request belongs to.

        - `roles`: who may ask; nobody named: everybody.
        - `token`: that of the session, in place of the cookie's.

        Raises LoginNeededError and WebError.
        """
        now = self.now()
        given = request.cookies.get(self._cookie, "") if token is None else token
        session, settings, messages = await self.database.read(_load, given, now)
        if session is not None and must_touch(session, now):
            with suppress(LeagueDiskError):  # the pages can be read, and say what is wrong
                await self.database.write(touch_session, given, now)
        language = self._language(request, settings)
        visit = Visit(request, session, settings, messages, Words(language), self.director, self._public_url, now)
        if roles:
            if session is None:
                raise LoginNeededError
            if session.role not in roles:
                raise _FORBIDDEN
        return visit

    def _language(self, request: Request, settings: LeagueSettings) -> Language:
        chosen = request.cookies.get(_LANGUAGE_COOKIE)
        return next((each for each in LANGUAGES if each == chosen), settings.language)

    def begin(self, new: NewSession, response: Response) -> Response:
        """Let the browser keep the token of a new session."""
        seconds = int(IDLE_SECONDS[new.session.role])
        response.set_cookie(
            self._cookie, new.token, max_age=seconds, httponly=True, samesite="lax", secure=self._is_encrypted
        )
        return response

    async def end(self, request: Request, response: Response) -> Response:
        """Log out."""
        await self.database.write(end_session, request.cookies.get(self._cookie, ""))
        response.delete_cookie(self._cookie, httponly=True, samesite="lax", secure=self._is_encrypted)
        return response

    def speak(self, language: str, response: Response) -> Response:
        """Let the browser keep the language."""
        if language in LANGUAGES:
            response.set_cookie(
                _LANGUAGE_COOKIE, language, max_age=_YEAR, httponly=True, samesite="lax", secure=self._is_encrypted
            )
        return response


def _load(db: Connection, token: str, now: float) -> tuple[Session | None, LeagueSettings, list[Message]]:
    messages = [message for message in list_messages(db, 3) if message.at > now - _MESSAGE_SECONDS]
    return find_session(db, token, now) if token else None, load_settings(db), messages


# -- forms ----------------------------------------------------------------------------------------------------------


async def read_form(request: Request, session: Session | None) -> Mapping[str, str]:
    """Return the fields of a form. Raises WebError if it was not made for this session, or is no form.

    Without a session, such as for logging in, the origin that the browser names has to be enough.
    """
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != _FORM:
        raise WebError(415, "Erwartet wird ein Formular.", "Expected a form.")
    async with body_of(request, FORM_BYTES) as body:
        try:
            pairs = parse_qsl(body.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=200)
        except ValueError:
            raise WebError(400, "Dieses Formular ist unlesbar.", "This form cannot be read.") from None
    form = dict(pairs)
    if session is not None:
        require_token(session, form.get(TOKEN_FIELD, ""))
    return form


def require_token(session: Session | None, token: str) -> None:
    """Raise WebError unless `token` is the form token of the session."""
    if session is None or not is_form_token(session, token):
        raise _STALE_FORM


def local_path(path: str) -> str:
    """Return the path of a page of this site, with its query; ``/`` if it is anything else."""
    return path.rstrip("?") if _LOCAL.fullmatch(path) else "/"


def see_other(path: str) -> Response:
    """Let the browser go to another page of this site after a form."""
    return RedirectResponse(quote(path, safe="/?=&:#"), 303)


class _NumberConvertor(IntegerConvertor):
    """The numbers in addresses such as ``/games/{game:number}``: those that `int` and a database can take."""

    regex = "[0-9]{1,15}"


register_url_convertor("number", _NumberConvertor())
