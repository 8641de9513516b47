"""A server for all seasons, on memory streams; see `tests.server.harness`."""

from __future__ import annotations

import dataclasses
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import trio

from spielleiter.server.app import Server
from spielleiter.server.core.policy import Edition
from spielleiter.server.editions import choose_editions
from tests.server.harness import Caller, ServerHarness

GAME_TYPES = tuple(choose_editions({}, {}))
"""The gameTypes of all games."""


@asynccontextmanager
async def open_all_games(**settings: Any) -> AsyncIterator[ServerHarness]:
    """Run a server with these settings and its timers until the context is left."""
    async with trio.open_nursery() as nursery:
        harness = ServerHarness(nursery, "blokus-2021-r3", {})
        harness.config = dataclasses.replace(harness.config, **{"editions": {}, **settings})
        harness.server = Server(harness.config, harness.log, processor_time=lambda: 0.0)
        harness.server.stream.subscribe(harness.server_events.append)
        nursery.start_soon(harness.server.timers.run)
        yield harness
        nursery.cancel_scope.cancel()


async def joined(harness: ServerHarness, game_type: str | None) -> Caller:
    """Connect a new caller that joins a game of this type; it has not read anything yet."""
    caller = await harness.call()
    attribute = "" if game_type is None else f' gameType="{game_type}"'
    await caller.send(f"<protocol><join{attribute}/>")
    return caller


async def playing(harness: ServerHarness, game_type: str) -> tuple[str, Caller, Caller]:
    """Start a game of this type; return its id and its players, which have read everything."""
    one, two = await joined(harness, game_type), await joined(harness, game_type)
    await one.receive()
    await two.receive()
    (room,) = (each for each in harness.server.lobby.rooms.values() if each.edition.game_type == game_type)
    return room.id, one, two


def edition_of(harness: ServerHarness, game_type: str) -> Edition:
    return harness.server.editions[game_type]
