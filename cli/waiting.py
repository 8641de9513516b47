"""Messages for the user of a player until the game begins: what it is waiting for, and which player it is.

Invariants: this module makes no decisions, and each line is written once. Waiting for less than `ANNOUNCE_AFTER` is not
announced.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import trio

from spielleiter.cli.board import colors_of
from spielleiter.game.api import Seat
from spielleiter.protocol.messages import Memento, RoomData, WelcomeMessage

ANNOUNCE_AFTER: Final = 0.5
"""Seconds of waiting after which it is announced."""


class Waiting:
    """Gets the data of the room (`note`) and announces it with `say`.

    `team_names` returns the names of the teams by seat, in the edition of the room; it is called when the first
    position has arrived.
    """

    def __init__(self, say: Callable[[str], None], team_names: Callable[[], tuple[str, str]]) -> None:
        self._say = say
        self._team_names = team_names
        self._seat: Seat | None = None
        self._is_complete = trio.Event()
        self._has_begun = trio.Event()

    def note(self, data: RoomData) -> None:
        """Process data that the room has sent to its player."""
        if isinstance(data, WelcomeMessage):
            self._seat = data.seat
            self._is_complete.set()
        elif isinstance(data, Memento) and not self._has_begun.is_set():
            self._is_complete.set()
            self._has_begun.set()
            self._say(self._beginning(data))

    def _beginning(self, position: Memento) -> str:
        if self._seat is None:
            return "the game begins"
        colors = ", ".join(colors_of(position.state, self._seat))
        player = f"player {self._team_names()[self._seat]}"
        return f"the game begins: you are {player} ({colors})" if colors else f"the game begins: you are {player}"

    async def run(self, awaited: Callable[[], str]) -> None:
        """Announce that the player waits for `awaited()`, and then for the game to be resumed, if it has to wait."""
        await self._say_unless(self._is_complete, lambda: f"waiting for {awaited()}")
        await self._is_complete.wait()
        await self._say_unless(self._has_begun, lambda: "both players are here; waiting for the game to be resumed")

    async def _say_unless(self, event: trio.Event, line: Callable[[], str]) -> None:
        with trio.move_on_after(ANNOUNCE_AFTER):
            await event.wait()
        if not event.is_set():
            self._say(line())
