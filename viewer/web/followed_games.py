"""The games of a server, rebuilt from what its feed tells.

Invariants: nothing is computed for a game that nobody looks at; its moves are kept as text. They are applied when
somebody looks, in the order in which they were told, so the record is the same as that of the room. A server that tells
something impossible costs that one game its further positions, and nothing else. After the connection was lost, the
games of before are shown until those of now are known. The number of ended games is bounded; the number of the others
is bounded by what the server allows.
"""

from __future__ import annotations

import random
from collections import OrderedDict, deque
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Final, TypeAlias

import trio
from msgspec import structs

from spielleiter.game.api import GameError, Seat, State
from spielleiter.protocol.errors import RemoteProtocolError
from spielleiter.protocol.feed import (
    Current,
    ErrorSent,
    FeedEvent,
    GameEnded,
    GameStarted,
    MovePlayed,
    PauseChanged,
    RequestChanged,
    RoomClosed,
    RoomOpened,
    SeatsChanged,
    ServerDescribed,
    Stopping,
    ThinkingChanged,
    read_data,
)
from spielleiter.protocol.messages import ErrorMessage, Memento, MoveData, Paused, Result, RoomData
from spielleiter.protocol.positions import read_position
from spielleiter.server.core.policy import Edition
from spielleiter.viewer.positions.view import Words
from spielleiter.viewer.web.answers import Checkpoint
from spielleiter.viewer.web.live_games import NO_NOTICE, LiveGame

ENDED_GAMES: Final = 32
"""The number of ended games that the pages can still show."""
MOST_TOLD: Final = 2_000
"""The maximum number of moves and errors of a game that are kept: several times the plies of the longest game."""

Recorded: TypeAlias = GameStarted | MovePlayed | ErrorSent | GameEnded
"""What adds something to the record of a room."""
_SEATS: Final = 2
_UNREADABLE: Final = (GameError, RemoteProtocolError)


class FollowedGame:
    """A game in a room: what was told about it, and its record as far as somebody has looked at it."""

    def __init__(self, room_id: str, edition: Edition, names: tuple[str, str], *, is_prepared: bool = True) -> None:
        self.id = room_id
        self.edition = edition
        self.names = names
        self.is_prepared = is_prepared
        self.is_paused = False
        self.phase = "waiting"
        self.started_at = ""
        """The date and time at which the game began, with its zone; empty if that is not known."""
        self.ended_at = ""
        self._addresses = "", ""
        self._free_seats = 0
        self._soft_limit: float | None = None
        self._ply = 0
        self._think_times: tuple[list[float], list[float]] = ([], [])
        self._requested: tuple[Seat | None, float] | None = None
        """The seat whose move is requested (None: the one to move in the last position), and the instant since when."""
        self._thinking: dict[int, ThinkingChanged] = {}
        """By the number of a move, from 0: what was said about it."""
        self._told: deque[Recorded] = deque()
        """What was not looked at yet."""
        self._is_readable = True
        self._state: State | None = None
        self._record: list[RoomData] = []

    def apply(self, event: FeedEvent, now: float) -> None:
        """Take note of an event of this room; `now` is the present instant in seconds."""
        match event:
            case MovePlayed(seat=seat, ply=ply, think_time=think_time):
                self._ply = ply + 1
                self._think_times[seat % 2].append(think_time)
                self._requested = None, now
                self._keep(event)
            case ThinkingChanged(ply=ply):
                if ply < MOST_TOLD:
                    self._thinking[ply] = event
            case RequestChanged(seat=seat, elapsed=elapsed):
                self._requested = None if seat is None else (seat, now - (elapsed or 0.0))
            case RoomOpened() | SeatsChanged():
                self.names, self._free_seats, self._addresses = event.names, event.free_seats, event.addresses
                if isinstance(event, RoomOpened):
                    self._note_limits(event.soft_timeouts)
            case GameStarted(names=names, is_paused=is_paused, soft_timeouts=soft_timeouts):
                self.names, self._free_seats, self.is_paused, self.phase = names, 0, is_paused, "running"
                self._addresses = event.addresses
                self._note_limits(soft_timeouts)
                self._keep(event)
            case ErrorSent():
                self._keep(event)
            case PauseChanged(is_paused=is_paused):
                self.is_paused = is_paused
            case GameEnded(think_times=(first, second)):
                self._keep(event)
                self._end()
                self._think_times = list(first), list(second)
            case _:  # a step is told by the request that follows
                pass

    def observe(self, data: Memento | ErrorMessage | Result | Paused, now: float) -> bool:
        """Take note of what an observer is sent, which is all that some servers tell; return whether it is a move."""
        match data:
            case Memento(state=state, names=names):
                self.names = names[0] or self.names[0], names[1] or self.names[1]
                self.phase, self._requested = "running", (None, now)
                if state != self._state:  # a position is repeated when a move is requested
                    self._ply += self._state is not None
                    self._add_position(data)
                    return True
            case Paused(is_paused):
                self.is_paused = is_paused
            case Result(names=names, scores=scores):
                self.names = names[0] or self.names[0], names[1] or self.names[1]
                self._end()
                if len(scores) == _SEATS:  # a game that had not begun may have fewer
                    self._record.append(data)
            case _:
                self._record.append(data)
        return False

    def catch_up(self) -> bool:
        """Read what was told since the last look; return whether there was anything to read."""
        if not self._told:
            return False
        try:
            while self._told:
                self._read(self._told.popleft())
        except _UNREADABLE:
            self._is_readable = False
            self._told.clear()
        return True

    def as_live(self, start: Callable[[Edition], State]) -> LiveGame:
        """Return the game, with its positions as far as they were looked at; if there are none, that of `start`."""
        requested = None
        if self._requested is not None and self._state is not None:
            seat, since = self._requested
            requested = (self._state.seat_on_turn if seat is None else seat), since
        return LiveGame(
            self.id,
            self.edition,
            self.names,
            start(self.edition) if self._state is None else self._state,
            self._record,
            self._ply,
            "paused" if self.is_paused and self.phase == "running" else self.phase,
            self.is_paused,
            self._free_seats,
            self.is_prepared,
            self._soft_limit,
            self._think_times,
            requested,
            self._thinking,
            self._addresses,
            self.started_at,
            self.ended_at,
        )

    def _note_limits(self, soft_timeouts: Sequence[float | None]) -> None:
        self._soft_limit = min((limit for limit in soft_timeouts if limit is not None), default=None)

    def _end(self) -> None:
        self.phase, self.is_paused, self._free_seats, self._requested = "over", False, 0, None

    def _keep(self, event: Recorded) -> None:
        if self._is_readable and len(self._told) < MOST_TOLD:
            self._told.append(event)

    def _read(self, event: Recorded) -> None:
        """Add to the record what `event` tells. Raises GameError and RemoteProtocolError."""
        dialect = self.edition.dialect
        match event:
            case GameStarted(position=position):
                start = read_position(dialect, position)
                self._add_position(Memento(self.edition.game.resume(start.state), self.names))
            case MovePlayed(move=text, hints=hints):
                move = read_data(dialect, text)
                if self._state is not None and isinstance(move, MoveData):
                    self._add_position(Memento(self._state.play(move.move), self.names, hints))
            case ErrorSent(text=message, original=original):
                refused = None if original is None else read_data(dialect, original)
                self._record.append(ErrorMessage(message, refused))
            case GameEnded(result=text):
                result = read_data(dialect, text)
                if self._state is not None and isinstance(result, Result) and len(result.scores) == _SEATS:
                    details = dialect.player_details(self._state)  # some seasons leave them and names out on the wire
                    self._record.append(structs.replace(result, names=self.names, details=details))

    def _add_position(self, position: Memento) -> None:
        self._state = position.state
        self._record.append(position)


class FollowedGames:
    """The games of a server, from the events of its feed, and those that have ended.

    `choose_editions` returns the editions by gameType; its arguments are the names of those that the server plays
    instead of the first one of their gameType, by gameType, and the options of its games. `now` is the wall clock.
    """

    def __init__(
        self,
        choose_editions: Callable[[Mapping[str, str], Mapping[str, str]], Mapping[str, Edition]],
        now: Callable[[], datetime] = lambda: datetime.now().astimezone(),
    ) -> None:
        self._now = now
        self.notice: Words = NO_NOTICE
        """Why what is shown may not be what is played at this moment."""
        self.moves_played = 0
        self.editions = choose_editions({}, {})
        """The editions that the server plays, by gameType; until it has said so, the usual ones."""
        self.is_stopping = False
        """Whether the server has begun to stop."""
        self._choose_editions = choose_editions
        self._games: dict[str, FollowedGame] = {}
        self._arriving: dict[str, FollowedGame] | None = None
        """The games of a new connection, until all are known."""
        self._ended: OrderedDict[str, FollowedGame] = OrderedDict()
        self._start_states: dict[str, State] = {}
        """What is shown of a game before its first position is known, by the name of its edition."""
        self._room_added = trio.Event()

    # -- what is told

    def apply(self, event: FeedEvent, now: float) -> None:
        """Take note of an event of the server; `now` is the present instant in seconds."""
        games = self._games if self._arriving is None else self._arriving
        match event:
            case MovePlayed(room=room):
                self.moves_played += 1
                if room in games:
                    games[room].apply(event, now)
            case ServerDescribed():
                self._arriving = {}
                self.is_stopping = event.is_stopping
                offered = {each.game_type: each.edition for each in event.editions}
                self.editions = {
                    game_type: edition
                    for game_type, edition in self._choose_editions(offered, event.game_options).items()
                    if game_type in offered
                }
            case Current():
                if self._arriving is not None:
                    self._games, self._arriving = self._arriving, None
                    self._note_added()
            case Stopping():
                self.is_stopping = True
            case RoomOpened(room=room, edition=name):
                edition = next((each for each in self.editions.values() if each.name == name), None)
                if edition is not None:
                    games[room] = FollowedGame(room, edition, event.names, is_prepared=event.is_prepared)
                    games[room].apply(event, now)
                    self._note_added()
            case RoomClosed(room=room):
                self.close(room, games)
            case ThinkingChanged(room=room):
                game = games.get(room) or self._ended.get(room)  # what was said last may be read when the game is over
                if game is not None:
                    game.apply(event, now)
            case _:
                if event.room in games:
                    game = games[event.room]
                    game.apply(event, now)
                    if isinstance(event, GameStarted) and self._arriving is None:  # otherwise it began some time before
                        game.started_at = self._now().isoformat(timespec="seconds")
                    elif isinstance(event, GameEnded):
                        game.ended_at = self._now().isoformat(timespec="seconds")

    def add(self, game: FollowedGame) -> None:
        """Add a game of a server that has no feed."""
        self._games[game.id] = game
        self._note_added()

    def close(self, room_id: str, games: dict[str, FollowedGame] | None = None) -> None:
        """Forget a room; a game that has ended is kept for a while."""
        game = (self._games if games is None else games).pop(room_id, None)
        if game is not None and game.phase == "over":
            self._ended[room_id] = game
            while len(self._ended) > ENDED_GAMES:
                self._ended.popitem(last=False)

    def _note_added(self) -> None:
        self._room_added.set()
        self._room_added = trio.Event()

    # -- what the pages see

    async def wait_for(self, room_id: str) -> None:
        """Wait until there is a room with this id."""
        while self._find(room_id) is None:
            await self._room_added.wait()

    def find(self, room_id: str) -> LiveGame | None:
        """Return the game in the room `room_id`, with all its positions; None if there is none, or it is forgotten."""
        game = self._find(room_id)
        if game is None:
            return None
        game.catch_up()
        return game.as_live(self._start_state)

    def _find(self, room_id: str) -> FollowedGame | None:
        return self._games.get(room_id) or self._ended.get(room_id)

    def listed(self, most: int) -> list[LiveGame]:
        """Return running games, then waiting rooms, then games that have ended, the newest first; at most `most`.

        Their positions are those that somebody has looked at.
        """
        games = sorted(self._games.values(), key=lambda game: game.phase == "waiting")[:most]
        ended = list(reversed(self._ended.values()))[: most - len(games)]
        return [game.as_live(self._start_state) for game in (*games, *ended)]

    async def catch_up(self, checkpoint: Checkpoint) -> None:
        """Read what was told about any game, so that the list has the points of the newest positions."""
        for game in [*self._games.values(), *self._ended.values()]:
            if game.catch_up():
                await checkpoint()

    def _start_state(self, edition: Edition) -> State:
        state = self._start_states.get(edition.name)
        if state is None:
            state = self._start_states[edition.name] = edition.game.new_state(random.Random(0))
        return state
