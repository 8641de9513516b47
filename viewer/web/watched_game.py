"""One game that pages look at: its positions as JSON, each encoded once for all pages.

Invariants: a position is described and encoded at most once, and only while a page looks at the game. What a page is
sent is built from these bytes. If a game plays faster than its positions may be described, the newest one comes first,
and the positions before it are left out; a page that needs them asks for the whole game.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final

import msgspec
import trio

from spielleiter.game.api import Seat
from spielleiter.protocol.messages import Memento
from spielleiter.viewer.positions.describe import describe_position, view_of
from spielleiter.viewer.replays.ending import describe_end, shown_name
from spielleiter.viewer.replays.game import FORMAT, LONGEST_HINT, MOST_HINTS
from spielleiter.viewer.web.live_games import LiveGame
from spielleiter.viewer.web.server_sent_events import frame

CATCH_UP: Final = 8
"""The number of plies that are described in one update. If there are more new ones, only the newest is."""

Breathe = Callable[[], Awaitable[None]]
"""Called between two positions, so that other tasks can run."""


class WatchedGame:
    """A game and what has been encoded of it so far. `find` returns the game as it is now, or None."""

    def __init__(self, game: LiveGame, find: Callable[[], LiveGame | None]) -> None:
        self.game = game
        self.watchers = 0
        self.version = 0
        """Changes whenever there is something new for the pages."""
        self.is_gone = False
        """Whether the room was closed before its game started, so that there is nothing to show any more."""
        self._find = find
        self._mementos: list[Memento] = []
        self._scanned = 0
        self._seats: list[tuple[Seat, int]] = []
        """For each ply, the seat that moved, and the number of its moves before."""
        self._moves = [0, 0]
        self._positions: list[bytes | None] = []
        self._plies: list[bytes | None] = []
        self._key: object = None
        self._tail: dict[str, Any] = {}
        self._changed = trio.Event()
        self._frames: dict[int, tuple[bytes, int]] = {}
        """The frames of this version, by the number of positions that a page has."""

    # -- what the hub calls -----------------------------------------------------------------------------------------

    def refresh(self, now: float) -> bool:
        """Look at the game; return whether anything has changed since the last time. Describes no position."""
        found = self._find()
        if found is not None:
            self.game = found
        self.is_gone = found is None and self.game.phase_name != "over"
        self._scan()
        to_move = self.game.to_move(now)
        player = None if to_move is None else to_move["player"]
        key = (len(self._mementos), self.game.is_paused, self.game.phase_name, player, found is None)
        if key == self._key:
            return False
        self._key = key
        self._tail = {
            "end": describe_end(self.game.record),
            "isPaused": self.game.is_paused,
            "state": self.game.phase_name,
            "players": self._players(),
            "toMove": to_move,
        }
        return True

    async def describe_new(self, breathe: Breathe, most: int = CATCH_UP) -> None:
        """Describe the plies that are new; if there are more than `most`, only the newest one."""
        count = len(self._mementos)
        first = next((ply for ply in range(count, 0, -1) if self._positions[ply - 1] is not None), 0)
        for ply in range(first if count - first <= most else count - 1, count):
            self._describe(ply)
            await breathe()

    def publish(self) -> None:
        """Let the pages know that there is something new."""
        self.version += 1
        self._frames.clear()
        self._changed.set()
        self._changed = trio.Event()

    # -- what a page's task calls -----------------------------------------------------------------------------------

    async def wait_for_change(self, version: int) -> None:
        """Wait until there is something newer than `version`."""
        while self.version == version:
            await self._changed.wait()

    def frame_after(self, known: int) -> tuple[bytes, int]:
        """Return the newest data for a page that has `known` positions, and the number that it has then."""
        cached = self._frames.get(known)
        if cached is None:
            start = count = self._shown_count()
            while start > known and self._positions[start - 1] is not None:
                start -= 1
            data = {
                "from": start,
                "positions": _raw(self._positions[start:]),
                "plies": _raw(self._plies[max(start, 1) : count]),
                **self._tail,
            }
            cached = self._frames[known] = frame("position", data), count
        return cached

    def content(self) -> object:
        """Return a value that changes whenever a page would be shown something else."""
        return self._shown_count(), self._key

    def _shown_count(self) -> int:
        """Return the number of positions up to the last one that is described; the record may have grown since."""
        count = len(self._positions)
        while count and self._positions[count - 1] is None:
            count -= 1
        return count

    def is_described(self) -> bool:
        """Return whether all positions so far are described."""
        self._scan()
        return None not in self._positions

    async def describe_all(self, breathe: Breathe) -> None:
        """Describe all positions so far."""
        self._scan()
        for ply in range(len(self._mementos)):
            if self._positions[ply] is None:
                self._describe(ply)
                await breathe()

    def as_replay(self) -> dict[str, Any]:
        """Return the game as far as it is described, in the form of a replay."""
        game, edition = self.game, self.game.edition
        count = next((ply for ply, data in enumerate(self._positions) if data is None), len(self._positions))
        view = view_of(game.state)
        return {
            "format": FORMAT,
            "id": game.id,
            "state": game.phase_name,
            "isPaused": game.is_paused,
            "freeSeats": game.free_seats,
            "isPrepared": game.is_prepared,
            "game": view.name,
            "gameType": edition.game_type,
            "edition": edition.name,
            "title": " – ".join(shown_name(name) or f"{number}" for number, name in enumerate(game.names, 1)),
            "players": self._players(),
            "positions": _raw(self._positions[:count]),
            "plies": _raw(self._plies[1:count]),
            "softLimitSeconds": game.soft_limit,
            "end": describe_end(self.game.record),
            "pieces": view.pieces(),
            "source": "",
        }

    def memento(self, ply: int) -> Memento | None:
        """Return the position of this ply, None if the game has not reached it."""
        self._scan()
        return self._mementos[ply] if 0 <= ply < len(self._mementos) else None

    def _players(self) -> list[dict[str, str]]:
        teams = self.game.edition.dialect.team_names
        return [{"name": shown_name(name), "team": team} for name, team in zip(self.game.names, teams, strict=True)]

    # -- positions --------------------------------------------------------------------------------------------------

    def _scan(self) -> None:
        """Take note of the positions that were added to the record."""
        record = self.game.record
        for data in record[self._scanned :]:
            if isinstance(data, Memento):
                if self._mementos:
                    seat = self._mementos[-1].state.seat_on_turn
                    self._seats.append((seat, self._moves[seat]))
                    self._moves[seat] += 1
                else:
                    self._seats.append((0, 0))  # no move led to the first position
                self._mementos.append(data)
                self._positions.append(None)
                self._plies.append(None)
        self._scanned = len(record)

    def _describe(self, ply: int) -> None:
        state = self._mementos[ply].state
        previous = self._mementos[ply - 1].state if ply else None
        self._positions[ply] = msgspec.json.encode(describe_position(state, ply, previous))
        if previous is None:
            return
        seat, number = self._seats[ply]
        times = self.game.think_times(seat)
        hints = self._mementos[ply].hints[:MOST_HINTS]
        self._plies[ply] = msgspec.json.encode(
            {
                "ply": ply,
                "player": seat,
                "color": view_of(previous).color(previous, seat),
                "thinkSeconds": round(times[number], 4) if number < len(times) else None,
                "hints": [{"content": hint[:LONGEST_HINT]} for hint in hints],
                "stderr": None,
            }
        )


def _raw(parts: list[bytes | None]) -> list[msgspec.Raw]:
    return [msgspec.Raw(part) for part in parts if part is not None]
