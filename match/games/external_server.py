"""A room for a game at a server that is already running (`--server`).

Invariants: the game is known only from the replies to an administrator and the packets to an observer. Which program
uses which connection is not known.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial

from spielleiter.client.admin import AdminClient, Observation, PreparedRoom
from spielleiter.game.api import Game, GameOptionError, State
from spielleiter.match.plan import PlannedGame
from spielleiter.match.records.wire_log import WireLog
from spielleiter.match.setup import MatchSetup
from spielleiter.protocol.messages import Slot
from spielleiter.server.core.policy import Edition
from spielleiter.server.editions import choose_editions


class ExternalRoom:
    """A room that was prepared at another server; `reservations` and `addresses` are indexed by program."""

    def __init__(
        self,
        admin: AdminClient,
        room: PreparedRoom,
        observation: Observation,
        address: tuple[str, int],
        seats: tuple[int, int],
        edition: Edition,
    ) -> None:
        self.observation = observation
        """The game as an observer sees it."""
        self.addresses = address, address
        self.dialect = edition.dialect
        self.has_ended = is_over_by_any_options(edition.game)
        codes = dict(zip(seats, room.reservations, strict=True))
        self.reservations = codes[0], codes[1]
        self._admin = admin
        self._room_id = room.room_id

    async def cancel(self) -> None:
        """Cancel the game. Raises ClientError."""
        await self._admin.cancel(self._room_id)


def is_over_by_any_options(game: Game) -> Callable[[State], bool]:
    """Return a predicate: whether the game is over in a position, under any setting of the options of the rules.

    The server may use any of these settings, and the protocol does not say which.
    """
    variants = [game]
    for name in sorted(game.option_names):
        try:
            game.with_options({name: ""})
        except GameOptionError as error:
            variants += [game.with_options({name: value}) for value in error.known]
    return lambda state: any(variant.resume(state).outcome() is not None for variant in variants)


@asynccontextmanager
async def open_external_room(setup: MatchSetup, planned: PlannedGame, log: WireLog) -> AsyncIterator[ExternalRoom]:
    """Prepare a room for `planned` at the server that the setup names.

    The bytes that the server sends are written to `log`, which the caller has to close. Raises OSError and ClientError,
    alone or in exception groups.
    """
    assert setup.server is not None
    host, port = setup.server
    edition = choose_editions(setup.editions, {})[setup.game_type]
    slots = [Slot(setup.names[program], can_timeout=setup.entrants[program].can_timeout) for program in planned.seats]
    tap = partial(log.write, "observer <")
    async with AdminClient.connect(host, port, setup.password, dialect=edition.dialect, tap=tap) as admin:
        room = await admin.prepare(setup.game_type, slots)
        observation = await admin.observe(room.room_id)
        yield ExternalRoom(admin, room, observation, (host, port), planned.seats, edition)
