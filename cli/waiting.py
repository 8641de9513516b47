"""What a player's user is told until the game has begun: whom the player waits for, and which player it is.

Invariants: nothing is decided here, and each line is said once. Waiting that is over within `PATIENCE` is not worth a
line.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import trio

from spielleiter.cli.board import colors_of
from spielleiter.game.api import Seat
from spielleiter.protocol.messages import Memento, RoomData, WelcomeMessage

PATIENCE: Final = 0.5
"""Seconds after which waiting is told."""


class Waiting:
    """Hears with `note` what the room says, and says with `say` what there is to know.

    `team_names`: by seat, as the edition of the room calls them; asked for once the first position has come.
    """

    def __init__(self, say: Callable[[str], None], team_names: Callable[[], tuple[str, str]]) -> None:
        self._say = say
        self._team_names = team_names
        self._seat: Seat | None = None
        self._is_complete = trio.Event()
        self._has_begun = trio.Event()

    def note(self, data: RoomData) -> None:
        """Something that the room says to its player."""
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

    async def run(self, whom: Callable[[], str]) -> None:
        """Say that the player waits for `whom`, and then for the game to go on, where either takes its time."""
        await self._tell_unless(self._is_complete, lambda: f"waiting for {whom()}")
        await self._is_complete.wait()
        await self._tell_unless(self._has_begun, lambda: "both players are here; waiting for the game to be resumed")

    async def _tell_unless(self, event: trio.Event, line: Callable[[], str]) -> None:
        with trio.move_on_after(PATIENCE):
            await event.wait()
        if not event.is_set():
            self._say(line())
