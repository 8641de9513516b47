"""The addresses of replays: the lists, one game, its legal moves, and files that are dropped onto the page."""

from __future__ import annotations

from typing import Final
from urllib.parse import unquote

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from spielleiter.viewer.positions.describe import describe_legal_moves
from spielleiter.viewer.web.answers import JSON, json_response, read_body, whole_number
from spielleiter.viewer.web.errors import WebError
from spielleiter.viewer.web.replay_shelf import ReplayShelf

MOST_DROPPED_BYTES: Final = 4 * 1024 * 1024
"""The maximum size of a dropped file; the official replays have up to one MiB, and are compressed further."""
_BINARY: Final = "application/octet-stream"
_FILE_NAME: Final = "x-file-name"
_LONGEST_NAME: Final = 200


def replay_routes(shelf: ReplayShelf) -> list[BaseRoute]:
    """Return the routes for the replays of `shelf`."""

    async def replays(_request: Request) -> Response:
        return json_response(await shelf.listed())

    async def replay(request: Request) -> Response:
        found = await shelf.find(request.path_params["name"])
        return Response(found.game, media_type=JSON)

    async def legal(request: Request) -> Response:
        ply = whole_number(request, "ply")
        found = await shelf.find(request.path_params["name"])
        return json_response(describe_legal_moves(found.state(ply), ply))

    async def drop(request: Request) -> Response:
        if request.headers.get("content-type", "") != _BINARY:
            raise WebError(415, f"Erwartet wird Content-Type {_BINARY}.", f"Expected the Content-Type {_BINARY}.")
        source = unquote(request.headers.get(_FILE_NAME, ""))[:_LONGEST_NAME]
        found = await shelf.drop(await read_body(request, MOST_DROPPED_BYTES), source)
        return Response(found.game, media_type=JSON)

    return [
        Route("/api/replays", replays),
        Route("/api/replays", drop, methods=["POST"]),
        Route("/api/replays/{name}", replay),
        Route("/api/replays/{name}/legal", legal),
    ]
