"""The pages of a league for tests: requests are calls of the application, by visitors who keep their cookies."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from spielleiter.client.client_errors import CannotConnectError
from spielleiter.client.transport import Transport
from spielleiter.league.accounts import new_setup_code
from spielleiter.league.database import Database
from spielleiter.league.games import pairing_results
from spielleiter.league.model import PairingResult
from spielleiter.league.standings import Standings, compute_standings
from spielleiter.league.versions import list_versions, waiting_versions
from spielleiter.league.web.parts import Gate
from spielleiter.league.web.site import LeagueSite
from spielleiter.protocol.dialect import Dialect
from spielleiter.viewer.web.answers import Application, Versions
from tests.league.leagues import NOON, League
from tests.viewer.web.pages import Answer, call

PASSWORD = "korrekt pferd batterie"
BROWSER = {"accept": "text/html,application/xhtml+xml"}
FORM = {"content-type": "application/x-www-form-urlencoded"}
_TOKEN = re.compile(r'name="form_token" value="([^"]+)"|data-token="([^"]+)"')


@dataclass(frozen=True)
class Queued:
    version_id: int
    seconds: float | None = None


@dataclass(frozen=True)
class Sandbox:
    kind: str = "bwrap"
    gaps: tuple[str, ...] = ()
    is_strong: bool = True


class QuietDirector:
    """A director that plays nothing: what the pages show of it is read from the database, or set by the test."""

    def __init__(self, league: League) -> None:
        self._league = league
        self.changed = Versions()
        self.playing = 0
        self.problem = ""
        self.sandbox: Sandbox | None = Sandbox()
        self.woken = 0
        self.further_results: list[PairingResult] = []
        """Results in the table besides those of the database."""

    @property
    def standings(self) -> Standings:
        return self._league(
            lambda db: compute_standings(list_versions(db), [*pairing_results(db), *self.further_results], {})
        )

    @property
    def queue(self) -> Sequence[Queued]:
        found = self._league(waiting_versions)
        return [Queued(version.id, 15.0 * place) for place, version in enumerate(found, 1)]

    def wake(self) -> None:
        self.woken += 1
        self.changed.publish()


class NoArena:
    """An arena that cannot be watched."""

    viewer_secret = "secret of the arena"

    async def connect_viewer(self, _dialect: Dialect) -> Transport:
        raise CannotConnectError("there is no arena")


@dataclass
class Pages:
    """The pages of a league, and what happened in them."""

    league: League
    director: QuietDirector
    bugs: list[BaseException]
    site: LeagueSite
    now: float

    def visitor(self, address: str = "127.0.0.1") -> Visitor:
        """Return a new browser."""
        return Visitor(self.site.app, address)

    async def set_up(self, names: Sequence[str] = ()) -> Visitor:
        """Make the league as a teacher does, and return the teacher's browser."""
        teacher = self.visitor()
        code = self.league(new_setup_code)
        form = {"code": code, "password": PASSWORD, "name": "Liga 10b", "edition": "blokus-2027"}
        answer = await teacher.post("/setup", {**form, "names": "\n".join(names)})
        assert answer.status in {200, 303}, answer.body
        return teacher

    async def team(self, name: str) -> Visitor:
        """Make a team, and return its browser, which has logged in."""
        self.league.add_team(name)
        return await self.logged_in(name)

    async def logged_in(self, name: str) -> Visitor:
        """Return another browser of a team."""
        visitor = self.visitor()
        answer = await visitor.post("/login", {"code": self.league.codes[name]})
        assert answer.status == 303, answer.body
        return visitor


@dataclass
class Visitor:
    """A browser: it keeps its cookies, and sends the token of the page that it saw last with each form."""

    app: Application
    address: str = "127.0.0.1"
    cookies: dict[str, str] = field(default_factory=dict)
    token: str = ""

    async def get(self, path: str, **headers: str) -> Answer:
        return await self.request("GET", path, {**BROWSER, **headers})

    async def post(self, path: str, fields: dict[str, Any] | None = None, **headers: str) -> Answer:
        body = urlencode({"form_token": self.token, **(fields or {})}).encode()
        return await self.request("POST", path, {**BROWSER, **FORM, **headers}, body)

    async def upload(self, content: bytes, name: str = "bot.zip", **query: str) -> Answer:
        """Upload a file as the page does."""
        headers = {"content-type": "application/octet-stream", "x-form-token": self.token}
        return await self.request("PUT", f"/upload?{urlencode({'name': name, **query})}", headers, content)

    async def request(self, method: str, path: str, headers: dict[str, str], *body: bytes) -> Answer:
        """Send a request with the cookies, and keep those of the answer."""
        cookies = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        sent = {**({"cookie": cookies} if cookies else {}), **headers}
        answer = await call(self.app, method, path, sent, *body, client=self.address)
        if "set-cookie" in answer.headers:
            name, _, value = answer.headers["set-cookie"].partition(";")[0].partition("=")
            self.cookies[name] = value
        if found := _TOKEN.search(answer.body.decode("utf-8", "replace")):
            self.token = found[1] or found[2]
        return answer


class FailingDatabase(Database):
    """The same database, in which changes and copies fail while there is a `fault`."""

    fault: Exception | None = None

    async def write(self, function: Any, *args: Any, **options: Any) -> Any:
        self._fail()
        return await super().write(function, *args, **options)

    def copy_to(self, path: Path, on_progress: Callable[[float], object] = float) -> None:
        self._fail()
        super().copy_to(path, on_progress)

    def _fail(self) -> None:
        if self.fault is not None:
            raise self.fault


@contextmanager
def failing_database(league: League) -> Iterator[FailingDatabase]:
    """Open the database of a league once more, so that it can fail."""
    database = FailingDatabase(league.database.path)
    try:
        yield database
    finally:
        database.close()


def pages_of(league: League, gate: Gate | None = None, now: Callable[[], float] | None = None, **more: Any) -> Pages:
    """Return the pages of a league, at noon."""
    director, bugs = QuietDirector(league), list[BaseException]()
    site = LeagueSite(
        league.database,
        director,
        NoArena(),
        gate,
        port=8080,
        now=now or (lambda: NOON),
        report_bug=bugs.append,
        **{"fingerprint": b"0123456789abcdef", **more},
    )
    return Pages(league, director, bugs, site, NOON)
