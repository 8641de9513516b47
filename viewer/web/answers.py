"""What answers to pages have in common: errors, JSON, and streams of server-sent events."""

from __future__ import annotations

import html
import re
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any, Final, TypeAlias

import msgspec
import trio
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Application: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]
SendFrame: TypeAlias = Callable[[bytes], Awaitable[None]]
"""Sends one frame of an event stream; returns when the page has taken it."""
Checkpoint: TypeAlias = Callable[[], Awaitable[None]]
"""Awaited between two pieces of work, so that other tasks can run."""

COMMENT_INTERVAL: Final = 15.0
"""Seconds after which an idle stream sends a comment, which keeps it open and shows whether the page is still there."""
JSON: Final = "application/json"
_EVENTS: Final = {"content-type": "text/event-stream; charset=utf-8", "cache-control": "no-store"}
"""The headers of a stream of server-sent events."""
_MOST_DIGITS: Final = 15
"""Of a number of others: a database and JavaScript keep it exactly, and `int` is quick."""
_ERROR_PAGE: Final = """<!doctype html>
<html lang="{language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{status} – spielleiter</title>
<link rel="stylesheet" href="{root}/page.css">
</head>
<body>
<header class="site"><a class="brand" href="{root}/">spielleiter</a></header>
<main class="page"><h1>{text}</h1><p><a class="as-button" href="{root}/">{back}</a></p></main>
</body>
</html>
"""
"""What a browser shows of an error; the addresses in it are absolute, since that of the page may be any."""


class WebError(Exception):
    """A request was refused. `status` is the one of HTTP; the texts say whose fault it is and what to do."""

    def __init__(self, status: int, de: str, en: str) -> None:
        super().__init__(en)
        self.status = status
        self.de = de
        self.en = en

    def as_json(self) -> dict[str, dict[str, str]]:
        """Return the body of the answer."""
        return {"error": {"de": self.de, "en": self.en}}


def unknown_room(room_id: str) -> WebError:
    """Return the error for a room that does not exist, or is forgotten already."""
    shown = room_id[:80]
    return WebError(404, f"Den Raum {shown} gibt es nicht (mehr).", f"There is no room {shown} (any more).")


def unknown_game_type(game_type: str, known: Iterable[str]) -> WebError:
    """Return the error for a gameType that this server does not play; `known` are those that it plays."""
    names = ", ".join(known)
    return WebError(
        400,
        f"Das Spiel {game_type} gibt es hier nicht; bekannt sind: {names}.",
        f"There is no game {game_type} here; known are: {names}.",
    )


def unknown_ply(ply: int) -> WebError:
    """Return the error for a position that a game does not have."""
    return WebError(404, f"Das Spiel hat keinen Zug {ply}.", f"The game has no ply {ply}.")


def refused_by_server(status: int, error: object) -> WebError:
    """Return the error for what the server itself refuses, as it does on the game port."""
    return WebError(status, f"Der Server lehnt das ab ({error}).", f"The server refuses this ({error}).")


# -- requests and answers --------------------------------------------------------------------------------------------


def json_response(value: Any, status: int = 200) -> Response:
    """Return an answer with `value` as JSON."""
    return Response(msgspec.json.encode(value), status, media_type=JSON)


def error_response(error: WebError, headers: Headers, root: str = "") -> Response:
    """Return the answer to a request with these headers that was refused with `error`.

    Somebody who has opened a wrong address in a browser gets a page; scripts, and the page's own, get JSON. `root` is
    the path below which the pages are.
    """
    if "text/html" not in headers.get("accept", ""):
        return json_response(error.as_json(), error.status)
    languages = re.findall(r"(?:^|,)\s*(de|en)\b", headers.get("accept-language", ""), re.IGNORECASE)
    is_german = bool(languages) and languages[0].lower() == "de"
    text, back = (error.de, "Zu den Spielen") if is_german else (error.en, "To the games")
    page = _ERROR_PAGE.format(
        language="de" if is_german else "en",
        status=error.status,
        text=html.escape(text),
        back=back,
        root=html.escape(root),
    )
    return HTMLResponse(page, error.status)


def number_in(text: str) -> int | None:
    """Return the whole number from 0 that a text of somebody else is; None if it is anything else, or very large."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS else None


def whole_number(request: Request, name: str) -> int:
    """Return a parameter of the address that is a whole number from 0. Raises WebError if it is not one."""
    number = number_in(request.query_params.get(name, ""))
    if number is None:
        raise WebError(
            400,
            f"Der Parameter {name} muss eine ganze Zahl ab 0 sein.",
            f"The parameter {name} must be a whole number from 0.",
        )
    return number


def printable(name: str) -> str:
    """Return `name`, which becomes the name of a player. Raises WebError if it contains control characters."""
    if not name.isprintable():
        raise WebError(400, "Der Name enthält Steuerzeichen.", "The name contains control characters.")
    return name


# -- server-sent events ----------------------------------------------------------------------------------------------


def frame(event: str, data: Any) -> bytes:
    """Return an event with `data` as JSON, which contains no line break."""
    return b"event: %b\ndata: %b\n\n" % (event.encode(), msgspec.json.encode(data))


class EventStreamResponse(Response):
    """An answer of server-sent events.

    `write` sends them with the function that it is given, until it returns or is cancelled because the page has left;
    `close` is called then.
    """

    def __init__(self, write: Callable[[SendFrame], Awaitable[None]], close: Callable[[], None]) -> None:
        super().__init__(headers=_EVENTS)
        self.write = write
        self.close = close

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def discard_body() -> None:  # so that the connection is read on, and the leaving of the page noticed
            while (await receive()).get("more_body", False):
                pass

        async def send_frame(data: bytes) -> None:
            await send({"type": "http.response.body", "body": data, "more_body": True})

        try:
            headers = [(name.encode(), value.encode()) for name, value in _EVENTS.items()]
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            if scope["method"] != "HEAD":  # the toolkit answers it wherever it answers GET
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(discard_body)
                    await self.write(send_frame)
                    nursery.cancel_scope.cancel()
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            self.close()


def single_frame(data: bytes) -> EventStreamResponse:
    """Return an answer of one frame."""
    return EventStreamResponse(lambda send_frame: send_frame(data), lambda: None)


class Versions:
    """Counts the versions of something that pages look at, and wakes those that wait for a newer one.

    Nothing is queued: a page that does not read gets the newest version when it reads again, and costs nothing in
    between.
    """

    def __init__(self) -> None:
        self.newest = 0
        self._changed = trio.Event()

    def publish(self) -> None:
        """Count one more."""
        self.newest += 1
        self._changed.set()
        self._changed = trio.Event()

    async def newer_than(self, version: int, send_frame: SendFrame) -> int:
        """Wait until there is a newer version than `version`, and return the newest; meanwhile, send comments."""
        while self.newest == version:
            with trio.move_on_after(COMMENT_INTERVAL) as scope:
                await self._changed.wait()
            if scope.cancelled_caught:
                await send_frame(b": still here\n\n")
        return self.newest
