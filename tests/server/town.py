"""A whole server that plays all seasons, on memory streams; see `tests.server.house`."""

from __future__ import annotations

import dataclasses
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import trio

from server.editions import choose_editions
from server.listener import Server
from server.policy import Edition
from tests.server.house import Caller, House

GAME_TYPES = tuple(choose_editions({}, {}))
"""Every game there is."""


@asynccontextmanager
async def open_town(**settings: Any) -> AsyncIterator[House]:
    """A server with these settings whose alarms run; leaving ends everything."""
    async with trio.open_nursery() as nursery:
        town = House(nursery, "blokus-2021-r3", {})
        town.config = dataclasses.replace(town.config, **{"editions": {}, **settings})
        town.server = Server(town.config, town.log, processor_time=lambda: 0.0)
        town.server.stream.subscribe(town.happenings.append)
        nursery.start_soon(town.server.alarms.run)
        yield town
        nursery.cancel_scope.cancel()


async def joined(town: House, game_type: str | None) -> Caller:
    """Somebody new has asked for a game of this type; what happened has not been heard."""
    caller = await town.call()
    attribute = "" if game_type is None else f' gameType="{game_type}"'
    await caller.says(f"<protocol><join{attribute}/>")
    return caller


async def playing(town: House, game_type: str) -> tuple[str, Caller, Caller]:
    """The id of a game of this type that has just begun, and its players; everything has been heard."""
    one, two = await joined(town, game_type), await joined(town, game_type)
    await one.hears()
    await two.hears()
    (room,) = (each for each in town.server.lobby.rooms.values() if each.edition.game_type == game_type)
    return room.id, one, two


def edition_of(town: House, game_type: str) -> Edition:
    return town.server.editions[game_type]
