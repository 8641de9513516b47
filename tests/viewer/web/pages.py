"""A server with its pages, without sockets: requests are calls of the ASGI application, and time is virtual."""

from __future__ import annotations

import io
import json
from collections.abc import AsyncIterator, Mapping, MutableMapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import trio
import trio.testing

from spielleiter.game.api import State
from spielleiter.protocol.messages import Slot
from spielleiter.server.app import Server
from spielleiter.server.config import Config
from spielleiter.server.core.room import Room
from spielleiter.server.garbage import PauseMeter
from spielleiter.viewer.web.answers import Application
from spielleiter.viewer.web.site import Site

GAME_TYPE = "swc_2027_blokus"
PASSWORD = "examplepassword"
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
    """An open event stream: the events that the page has taken so far."""

    receive_event: trio.MemoryReceiveChannel[tuple[str, Any]]
    scope: trio.CancelScope
    status: int = 200

    async def next(self) -> tuple[str, Any]:
        """Wait for the next event and return its name and its data."""
        return await self.receive_event.receive()

    async def until(self, name: str) -> Any:
        """Return the data of the next event of this name."""
        while True:
            found, data = await self.next()
            if found == name:
                return data

    def leave(self) -> None:
        """Let the page go, as a browser does that is closed."""
        self.scope.cancel()


def request_scope(method: str, path: str, headers: Mapping[str, str], client: str = "127.0.0.1") -> dict[str, Any]:
    """Return the ASGI scope of a request."""
    where, _, query = path.partition("?")
    return {
        "type": "http",
        "http_version": "1.1",
        "asgi": {"spec_version": "2.1", "version": "3.0"},
        "method": method,
        "scheme": "http",
        "path": where,
        "raw_path": where.encode(),
        "query_string": query.encode(),
        "root_path": "",
        "headers": [(name.lower().encode(), value.encode("latin-1")) for name, value in headers.items()],
        "client": (client, 50000),
        "server": ("127.0.0.1", PORT),
        "state": {},
    }


async def call(
    app: Application,
    method: str,
    path: str,
    headers: Mapping[str, str] | None = None,
    body: bytes = b"",
    client: str = "127.0.0.1",
) -> Answer:
    """Send one request and return its whole answer."""
    sent: list[MutableMapping[str, Any]] = []
    parts: list[dict[str, Any]] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> MutableMapping[str, Any]:
        if parts:
            return parts.pop(0)
        await trio.sleep_forever()
        raise AssertionError

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
    site: Site
    nursery: trio.Nursery
    log: io.StringIO
    cookies: dict[str, str] = field(default_factory=dict)

    async def get(self, path: str, headers: Mapping[str, str] | None = None, client: str = "127.0.0.1") -> Answer:
        return await call(self.site.app, "GET", path, {**self._cookie(), **(headers or {})}, client=client)

    async def post(
        self, path: str, form: Any = None, headers: Mapping[str, str] | None = None, client: str = "127.0.0.1"
    ) -> Answer:
        body = json.dumps({} if form is None else form).encode()
        sent = {**JSON, **self._cookie(), **(headers or {})}
        answer = await call(self.site.app, "POST", path, sent, body, client)
        if "set-cookie" in answer.headers:
            name, _, value = answer.headers["set-cookie"].partition(";")[0].partition("=")
            self.cookies[name] = value
        return answer

    def _cookie(self) -> dict[str, str]:
        return {"cookie": "; ".join(f"{name}={value}" for name, value in self.cookies.items())} if self.cookies else {}

    async def open(self, path: str, *, most_unread: float = 1000) -> Stream:
        """Open an event stream; the page takes no more than `most_unread` events before they are looked at."""
        send_event, receive_event = trio.open_memory_channel[tuple[str, Any]](most_unread)
        stream = Stream(receive_event, trio.CancelScope())
        await self.nursery.start(self._follow, path, send_event, stream)
        return stream

    async def _follow(
        self,
        path: str,
        send_event: trio.MemorySendChannel[tuple[str, Any]],
        stream: Stream,
        task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED,
    ) -> None:
        async def receive() -> MutableMapping[str, Any]:
            await trio.sleep_forever()
            raise AssertionError

        async def send(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                stream.status = message["status"]
                task_status.started()
                return
            for event in message.get("body", b"").decode().split("\n\n"):
                lines = dict(line.split(": ", 1) for line in event.splitlines() if not line.startswith(":"))
                if "event" in lines:
                    await send_event.send((lines["event"], json.loads(lines["data"])))

        with send_event, stream.scope:
            await self.site.app(request_scope("GET", path, {"host": HOST}), receive, send)

    def open_room(self, *names: str, state: State | None = None, is_paused: bool = False) -> Room:
        """Open a prepared room with these two names."""
        edition = self.server.editions[GAME_TYPE]
        return self.server.lobby.open_prepared(edition, [Slot(name) for name in names], state, is_paused=is_paused)

    def logged(self, name: str) -> list[dict[str, Any]]:
        """Return the log lines of this kind of event."""
        lines = [json.loads(line) for line in self.log.getvalue().splitlines()]
        return [line for line in lines if line["event"] == name]

    async def log_in(self) -> dict[str, str]:
        """Log in as an administrator; return the headers of further requests."""
        answer = await self.post("/api/admin/login", {"password": PASSWORD})
        assert answer.status == 200
        return {"x-spielleiter-token": answer.json["token"]}


@asynccontextmanager
async def open_pages(**settings: Any) -> AsyncIterator[Pages]:
    """Run a server and its pages until the context is left."""
    usual = {"port": 0, "log_format": "json", "log_level": "debug", "grace": 0.0}
    log = io.StringIO()
    server = Server(Config(**{**usual, **settings}), log)
    stop = trio.Event()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(server.run, [], stop)
        host = "127.0.0.1" if server.config.host == "0.0.0.0" else server.config.host
        site = Site(server, (host, GAME_PORT), PORT, PauseMeter(), stop.is_set)
        nursery.start_soon(site.hub.run)
        nursery.start_soon(site.loopback.run)
        nursery.start_soon(site.seats.run)
        await trio.testing.wait_all_tasks_blocked()
        yield Pages(server, site, nursery, log)
        nursery.cancel_scope.cancel()
    server.archive.close()
