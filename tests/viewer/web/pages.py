"""A server with its pages, without listening sockets: requests are calls of the ASGI application, and the pages reach
the server through pairs of connected sockets, so that time can be virtual.
"""

from __future__ import annotations

import io
import json
import socket
from collections.abc import AsyncIterator, Callable, Mapping, MutableMapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

import trio
import trio.testing

from spielleiter.client.client_errors import CannotConnectError
from spielleiter.client.player import Player
from spielleiter.client.transport import Transport
from spielleiter.game.api import State
from spielleiter.protocol.dialect import Dialect
from spielleiter.protocol.messages import Slot
from spielleiter.server import events
from spielleiter.server.app import Server
from spielleiter.server.config import Config
from spielleiter.server.core.policy import Edition
from spielleiter.server.core.room import Phase, Room
from spielleiter.server.log import log_events, logged_kinds
from spielleiter.server.net.wire import SocketWire
from spielleiter.viewer.web.answers import Application
from spielleiter.viewer.web.bodies import BodyBudget
from spielleiter.viewer.web.live_games import LiveGame
from spielleiter.viewer.web.page_settings import PageSettings
from spielleiter.viewer.web.site import Site

GAME_TYPE = "swc_2027_blokus"
PASSWORD = "examplepassword"
SECRET = "the-secret-of-the-pages"
PORT = 13080
GAME_PORT = 13050
HOST = f"127.0.0.1:{PORT}"
JSON = {"content-type": "application/json"}


@dataclass
class Answer:
    """The answer to one request."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Stream:
    """An open event stream: the events that the page has taken so far; a comment is an event of this name."""

    receive_event: trio.MemoryReceiveChannel[tuple[str, Any]]
    scope: trio.CancelScope
    status: int = 200

    async def next(self) -> tuple[str, Any]:
        """Wait for the next event and return its name and its data."""
        return await self.receive_event.receive()

    async def until(self, name: str, condition: Callable[[Any], object] = lambda _data: True) -> Any:
        """Return the data of the next event of this name that fulfils the condition."""
        while True:
            found, data = await self.next()
            if found == name and condition(data):
                return data

    def leave(self) -> None:
        """Let the page go, as a browser does that is closed."""
        self.scope.cancel()


def request_scope(method: str, path: str, headers: Mapping[str, str], client: str = "127.0.0.1") -> dict[str, Any]:
    """Return the ASGI scope of a request."""
    where, _, query = path.partition("?")
    return {
        "type": "http",
        "method": method,
        "scheme": "http",
        "path": unquote(where),
        "query_string": query.encode(),
        "root_path": "",
        "headers": [(name.lower().encode(), value.encode("latin-1")) for name, value in headers.items()],
        "client": (client, 50000),
        "server": ("127.0.0.1", PORT),
    }


async def call(
    app: Application,
    method: str,
    path: str,
    headers: Mapping[str, str] | None = None,
    *body: bytes,
    client: str = "127.0.0.1",
    pause: float = 0,
) -> Answer:
    """Send one request, whose body comes in parts with a pause before each, and return its whole answer."""
    sent: list[MutableMapping[str, Any]] = []
    parts = list(body) or [b""]

    async def receive() -> MutableMapping[str, Any]:
        await trio.sleep(pause if parts else float("inf"))
        return {"type": "http.request", "body": parts.pop(0), "more_body": bool(parts)}

    async def send(message: MutableMapping[str, Any]) -> None:
        sent.append(message)

    await app(request_scope(method, path, {"host": HOST, **(headers or {})}, client), receive, send)
    start, *data = sent
    found = {name.decode().lower(): value.decode("latin-1") for name, value in start["headers"]}
    return Answer(start["status"], found, b"".join(part.get("body", b"") for part in data))


@dataclass
class Pages:
    """A server and its pages."""

    server: Server
    nursery: trio.Nursery
    log: io.StringIO
    cookies: dict[str, str] = field(default_factory=dict)
    is_reachable: bool = True

    def __post_init__(self) -> None:
        config, lobby = self.server.config, self.server.lobby
        host = "127.0.0.1" if config.host == "0.0.0.0" else config.host
        lobby.viewer_secret = SECRET
        self._last_ended = ""
        self.server.stream.on(events.GameEnded, self._note_ended)
        settings = PageSettings.of(config, (host, GAME_PORT), SECRET, PORT)
        stream = events.EventStream()  # not the server's, since the pages are another process
        stream.subscribe(log_events(self.log, "json", "debug"), logged_kinds("debug"))
        self.site = Site(settings, stream.publish, self.connect)

    async def get(self, path: str, headers: Mapping[str, str] | None = None, client: str = "127.0.0.1") -> Answer:
        return await call(self.site.app, "GET", path, {**self._cookie(), **(headers or {})}, client=client)

    async def post(
        self, path: str, form: Any = None, headers: Mapping[str, str] | None = None, client: str = "127.0.0.1"
    ) -> Answer:
        body = json.dumps({} if form is None else form).encode()
        sent = {**JSON, **self._cookie(), **(headers or {})}
        answer = await call(self.site.app, "POST", path, sent, body, client=client)
        if "set-cookie" in answer.headers:
            name, _, value = answer.headers["set-cookie"].partition(";")[0].partition("=")
            self.cookies[name] = value
        return answer

    def _cookie(self) -> dict[str, str]:
        return {"cookie": "; ".join(f"{name}={value}" for name, value in self.cookies.items())} if self.cookies else {}

    async def open(self, path: str, client: str = "127.0.0.1") -> Stream:
        """Open an event stream."""
        send_event, receive_event = trio.open_memory_channel[tuple[str, Any]](1000)
        stream = Stream(receive_event, trio.CancelScope())
        await self.nursery.start(self._follow, path, client, send_event, stream)
        return stream

    async def _follow(
        self,
        path: str,
        client: str,
        send_event: trio.MemorySendChannel[tuple[str, Any]],
        stream: Stream,
        task_status: trio.TaskStatus[None],
    ) -> None:
        async def send(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                stream.status = message["status"]
                task_status.started()
                return
            for event in message.get("body", b"").decode().split("\n\n") if stream.status == 200 else ():
                if event.startswith(":"):
                    await send_event.send(("comment", None))
                lines = dict(line.split(": ", 1) for line in event.splitlines() if not line.startswith(":"))
                if "event" in lines:
                    await send_event.send((lines["event"], json.loads(lines["data"])))

        with send_event, stream.scope:
            await self.site.app(request_scope("GET", path, {"host": HOST}, client), never, send)

    def open_room(self, *names: str, state: State | None = None, is_paused: bool = False) -> Room:
        """Open a prepared room with these two names."""
        edition = self.server.editions[GAME_TYPE]
        return self.server.lobby.open_prepared(edition, [Slot(name) for name in names], state, is_paused=is_paused)

    async def connect(self, dialect: Dialect) -> Transport:
        """Connect with the server. Raises CannotConnectError if it is not reachable."""
        if not self.is_reachable:
            raise CannotConnectError("the server is not reachable")
        near, far = socket.socketpair()
        near.setblocking(False)

        async def serve() -> None:
            with far:
                await self.server.serve_wire(SocketWire(far), "nearby")

        self.nursery.start_soon(serve)
        return Transport(trio.SocketStream(trio.socket.from_stdlib_socket(near)), dialect)

    @asynccontextmanager
    async def player(self, edition: Edition | None = None) -> AsyncIterator[Player]:
        """Connect a player with the server."""
        transport = await self.connect((edition or self.server.editions[GAME_TYPE]).dialect)
        try:
            yield Player(transport)
        finally:
            await transport.aclose()

    @property
    def bodies(self) -> BodyBudget:
        """The budget of the bodies that are being read."""
        return self.site.bodies

    async def caught_up(self) -> None:
        """Wait until the pages know everything that has happened in the rooms of the server."""

        def are_equal() -> bool:
            rooms = self.server.lobby.rooms.values()
            shown = {game.id: (game.names, game.ply, game.is_paused, game.free_seats) for game in self._open_games()}
            if self._last_ended and self.site.games.find(self._last_ended) is None:
                return False
            return shown == {room.id: (room.names, room.ply, room.is_paused, _free_seats(room)) for room in rooms}

        while not are_equal():  # noqa: ASYNC110 - the pages tell nobody
            await trio.sleep(0.01)

    def _note_ended(self, game: events.GameEnded) -> None:
        self._last_ended = game.room

    def _open_games(self) -> list[LiveGame]:
        return [game for game in self.site.games.listed(10_000) if game.phase != "over"]

    def logged(self, name: str) -> list[dict[str, Any]]:
        """Return the log lines of this kind of event."""
        lines = [json.loads(line) for line in self.log.getvalue().splitlines()]
        return [line for line in lines if line["event"] == name]

    async def log_in(self) -> dict[str, str]:
        """Log in as an administrator; return the headers of further requests."""
        answer = await self.post("/api/admin/login", {"password": PASSWORD})
        assert answer.status == 200
        return {"x-spielleiter-token": answer.json["token"]}


def _free_seats(room: Room) -> int:
    is_open = room.phase is Phase.OPEN
    return sum(is_open and slot.peer is None and slot.reservation is None for slot in room.player_slots)


async def never() -> MutableMapping[str, Any]:
    """Receive nothing more of a request."""
    await trio.sleep_forever()
    raise AssertionError


@asynccontextmanager
async def open_pages(*monitor: socket.socket, **settings: Any) -> AsyncIterator[Pages]:
    """Run a server and its pages until the context is left; on the sockets of `monitor`, health is served."""
    usual = {"port": 0, "log_format": "json", "log_level": "debug", "grace": 0.0}
    log = io.StringIO()
    server = Server(Config(**{**usual, **settings}), log)
    stop = trio.Event()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(server.run, [], stop)
        pages = Pages(server, nursery, log)
        nursery.start_soon(pages.site.serve, [], monitor)
        while not pages.site.server.is_connected:  # noqa: ASYNC110
            await trio.sleep(0.01)
        yield pages
        nursery.cancel_scope.cancel()
    server.archive.close()
