"""The addresses of rooms: the list, one game, its legal moves, and both as event streams."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from spielleiter.viewer.positions.describe import describe_legal_moves
from spielleiter.viewer.web.answers import json_response, whole_number
from spielleiter.viewer.web.errors import unknown_ply
from spielleiter.viewer.web.hub import GONE, Hub
from spielleiter.viewer.web.server_sent_events import EventStreamResponse, OneFrame
from spielleiter.viewer.web.shares import client_share


def room_routes(hub: Hub) -> list[BaseRoute]:
    """Return the routes for the games of `hub`."""

    async def rooms(_request: Request) -> Response:
        return json_response({"rooms": hub.games.listed()})

    async def room(request: Request) -> Response:
        return json_response(await hub.whole_game(request.path_params["room"]))

    async def legal(request: Request) -> Response:
        room_id = request.path_params["room"]
        ply = whole_number(request, "ply")
        memento = hub.game(room_id).memento(ply)
        if memento is None:
            raise unknown_ply(ply)
        return json_response(describe_legal_moves(memento.state, ply))

    async def list_events(request: Request) -> Response:
        return EventStreamResponse(hub.watch_list(client_share(request)))

    async def room_events(request: Request) -> Response:
        room_id = request.path_params["room"]
        if not hub.has_game(room_id):
            return EventStreamResponse(OneFrame(GONE))
        return EventStreamResponse(hub.watch_game(room_id, client_share(request)))

    return [
        Route("/api/rooms", rooms),
        Route("/api/rooms/{room}", room),
        Route("/api/rooms/{room}/legal", legal),
        Route("/api/events", list_events),
        Route("/api/rooms/{room}/events", room_events),
    ]
