"""Live data for all pages: the list of rooms, and the games that pages look at.

Invariants: while no page is open, nothing is computed, and of the games only the last ones that ended are kept. Looking
changes nothing. Each page gets at most ten updates a second, always the newest data. All pages together get a bounded
number of updates a second, and describing positions takes a bounded share of one processor; both bounds are lower while
many moves are played, so that pages do not slow games down. A position is described and encoded at most once. Nothing
waits for a page: its task takes the newest data when the page is ready for it. The number of streams is bounded, in all
and for each address.
"""

from __future__ import annotations

import itertools
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

import msgspec
import trio
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from spielleiter.game.api import Seat, State
from spielleiter.protocol.feed import ThinkingChanged
from spielleiter.protocol.messages import Memento, Result, RoomData
from spielleiter.server.core.policy import Edition
from spielleiter.viewer.game_json import (
    describe_end,
    describe_frame,
    describe_players,
    describe_ply,
    describe_thinking,
    edition_title,
    known_names,
    outcome_of,
    result_points,
    shown_name,
)
from spielleiter.viewer.positions.describe import describe_legal_moves, describe_position, view_of
from spielleiter.viewer.positions.view import Words
from spielleiter.viewer.web.answers import (
    Checkpoint,
    EventStreamResponse,
    SendFrame,
    Versions,
    WebError,
    frame,
    json_response,
    single_frame,
    unknown_ply,
    unknown_room,
    whole_number,
)
from spielleiter.viewer.web.guard import client_share, may_take

MOST_LISTED: Final = 200
"""The maximum number of rooms in the list."""
MOST_PICTURED: Final = 24
"""The number of games at the beginning of the list that have small pictures."""
PICTURE_INTERVAL: Final = 1.0
"""Seconds between two looks at what these pictures show."""
MOST_STREAMS: Final = 384
"""The maximum number of event streams of all pages together; the pages of one address get half of them."""
MOST_WAITING: Final = 16
"""The number of requests that may wait until a whole game is described."""
MOST_DESCRIBED: Final = 8
"""The maximum number of plies of a game that are described in one update; of more, only the newest is."""
SHORTEST_INTERVAL: Final = 0.1
"""Seconds between two updates of a page."""
BUSY_MOVES: Final = 200.0
"""Moves per second from which on the server counts as busy."""

GONE: Final = frame("gone", {})
"""What a page is told when the game that it looks at does not exist any more."""
NO_NOTICE: Final[Words] = {"de": "", "en": ""}
"""The notice when the games are those of the server at this moment."""


@dataclass(frozen=True, slots=True)
class CostLimits:
    """What all pages together may cost."""

    updates_per_second: float
    processor_share: float
    """The share of one processor that describing positions may take."""


IDLE_LIMITS: Final = CostLimits(updates_per_second=1000.0, processor_share=0.1)
BUSY_LIMITS: Final = CostLimits(updates_per_second=25.0, processor_share=0.005)


# -- games in rooms --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class LiveGame:
    """A game in a room, as it is now or as it ended.

    - `record`: the content of the replay so far: every position once, errors, and the result; it grows.
    - `phase`: ``waiting``, ``running``, ``paused`` or ``over``.
    - `free_seats`: the number of seats that anyone may take.
    - `soft_limit`: the lower time limit in seconds of a player that has one; None if nobody has one.
    - `think_times`: by seat, the seconds that each answer took.
    - `requested`: the seat whose move is requested, and the instant since when; None if none is.
    - `thinking`: by the number of a move, from 0, what the program has said about it.
    - `addresses`: by seat, the host and port of the program; empty if nobody has come, or if they are not told.
    - `started_at`, `ended_at`: date and time with their zone; empty if they are not known.
    """

    id: str
    edition: Edition
    names: tuple[str, str]
    state: State
    record: Sequence[RoomData]
    ply: int
    phase: str
    is_paused: bool
    free_seats: int
    is_prepared: bool
    soft_limit: float | None
    think_times: tuple[Sequence[float], Sequence[float]]
    requested: tuple[Seat, float] | None = None
    thinking: Mapping[int, ThinkingChanged] = field(default_factory=dict)
    addresses: tuple[str, str] = ("", "")
    started_at: str = ""
    ended_at: str = ""

    @property
    def shown_names(self) -> tuple[str, str]:
        """What the players are called."""
        return known_names(self.edition, self.names, self.addresses)

    def to_move(self, now: float) -> dict[str, Any] | None:
        """Return the seat whose move is requested, and for how many seconds; None if none is."""
        if self.requested is None:
            return None
        seat, since = self.requested
        return {"player": seat, "since": round(max(0.0, now - since), 3)}

    def summary(self) -> dict[str, Any]:
        """Return one line of the list of rooms; the points are those of the result, as soon as there is one."""
        is_over = self.phase == "over"
        result = next((data for data in reversed(self.record) if isinstance(data, Result)), None) if is_over else None
        points = [self.state.points(seat)[0] for seat in (0, 1)]
        return {
            "id": self.id,
            "gameType": self.edition.game_type,
            "title": edition_title(self.edition),
            "game": view_of(self.state).name,
            "players": [shown_name(name) for name in self.shown_names],
            "ply": self.ply,
            "turn": self.state.turn,
            "points": points if result is None else result_points(result, self.state),
            "state": self.phase,
            "isPaused": self.is_paused,
            "freeSeats": self.free_seats,
            "isPrepared": self.is_prepared,
            "started": self.started_at or None,
            "ended": self.ended_at or None,
            "outcome": outcome_of(self.record, self.shown_names) if is_over else None,
        }


class LiveGames(Protocol):
    """The games of a server, as the hub needs them."""

    @property
    def moves_played(self) -> int:
        """The number of moves that were played so far."""
        ...

    @property
    def notice(self) -> Words:
        """Why the games may not be those of the server at this moment; NO_NOTICE if they are."""
        ...

    def find(self, room_id: str) -> LiveGame | None:
        """Return the game in the room `room_id`, with all its positions; None if there is none."""
        ...

    def listed(self, most: int) -> list[LiveGame]:
        """Return at most `most` games in the order of the list; their positions need not be the newest ones."""
        ...

    async def catch_up(self, checkpoint: Checkpoint) -> None:
        """Let all games have their newest positions."""
        ...


# -- one game that pages look at -------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Ply:
    """A position, and what has been encoded of it and of the move that led to it."""

    memento: Memento
    position: bytes | None = None
    move: bytes | None = None


@dataclass(frozen=True, slots=True)
class _Thought:
    """What was told about the thoughts on a move, in which version of the game, and encoded."""

    told: ThinkingChanged
    version: int
    encoded: msgspec.Raw


class WatchedGame:
    """A game and what has been encoded of it so far. `find` returns the game as it is now, or None.

    If a game plays faster than its positions may be described, the newest one comes first, and the positions before it
    are left out; a page that needs them asks for the whole game.
    """

    def __init__(self, game: LiveGame, find: Callable[[], LiveGame | None]) -> None:
        self.game = game
        self.notice = NO_NOTICE
        """What pages are told about the server beside the game."""
        self.watchers = 0
        self.versions = Versions()
        """Grow whenever there is something new for the pages."""
        self.is_gone = False
        """Whether the room was closed before its game started, so that there is nothing to show any more."""
        self._find = find
        self._plies: list[_Ply] = []
        self._read_count = 0
        """The number of entries of the record that have been read."""
        self._seen_state: object = None
        """What the last look at the game saw, apart from the descriptions of positions."""
        self._state_fields: dict[str, Any] = {}
        """What every frame says beside the positions."""
        self._thinking: dict[int, _Thought] = {}
        """What was said about moves, by their numbers, from 0, in the order in which it was looked at."""
        self._thinking_version = 0
        self._frames: dict[tuple[int, int], tuple[bytes, tuple[int, int]]] = {}
        """The frames of this version, by what a page knows: how many positions, and which version of the thoughts."""

    # -- what the hub calls

    def refresh(self, now: float, notice: Words = NO_NOTICE) -> bool:
        """Look at the game; return whether anything has changed since the last time. Describes no position."""
        self.notice = notice
        found = self._find()
        if found is not None:
            self.game = found
        self.is_gone = found is None and self.game.phase != "over"
        self._read_record()
        self._read_thinking()
        to_move = self.game.to_move(now)
        player = None if to_move is None else to_move["player"]
        seen = (
            *(len(self._plies), self._thinking_version, self.game.is_paused, self.game.phase),
            *(player, found is None, notice),
        )
        if seen == self._seen_state:
            return False
        self._seen_state = seen
        self._state_fields = {
            "end": describe_end(self.game.record, self.game.shown_names),
            "isPaused": self.game.is_paused,
            "state": self.game.phase,
            "players": describe_players(self.game.edition, self.game.shown_names),
            "toMove": to_move,
        }
        return True

    async def describe_new(self, checkpoint: Checkpoint, most: int = MOST_DESCRIBED) -> None:
        """Describe the plies that are new; if there are more than `most`, only the newest one."""
        count, first = len(self._plies), self._shown_count()
        for ply in range(first if count - first <= most else count - 1, count):
            if self._describe(ply):
                await checkpoint()

    def publish(self) -> None:
        """Let the pages know that there is something new."""
        self._frames.clear()
        self.versions.publish()

    # -- what a page's task calls

    def frame_after(self, known: tuple[int, int] = (0, 0)) -> tuple[bytes, tuple[int, int]]:
        """Return the newest data for a page, and what it knows then.

        `known` is what the page knows before that: how many positions, and which version of the thoughts.
        """
        cached = self._frames.get(known)
        if cached is None:
            positions, version = known
            start = count = self._shown_count()
            while start > positions and self._plies[start - 1].position is not None:
                start -= 1
            new = [each.encoded for each in self._thinking.values() if each.version > version]
            data = {"from": start, **_encoded(self._plies[start:count]), "thinking": new, **self._state_fields}
            cached = self._frames[known] = frame("position", data), (count, self._thinking_version)
        return cached

    def content(self) -> object:
        """Return a value that changes whenever a page would be shown something else."""
        return self._shown_count(), self._seen_state

    def _shown_count(self) -> int:
        """Return the number of positions up to the last one that is described; the record may have grown since."""
        count = len(self._plies)
        while count and self._plies[count - 1].position is None:
            count -= 1
        return count

    def is_described(self) -> bool:
        """Return whether all positions so far are described."""
        self._read_record()
        return all(each.position is not None for each in self._plies)

    async def describe_all(self, checkpoint: Checkpoint) -> None:
        """Describe all positions so far."""
        self._read_record()
        for ply in range(len(self._plies)):
            if self._describe(ply):
                await checkpoint()

    def as_replay(self) -> dict[str, Any]:
        """Return the game as far as it is described, in the form of a replay."""
        game = self.game = self._find() or self.game  # as it is now, since describing may have taken a while
        self._read_thinking()
        described = itertools.takewhile(lambda each: each.position is not None, self._plies)
        return {
            **describe_frame(game.edition, game.state, game.shown_names, game.soft_limit),
            "id": game.id,
            "state": game.phase,
            "isPaused": game.is_paused,
            "freeSeats": game.free_seats,
            "isPrepared": game.is_prepared,
            **_encoded(described),
            "thinking": [each.encoded for each in self._thinking.values()],
            "end": describe_end(game.record, game.shown_names),
            "source": "",
        }

    def position(self, ply: int) -> State:
        """Return the position of this ply. Raises WebError if the game has not reached it."""
        self._read_record()
        if not 0 <= ply < len(self._plies):
            raise unknown_ply(ply)
        return self._plies[ply].memento.state

    def _read_record(self) -> None:
        """Take note of the positions that were added to the record."""
        record = self.game.record
        self._plies += [_Ply(data) for data in record[self._read_count :] if isinstance(data, Memento)]
        self._read_count = len(record)

    def _read_thinking(self) -> None:
        """Take note of what was said since the last look."""
        for number, told in self.game.thinking.items():
            known = self._thinking.get(number)
            if known is None or known.told is not told:
                self._thinking_version += 1
                text = msgspec.json.encode(describe_thinking(number + 1, told.seat, told.thinking))
                self._thinking[number] = _Thought(told, self._thinking_version, msgspec.Raw(text))

    def _describe(self, ply: int) -> bool:
        """Describe a ply, unless another task has done it; return whether it was new."""
        new = self._plies[ply]
        if new.position is not None:
            return False
        before = [each.memento.state for each in self._plies[:ply]]
        previous = before[-1] if before else None
        new.position = msgspec.json.encode(describe_position(new.memento.state, ply, previous))
        if previous is not None:
            seat = previous.seat_on_turn
            times, number = self.game.think_times[seat], sum(state.seat_on_turn == seat for state in before[:-1])
            time = round(times[number], 4) if number < len(times) else None
            new.move = msgspec.json.encode(describe_ply(ply, previous, new.memento, time))
        return True


def _encoded(plies: Iterable[_Ply]) -> dict[str, list[msgspec.Raw]]:
    """Return the positions and the moves of these plies, as far as they are described."""
    found = list(plies)
    return {
        "positions": [msgspec.Raw(each.position) for each in found if each.position is not None],
        "plies": [msgspec.Raw(each.move) for each in found if each.move is not None],
    }


# -- all pages -------------------------------------------------------------------------------------------------------


class Hub:
    """Computes live data for the pages.

    `games` are the games to show, and `processor_time` is the clock that measures the cost of describing, in seconds.
    """

    def __init__(self, games: LiveGames, processor_time: Callable[[], float] = time.thread_time) -> None:
        self.games = games
        self._processor_time = processor_time
        self._streams: Counter[str] = Counter()
        """The number of open event streams by address."""
        self._has_streams = trio.Event()
        self._list_watchers = 0
        self._list: list[dict[str, Any]] | None = None
        self._list_notice = NO_NOTICE
        self._list_frame = b""
        self._list_versions = Versions()
        """Grow when the list or its pictures have changed."""
        self._pictures: dict[str, Any] = {}
        self._pictures_frame = frame("pictures", {})
        self._pictured_at = -PICTURE_INTERVAL
        self._watched: dict[str, WatchedGame] = {}
        self._describing = trio.CapacityLimiter(1)
        self._describes_after = trio.current_time()
        self._is_busy = False
        self._moves = games.moves_played
        self._looked_at = trio.current_time()

    @property
    def stream_count(self) -> int:
        """The number of open event streams."""
        return self._streams.total()

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

    def watch_list(self, address: str) -> EventStreamResponse:
        """Return a stream of the list of rooms for one page. Raises WebError if there are too many pages."""
        self.open_stream(address)
        self._list_watchers += 1
        if self._list_watchers == 1:
            self._refresh_list()  # it is as old as the last page

        async def write(send_frame: SendFrame) -> None:
            version, notice = 0, NO_NOTICE
            rooms, pictures = b"", frame("pictures", {})
            while True:
                version = await self._list_versions.newer_than(version, send_frame)
                if self.games.notice != notice:
                    notice = self.games.notice
                    await send_frame(frame("notice", notice))
                new = b"" if self._list_frame == rooms else self._list_frame
                new += b"" if self._pictures_frame == pictures else self._pictures_frame
                rooms, pictures = self._list_frame, self._pictures_frame
                if new:  # otherwise only the notice has changed, or a change was taken back
                    await send_frame(new)

        def close() -> None:
            self._list_watchers -= 1
            self.close_stream(address)

        return EventStreamResponse(write, close)

    def game(self, room_id: str) -> WatchedGame:
        """Return the game in the room `room_id`, running, over or not started. Raises WebError if there is none."""
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

    def watch_game(self, room_id: str, address: str) -> EventStreamResponse:
        """Return a stream of one game for one page: everything at first, and then what is new.

        Raises WebError if there is no such game, or if there are too many pages.
        """
        watched = self.game(room_id)
        self.open_stream(address)
        watched.watchers += 1
        self._watched[room_id] = watched

        async def write(send_frame: SendFrame) -> None:
            known, notice = (0, 0), NO_NOTICE
            await self._describe_first(watched)
            while not watched.is_gone:
                version, content = watched.versions.newest, watched.content()
                if watched.notice != notice:
                    notice = watched.notice
                    await send_frame(frame("notice", notice))
                data, known = watched.frame_after(known)
                await send_frame(data)
                while watched.content() == content:
                    version = await watched.versions.newer_than(version, send_frame)
            await send_frame(GONE)

        def close() -> None:
            watched.watchers -= 1
            if not watched.watchers:
                self._watched.pop(watched.game.id, None)
            self.close_stream(address)

        return EventStreamResponse(write, close)

    async def _describe_first(self, watched: WatchedGame) -> None:
        """Describe a game that a page has just opened: all of it, or only the newest position if the server is busy."""
        has_changed = watched.refresh(trio.current_time(), self.games.notice)
        if self._is_busy or self._describing.statistics().tasks_waiting >= MOST_WAITING:
            await watched.describe_new(trio.lowlevel.checkpoint)
        else:
            await self._describe_whole(watched)
        if has_changed:
            watched.publish()

    async def run(self) -> None:
        """Compute live data while pages are open; runs until cancelled."""
        while True:
            await self._has_streams.wait()
            self._measure_load(trio.current_time())
            cost = await self._timed(self._update)
            limits = self._cost_limits
            await trio.sleep(
                max(SHORTEST_INTERVAL, self.stream_count / limits.updates_per_second, cost / limits.processor_share)
            )

    def _measure_load(self, now: float) -> None:
        if now - self._looked_at >= SHORTEST_INTERVAL:
            moves = self.games.moves_played
            self._is_busy = (moves - self._moves) / (now - self._looked_at) > BUSY_MOVES
            self._moves, self._looked_at = moves, now

    @property
    def _cost_limits(self) -> CostLimits:
        return BUSY_LIMITS if self._is_busy else IDLE_LIMITS

    async def _update(self, checkpoint: Checkpoint) -> None:
        """Compute everything that has changed."""
        if self._list_watchers:
            if not self._is_busy:
                await self.games.catch_up(checkpoint)
            self._refresh_list()
        for watched in list(self._watched.values()):
            if watched.refresh(trio.current_time(), self.games.notice):
                await watched.describe_new(checkpoint, 1 if self._is_busy else MOST_DESCRIBED)
                watched.publish()
            else:
                await checkpoint()

    async def whole_list(self) -> list[dict[str, Any]]:
        """Return the list of rooms as JSON objects."""
        self._measure_load(trio.current_time())
        if not self._is_busy:
            await self.games.catch_up(trio.lowlevel.checkpoint)
        return [game.summary() for game in self.games.listed(MOST_LISTED)]

    def _refresh_list(self) -> None:
        games, notice, now = self.games.listed(MOST_LISTED), self.games.notice, trio.current_time()
        listed, has_changed = [game.summary() for game in games], False
        if (listed, notice) != (self._list, self._list_notice):
            self._list, self._list_notice, has_changed = listed, notice, True
            self._list_frame = frame("rooms", listed)
        if now - self._pictured_at >= PICTURE_INTERVAL:
            self._pictured_at = now
            pictures = {
                game.id: view_of(game.state).picture(game.state) for game in games[:MOST_PICTURED] if game.record
            }
            if pictures != self._pictures:
                self._pictures, has_changed = pictures, True
                self._pictures_frame = frame("pictures", pictures)
        if has_changed:
            self._list_versions.publish()

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
            self._describes_after = trio.current_time() + cost / self._cost_limits.processor_share

    async def _timed(self, describe: Callable[[Checkpoint], Awaitable[None]]) -> float:
        """Await `describe`, and return the processor time that it took without its checkpoints, in seconds."""
        cost = 0.0
        before = self._processor_time()

        async def checkpoint() -> None:
            nonlocal cost, before
            cost += self._processor_time() - before
            await trio.lowlevel.checkpoint()
            before = self._processor_time()

        await describe(checkpoint)
        return cost + self._processor_time() - before


def room_routes(hub: Hub, look_for: Callable[[str], Awaitable[None]]) -> list[BaseRoute]:
    """Return the routes of rooms: the list, one game, its legal moves, and both as event streams.

    `look_for` is awaited with the id of a room before its game is looked up.
    """

    async def rooms(_request: Request) -> Response:
        """The list of rooms."""
        return json_response({"rooms": await hub.whole_list()})

    async def room(request: Request) -> Response:
        """One game with all positions so far."""
        await look_for(request.path_params["room"])
        return json_response(await hub.whole_game(request.path_params["room"]))

    async def legal(request: Request) -> Response:
        """The legal moves of the side to move after `?ply=N` moves."""
        ply = whole_number(request, "ply")
        return json_response(describe_legal_moves(hub.game(request.path_params["room"]).position(ply), ply))

    async def list_events(request: Request) -> Response:
        """Server-sent events: `rooms` with the list, `pictures` with what the first games of it look like."""
        return hub.watch_list(client_share(request))

    async def room_events(request: Request) -> Response:
        """Server-sent events: `position` with what is new in a game.

        If its `from` is greater than the number of positions before it, the address of the room has the missing ones.
        """
        room_id = request.path_params["room"]
        await look_for(room_id)
        try:
            hub.game(room_id)
        except WebError:  # a page with an event stream cannot read the body of a refusal
            return single_frame(GONE)
        return hub.watch_game(room_id, client_share(request))

    return [
        Route("/api/rooms", rooms),
        Route("/api/rooms/{room}", room),
        Route("/api/rooms/{room}/legal", legal),
        Route("/api/events", list_events),
        Route("/api/rooms/{room}/events", room_events),
    ]
