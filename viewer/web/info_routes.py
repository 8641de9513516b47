"""What the page needs to know about the server: its version, its games, and how programs reach it."""

from __future__ import annotations

import random
from collections.abc import Mapping
from importlib.metadata import version

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from spielleiter.client.strategies import STRATEGIES
from spielleiter.server.core.policy import Edition
from spielleiter.viewer.positions.describe import view_of
from spielleiter.viewer.web.answers import json_response


def info_routes(editions: Mapping[str, Edition], address: tuple[str, int], *, has_admins: bool) -> list[BaseRoute]:
    """Return the route.

    - `editions`: the editions that the server plays, by gameType.
    - `address`: where programs reach the game port.
    - `has_admins`: whether the server accepts administrators.
    """
    games = [
        {
            "gameType": edition.game_type,
            "game": view_of(edition.game.new_state(random.Random(0))).name,
            "title": _title(edition.name),
            "strategies": [
                kind.name
                for kind in STRATEGIES.values()
                if kind.choose is not None and not kind.is_bad and not kind.is_alias and kind.plays(edition.game)
            ],
            "startPieces": None,
        }
        for edition in editions.values()
    ]
    info = {
        "version": version("spielleiter"),
        "gameTypes": games,
        "hasAdmin": has_admins,
        "host": address[0],
        "port": address[1],
    }

    async def show(_request: Request) -> Response:
        return json_response(info)

    return [Route("/api/info", show)]


def _title(edition_name: str) -> str:
    """Return the name of an edition as people write it: ``Hase und Igel 2018`` for ``hase-und-igel-2018``."""
    return " ".join(word if word == "und" else word.capitalize() for word in edition_name.split("-"))
