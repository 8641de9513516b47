"""Live data for all pages: the list of rooms, and the games that pages look at.

Invariants: while no page is open, nothing is computed and no event is subscribed to. Each page gets at most ten updates
a second, always the newest data. All pages together get a bounded number of updates a second, and describing positions
takes a bounded share of one processor; both bounds are lower while many moves are played, so that pages do not slow
games down. Nothing waits for a page: its task takes the newest data when the page is ready for it. The number of
streams is bounded, in all and for each address.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final

import trio

from spielleiter.viewer.web.errors import WebError, unknown_room
from spielleiter.viewer.web.live_games import LiveGames
from spielleiter.viewer.web.server_sent_events import frame
from spielleiter.viewer.web.shares import may_take
from spielleiter.viewer.web.watched_game import CATCH_UP, Breathe, WatchedGame

MOST_STREAMS: Final = 384
"""The maximum number of event streams of all pages together; the pages of one address get half of them."""
MOST_WAITING: Final = 16
"""The number of requests that may wait until a whole game is described."""
SHORTEST_INTERVAL: Final = 0.1
"""Seconds between two updates of a page."""
BUSY_MOVES: Final = 200.0
"""Moves per second from which on the server counts as busy."""


@dataclass(frozen=True, slots=True)
class Allowance:
    """What the pages may cost."""

    updates: float
    """Updates per second, for all pages together."""
    share: float
    """The share of one processor that describing positions may take."""


GONE: Final = frame("gone", {})
"""What a page is told when the game that it looks at does not exist any more."""
IDLE: Final = Allowance(updates=1000.0, share=0.1)
BUSY: Final = Allowance(updates=25.0, share=0.005)


class Hub:
    """Computes live data for the pages.

    `games` are the games to show, `count_moves` returns the number of moves that were played so far, and
    `processor_time` is the clock that measures the cost of describing, in seconds.
    """

    def __init__(
        self,
        games: LiveGames,
        count_moves: Callable[[], int],
        processor_time: Callable[[], float] = time.thread_time,
    ) -> None:
        self.games = games
        self._count_moves = count_moves
        self._processor_time = processor_time
        self._streams: Counter[str] = Counter()
        """The number of open event streams by address."""
        self._list_watchers = 0
        self._watched: dict[str, WatchedGame] = {}
        self._has_streams = trio.Event()
        self._list: list[dict[str, Any]] = []
        self._list_frame = b""
        self._list_version = 0
        self._list_changed = trio.Event()
        self._describing = trio.CapacityLimiter(1)
        self._describes_after = trio.current_time()
        self._is_busy = False
        self._moves = count_moves()
        self._looked_at = trio.current_time()

    @property
    def stream_count(self) -> int:
        """The number of open event streams."""
        return self._streams.total()

    # -- streams of pages -------------------------------------------------------------------------------------------

    def open_stream(self, address: str) -> None:
        """Count one more stream to `address`; `close_stream` must follow. Raises WebError if there are too many."""
        if not may_take(self._streams, address, MOST_STREAMS):
            count, own = self.stream_count, self._streams[address]
            raise WebError(
                429,
                f"Es sind schon {count} Seiten offen, {own} davon von deiner Adresse, mehr erlaubt der Server nicht.",
                f"There are {count} pages open already, {own} of them from your address, as many as is allowed.",
            )
        self._streams[address] += 1
        self._has_streams.set()

    def close_stream(self, address: str) -> None:
        """Count one stream to `address` less."""
        self._streams[address] -= 1
        self._streams += Counter()  # drop addresses whose count is 0
        if not self._streams:
            self._has_streams = trio.Event()

    def watch_list(self, address: str) -> ListSource:
        """Return the frames of the list of rooms for one page. Raises WebError if there are too many pages."""
        self.open_stream(address)
        self._list_watchers += 1
        if self._list_watchers == 1:
            self._refresh_list()  # it is as old as the last page
        return ListSource(self, address)

    def watch_game(self, room_id: str, address: str) -> GameSource:
        """Return the frames of one game for one page. Raises WebError if there is no such game, or too many pages."""
        watched = self.game(room_id)
        self.open_stream(address)
        watched.watchers += 1
        self._watched[room_id] = watched
        return GameSource(self, watched, address)

    def has_game(self, room_id: str) -> bool:
        """Return whether there is a game in the room `room_id`, running, over or not started."""
        return room_id in self._watched or self.games.find(room_id) is not None

    def game(self, room_id: str) -> WatchedGame:
        """Return the game in the room `room_id`. Raises WebError if there is none."""
        watched = self._watched.get(room_id)
        if watched is not None:
            return watched
        found = self.games.find(room_id)
        if found is None:
            raise unknown_room(room_id)
        return WatchedGame(found, lambda: self.games.find(room_id))

    async def whole_game(self, room_id: str) -> dict[str, Any]:
        """Return the whole game in the room `room_id`. Raises WebError if there is none."""
        watched = self.game(room_id)
        await self._describe_whole(watched)
        return watched.as_replay()

    # -- the task that computes -------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Compute live data while pages are open; runs until cancelled."""
        while True:
            await self._has_streams.wait()
            allowance = self._allowance()
            cost = await self._update()
            await trio.sleep(max(SHORTEST_INTERVAL, self.stream_count / allowance.updates, cost / allowance.share))

    def _allowance(self) -> Allowance:
        """Return what the pages may cost now, from the moves that were played since the last call."""
        moves, now = self._count_moves(), trio.current_time()
        per_second = (moves - self._moves) / max(now - self._looked_at, SHORTEST_INTERVAL)
        self._moves, self._looked_at = moves, now
        self._is_busy = per_second > BUSY_MOVES
        return BUSY if self._is_busy else IDLE

    async def _update(self) -> float:
        """Compute everything that has changed; return the processor time that it took, in seconds."""

        async def update(breathe: Breathe) -> None:
            if self._list_watchers:
                self._refresh_list()
            for watched in list(self._watched.values()):
                if watched.refresh(trio.current_time()):
                    await watched.describe_new(breathe, 1 if self._is_busy else CATCH_UP)
                    watched.publish()
                else:
                    await breathe()

        return await self._timed(update)

    def _refresh_list(self) -> None:
        listed = self.games.listed()
        if listed == self._list and self._list_frame:
            return
        self._list = listed
        self._list_frame = frame("rooms", listed)
        self._list_version += 1
        self._list_changed.set()
        self._list_changed = trio.Event()

    # -- called by the sources --------------------------------------------------------------------------------------

    async def next_list(self, version: int) -> tuple[bytes, int]:
        """Wait for a list that is newer than `version`; return its frame and its version."""
        while self._list_version == version:
            await self._list_changed.wait()
        return self._list_frame, self._list_version

    def leave_list(self, address: str) -> None:
        """Forget a page that has watched the list."""
        self._list_watchers -= 1
        self.close_stream(address)

    async def describe_first(self, watched: WatchedGame) -> None:
        """Describe a game that a page has just opened: all of it, or only the newest position if the server is busy."""
        has_changed = watched.refresh(trio.current_time())
        if self._is_busy:
            await watched.describe_new(trio.lowlevel.checkpoint)
        else:
            await self._describe_whole(watched)
        if has_changed:
            watched.publish()

    async def _describe_whole(self, watched: WatchedGame) -> None:
        """Describe all positions of a game, one game at a time, within the share of the processor that is allowed.

        Raises WebError if too many requests wait for this.
        """
        if watched.is_described():
            return
        if self._describing.statistics().tasks_waiting >= MOST_WAITING:
            raise WebError(
                429,
                "Der Server ist gerade zu beschäftigt, um dieses Spiel ganz zu zeigen; versuche es gleich noch einmal.",
                "The server is too busy to show all of this game; try again in a moment.",
            )
        async with self._describing:
            await trio.sleep_until(self._describes_after)
            cost = await self._timed(watched.describe_all)
            share = BUSY.share if self._is_busy else IDLE.share
            self._describes_after = trio.current_time() + cost / share

    async def _timed(self, describe: Callable[[Breathe], Awaitable[None]]) -> float:
        """Await `describe`, and return the processor time that it took without its pauses, in seconds."""
        cost = 0.0
        before = self._processor_time()

        async def breathe() -> None:
            nonlocal cost, before
            cost += self._processor_time() - before
            await trio.lowlevel.checkpoint()
            before = self._processor_time()

        await describe(breathe)
        return cost + self._processor_time() - before

    def leave_game(self, watched: WatchedGame, address: str) -> None:
        """Forget a page that has watched this game."""
        watched.watchers -= 1
        if not watched.watchers:
            self._watched.pop(watched.game.id, None)
        self.close_stream(address)


class ListSource:
    """The frames of the list of rooms for one page."""

    def __init__(self, hub: Hub, address: str) -> None:
        self._hub = hub
        self._address = address
        self._version = -1

    async def next_frame(self) -> bytes | None:
        data, self._version = await self._hub.next_list(self._version)
        return data

    def close(self) -> None:
        self._hub.leave_list(self._address)


class GameSource:
    """The frames of one game for one page: everything at first, and then what is new."""

    def __init__(self, hub: Hub, watched: WatchedGame, address: str) -> None:
        self._hub = hub
        self._address = address
        self._watched = watched
        self._version: int | None = None
        self._content: object = None
        self._known = 0
        self._is_gone = False

    async def next_frame(self) -> bytes | None:
        if self._is_gone:
            return None
        if self._version is None:
            await self._hub.describe_first(self._watched)
        while self._version is not None and self._watched.content() == self._content:
            await self._watched.wait_for_change(self._version)
            self._version = self._watched.version
        self._version, self._content = self._watched.version, self._watched.content()
        if self._watched.is_gone:
            self._is_gone = True
            return GONE
        data, self._known = self._watched.frame_after(self._known)
        return data

    def close(self) -> None:
        self._hub.leave_game(self._watched, self._address)
