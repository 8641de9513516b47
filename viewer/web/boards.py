"""Several games at once, for a page that shows them on a big screen: the list of rooms and each game in one stream.

A browser has six connections to a server at most, so one stream for each board would leave none for other pages.
Invariant: each game counts as a stream of its own among those that an address may open.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from typing import Final

import trio
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from spielleiter.viewer.web.answers import EventStreamResponse, SendFrame, WebError, frame
from spielleiter.viewer.web.guard import client_share
from spielleiter.viewer.web.live_games import Hub

MOST_BOARDS: Final = 4
_EVENT: Final = b"event: "


def board_routes(hub: Hub, look_for: Callable[[str], Awaitable[None]]) -> list[BaseRoute]:
    """Return the route; `look_for` is awaited with the id of a room before its game is looked up."""

    async def events(request: Request) -> Response:
        """Server-sent events for at most four games, `?room=A&room=B`.

        They are `rooms`, and for the game at index N `position-N`, or `gone-N`.
        """
        rooms = request.query_params.getlist("room")
        if len(rooms) > MOST_BOARDS:
            raise WebError(
                400,
                f"Mehr als {MOST_BOARDS} Spiele auf einmal gibt es nicht.",
                f"Expected at most {MOST_BOARDS} games.",
            )
        for room_id in rooms:
            await look_for(room_id)
        return watch_boards(hub, rooms, client_share(request))

    return [Route("/api/boards/events", events)]


def watch_boards(hub: Hub, rooms: list[str], address: str) -> EventStreamResponse:
    """Return a stream of the list of rooms and of the games in these rooms, for one page.

    The events of the game at index 1 are called ``position-1`` and ``gone-1``. Raises WebError if there are too many
    pages.
    """
    streams: list[tuple[bytes, EventStreamResponse]] = []
    gone: list[bytes] = []
    with ExitStack() as opened:

        def open_stream(suffix: str, stream: EventStreamResponse) -> None:
            opened.callback(stream.close)
            streams.append((suffix.encode(), stream))

        open_stream("", hub.watch_list(address))
        for index, room_id in enumerate(rooms):
            try:
                hub.game(room_id)
            except WebError:  # a page with an event stream cannot read the body of a refusal
                gone.append(frame(f"gone-{index}", {}))
            else:
                open_stream(f"-{index}", hub.watch_game(room_id, address))
        close = opened.pop_all().close

    async def write(send_frame: SendFrame) -> None:
        sending = trio.Lock()

        async def send(data: bytes) -> None:
            async with sending:
                await send_frame(data)

        async def write_stream(suffix: bytes, stream: EventStreamResponse) -> None:
            async def send_named(data: bytes) -> None:
                name, newline, rest = data.partition(b"\n")
                await send(name + suffix + newline + rest if name.startswith(_EVENT) else data)

            await stream.write(send_named)

        for data in gone:
            await send(data)
        async with trio.open_nursery() as nursery:
            for suffix, stream in streams:
                nursery.start_soon(write_stream, suffix, stream)

    return EventStreamResponse(write, close)
