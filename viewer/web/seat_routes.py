"""The addresses of persons' seats: taking one, its events, moving, and leaving."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated, Literal

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from spielleiter.game.api import State
from spielleiter.server.core.policy import Edition
from spielleiter.viewer.web.admin_routes import printable
from spielleiter.viewer.web.answers import json_response, read_json
from spielleiter.viewer.web.errors import WebError, unknown_ply
from spielleiter.viewer.web.hub import Hub
from spielleiter.viewer.web.seat import SeatSource
from spielleiter.viewer.web.seats import Seats, SeatWish
from spielleiter.viewer.web.server_sent_events import EventStreamResponse, OneFrame, frame
from spielleiter.viewer.web.shares import client_share

FindReplayState = Callable[[str, int], Awaitable[tuple[Edition, State]]]
"""Returns the edition and the position of a replay by its name and the ply. Raises WebError."""

_Text = Annotated[str, msgspec.Meta(max_length=300)]
_Number = Annotated[int, msgspec.Meta(ge=0, le=1_000_000)]


class _Opponent(msgspec.Struct):
    room: _Text | None = None
    strategy: _Text | None = None
    program: bool = False


class _Start(msgspec.Struct):
    ply: _Number
    replay: _Text | None = None
    room: _Text | None = None


class _Seat(msgspec.Struct, rename="camel"):
    opponent: _Opponent
    game_type: _Text | None = None
    clock: bool = False
    player: Literal[0, 1] | None = None
    start: _Start | None = msgspec.field(default=None, name="from")
    name: Annotated[str, msgspec.Meta(min_length=1, max_length=50)] = "Mensch"


class _MoveChoice(msgspec.Struct):
    ply: _Number
    index: _Number | None = None
    skip: bool = False


def seat_routes(seats: Seats, hub: Hub, find_replay_state: FindReplayState) -> list[BaseRoute]:
    """Return the routes of persons' seats."""

    async def take(request: Request) -> Response:
        form = await read_json(request, _Seat)
        start = None if form.start is None else await find_start(form.start)
        wish = SeatWish(
            form.game_type, printable(form.name), form.player or 0, form.clock, start, client_share(request)
        )
        match form.opponent:
            case _Opponent(room=str(room), strategy=None, program=False):
                seat_id = await seats.join_room(room, wish.address)
            case _Opponent(room=None, strategy=str(strategy), program=False):
                seat_id = await seats.play_builtin(wish, strategy)
            case _Opponent(room=None, strategy=None, program=True):
                seat_id = await seats.wait_for_program(wish)
            case _:
                raise WebError(
                    400,
                    "Als Gegner ist genau eines von room, strategy und program erlaubt.",
                    "The opponent must be exactly one of room, strategy and program.",
                )
        return json_response({"seat": seat_id, **seats.find(seat_id).describe()})

    async def find_start(start: _Start) -> tuple[Edition, State]:
        if start.replay is not None:
            return await find_replay_state(start.replay, start.ply)
        watched = hub.game(start.room or "")
        memento = watched.memento(start.ply)
        if memento is None:
            raise unknown_ply(start.ply)
        return watched.game.edition, memento.state

    async def seat_events(request: Request) -> Response:
        try:
            seat = seats.find(request.path_params["seat"])
        except WebError as error:  # a page with an event stream cannot read the body of a refusal
            return EventStreamResponse(OneFrame(frame("gone", error.as_json())))
        address = client_share(request)
        hub.open_stream(address)
        return EventStreamResponse(SeatSource(seat, lambda: hub.close_stream(address)))

    async def move(request: Request) -> Response:
        seat = seats.find(request.path_params["seat"])
        form = await read_json(request, _MoveChoice)
        if form.skip:
            seat.skip(form.ply)
        elif form.index is not None:
            seat.choose(form.ply, form.index)
        else:
            raise WebError(400, "Der Zug fehlt (index oder skip).", "The move is missing (index or skip).")
        return json_response({})

    async def leave(request: Request) -> Response:
        seats.find(request.path_params["seat"]).leave()
        return json_response({})

    return [
        Route("/api/seat", take, methods=["POST"]),
        Route("/api/seat/{seat}/events", seat_events),
        Route("/api/seat/{seat}/move", move, methods=["POST"]),
        Route("/api/seat/{seat}/leave", leave, methods=["POST"]),
    ]
