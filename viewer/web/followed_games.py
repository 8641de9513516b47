"""The games of a server, rebuilt from what its feed tells.

Invariants: nothing is computed for a game that nobody looks at; its moves are kept as text. They are applied when
somebody looks, in the order in which they were told, so the record is the same as that of the room. A server that tells
something impossible, or too much, costs that one game its further positions, and nothing else; the pages say so. After
the connection was lost, the games of before are shown until those of now are known. Nothing that a server can say fills
the memory: the number of games, and what is kept of each and of all, are bounded.
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
    LimitsChanged,
    MovePlayed,
    PauseChanged,
    RequestChanged,
    RoomClosed,
    RoomOpened,
    SeatsChanged,
    ServerDescribed,
    Stopping,
    ThinkingChanged,
    encode_event,
    read_data,
)
from spielleiter.protocol.messages import ErrorMessage, Memento, MoveData, Paused, Result, RoomData
from spielleiter.protocol.positions import read_position, write_position
from spielleiter.server.core.policy import Edition
from spielleiter.server.status import shortened
from spielleiter.viewer.positions.view import Words
from spielleiter.viewer.web.answers import Checkpoint
from spielleiter.viewer.web.live_games import NO_NOTICE, LiveGame

ENDED_GAMES: Final = 32
"""The number of ended games that the pages can still show."""
MOST_GAMES: Final = 4_096
"""The maximum number of rooms that exist at the same time."""
MOST_TOLD: Final = 1_000
"""The maximum number of moves and errors of a game that are kept: several times the plies of the longest game."""
MOST_BYTES_OF_GAME: Final = 16 * 1024 * 1024
"""The maximum size of what is kept of a game: the texts of its events, or of positions beyond their usual size."""
MOST_BYTES: Final = 256 * 1024 * 1024
"""The maximum size of what is kept of all games together."""
TOO_MUCH: Final[Words] = {
    "de": "Der Spielserver sagt mehr, als diese Seite behält: Manche Spiele oder ihre weiteren Stellungen fehlen.",
    "en": "The game server tells more than this page keeps: some games, or their further positions, are missing.",
}
"""What the pages say when a bound was reached."""
_LONGEST_ID: Final = 100  # characters of the id of a room
_USUAL_BYTES: Final = 64 * 1024  # of a position as XML
_EVENT_BYTES: Final = 1024  # what a small event, or a position that was read, takes

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
        self.size = 0
        """The bytes of what was kept so far."""
        self.is_cut = False
        """Whether something was left out, since a bound was reached."""
        self._kept = 0
        self._is_readable = True
        self._state: State | None = None
        self._record: list[RoomData] = []

    def apply(self, event: FeedEvent, now: float) -> None:
        """Take note of an event of this room; `now` is the present instant in seconds."""
        match event:
            case MovePlayed(seat=seat, ply=ply, think_time=think_time):
                self._ply = ply + 1
                if len(self._think_times[seat]) < MOST_TOLD:
                    self._think_times[seat].append(think_time)
                self._requested = None, now
                self._keep(event)
            case ThinkingChanged():
                self._note_thinking(event)
            case RequestChanged(seat=seat, elapsed=elapsed):
                self._requested = None if seat is None else (seat, now - (elapsed or 0.0))
            case RoomOpened() | SeatsChanged():
                self.names, self._free_seats = _shortened(event.names), event.free_seats
                self._addresses = _shortened(event.addresses)
                if isinstance(event, RoomOpened):
                    self._note_limits(event.soft_timeouts)
            case GameStarted(names=names, is_paused=is_paused, soft_timeouts=soft_timeouts):
                self.names, self._free_seats = _shortened(names), 0
                self.is_paused, self.phase = is_paused, "running"
                self._addresses = _shortened(event.addresses)
                self._note_limits(soft_timeouts)
                self._keep(event)
            case ErrorSent():
                self._keep(event)
            case PauseChanged(is_paused=is_paused):
                self.is_paused = is_paused
            case LimitsChanged(soft_timeouts=soft_timeouts):
                self._note_limits(soft_timeouts)
            case GameEnded(think_times=(first, second)):
                self._keep(event)
                self._end()
                self._think_times = list(first[:MOST_TOLD]), list(second[:MOST_TOLD])
            case _:  # a step is told by the request that follows
                pass

    def observe(self, data: Memento | ErrorMessage | Result | Paused, now: float) -> bool:
        """Take note of what an observer is sent, which is all that some servers tell; return whether it is a move."""
        match data:
            case Memento(state=state, names=names):
                self._note_names(names)
                self.phase, self._requested = "running", (None, now)
                if state != self._state:  # a position is repeated when a move is requested
                    if not self._has_room_for(_EVENT_BYTES + self._excess(data)):
                        return False
                    self._ply += self._state is not None
                    self._add_position(data)
                    return True
            case Paused(is_paused):
                self.is_paused = is_paused
            case Result(names=names, scores=scores):
                self._note_names(names)
                self._end()
                if len(scores) == _SEATS:  # a game that had not begun may have fewer
                    self._record.append(data)
            case _:
                if self._has_room_for(_EVENT_BYTES + len(data.message)):
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

    def _note_thinking(self, event: ThinkingChanged) -> None:
        """Keep what a program has thought, instead of what was told of that move before; nothing if it is too much."""
        before = self._thinking.get(event.ply)
        size = self.size + len(encode_event(event)) - (0 if before is None else len(encode_event(before)))
        if 0 <= event.ply < MOST_TOLD and size <= MOST_BYTES_OF_GAME and not self.is_cut:
            self.size = size
            self._thinking[event.ply] = event

    def _note_limits(self, soft_timeouts: Sequence[float | None]) -> None:
        self._soft_limit = min((limit for limit in soft_timeouts if limit is not None), default=None)

    def _note_names(self, names: tuple[str, str]) -> None:
        first, second = _shortened(names)
        self.names = first or self.names[0], second or self.names[1]

    def _end(self) -> None:
        self.phase, self.is_paused, self._free_seats, self._requested = "over", False, 0, None

    def _keep(self, event: Recorded) -> None:
        if self._is_readable and self._has_room_for(_EVENT_BYTES + _text_bytes(event)):
            self._told.append(event)

    def _has_room_for(self, size: int) -> bool:
        """Return whether `size` more bytes may be kept, and count them. If not, nothing is kept any more."""
        if self.is_cut or self._kept >= MOST_TOLD or self.size + size > MOST_BYTES_OF_GAME:
            self.cut()
            return False
        self._kept += 1
        self.size += size
        return True

    def cut(self) -> None:
        """Keep nothing more."""
        self.is_cut, self._is_readable = True, False

    def _excess(self, position: Memento) -> int:
        """Return the bytes of a position beyond those of usual ones."""
        return max(0, len(write_position(self.edition.dialect, self.id, position)) - _USUAL_BYTES)

    def _read(self, event: Recorded) -> None:
        """Add to the record what `event` tells. Raises GameError and RemoteProtocolError."""
        dialect = self.edition.dialect
        match event:
            case GameStarted(position=position):
                start = read_position(dialect, position)
                self._add_position(Memento(self.edition.game.resume(start.state), self.names))
            case MovePlayed(position=str(position), hints=hints):
                revealed = read_position(dialect, position)
                self._add_position(Memento(self.edition.game.resume(revealed.state), self.names, hints))
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


def _shortened(names: tuple[str, str]) -> tuple[str, str]:
    first, second = names
    return shortened(first), shortened(second)


def _text_bytes(event: Recorded) -> int:
    """Return the length of the texts of an event that have no other bound."""
    match event:
        case GameStarted(position=text) | GameEnded(result=text):
            return len(text)
        case MovePlayed(move=text, hints=hints, position=position):
            return len(text) + sum(map(len, hints)) + len(position or "")
        case _:
            return len(event.text) + len(event.original or "")


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
        self.connection_notice: Words = NO_NOTICE
        """Why what is shown may not be what is played at this moment, as far as the connection is concerned."""
        self.moves_played = 0
        self._is_cut = False
        """Whether something was left out since the connection was opened."""
        self._size = 0
        """The bytes that are kept of all games."""
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
        self._progress = trio.Event()
        """Set when a room has become known, or its game has begun."""

    @property
    def notice(self) -> Words:
        """Why what is shown may not be what is played at this moment."""
        return TOO_MUCH if self._is_cut and self.connection_notice == NO_NOTICE else self.connection_notice

    # -- what is told

    def apply(self, event: FeedEvent, now: float) -> None:
        """Take note of an event of the server; `now` is the present instant in seconds."""
        games = self._games if self._arriving is None else self._arriving
        match event:
            case MovePlayed(room=room):
                self.moves_played += 1
                self._apply_to(games.get(room), event, now)
            case ServerDescribed():
                self._arriving = {}
                self._is_cut = False
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
                    self._size = sum(game.size for game in (*self._games.values(), *self._ended.values()))
                    self._note_progress()
            case Stopping():
                self.is_stopping = True
            case RoomOpened(room=room, edition=name):
                edition = next((each for each in self.editions.values() if each.name == name), None)
                if edition is not None and len(room) <= _LONGEST_ID and len(games) < MOST_GAMES:
                    games[room] = FollowedGame(room, edition, event.names, is_prepared=event.is_prepared)
                    games[room].apply(event, now)
                    self._note_progress()
                else:
                    self._is_cut |= edition is not None
            case RoomClosed(room=room):
                self.close(room, games)
            case ThinkingChanged(room=room):
                # what was said last may be read when the game is over
                self._apply_to(games.get(room) or self._ended.get(room), event, now)
            case _:
                self._apply_to(games.get(event.room), event, now)

    def observe(self, game: FollowedGame, data: Memento | ErrorMessage | Result | Paused, now: float) -> None:
        """Take note of what an observer of `game` is sent; `now` is the present instant in seconds."""
        before = game.size
        self._cut_if_full(game)
        phase = game.phase
        self.moves_played += game.observe(data, now)
        self._note_size(game, before)
        if phase == "waiting" and isinstance(data, Memento):
            if data.state.turn == 0:  # otherwise it began some time before
                game.started_at = self._now().isoformat(timespec="seconds")
            self._note_progress()
        if phase != "over" and game.phase == "over":
            game.ended_at = self._now().isoformat(timespec="seconds")

    def _apply_to(self, game: FollowedGame | None, event: FeedEvent, now: float) -> None:
        if game is not None:
            before = game.size
            self._cut_if_full(game)
            game.apply(event, now)
            if isinstance(event, GameStarted) and self._arriving is None:  # otherwise it began some time before
                game.started_at = self._now().isoformat(timespec="seconds")
                self._note_progress()
            elif isinstance(event, GameEnded):
                game.ended_at = self._now().isoformat(timespec="seconds")
            self._note_size(game, before)

    def _cut_if_full(self, game: FollowedGame) -> None:
        if self._size >= MOST_BYTES:
            game.cut()

    def _note_size(self, game: FollowedGame, before: int) -> None:
        self._size += game.size - before
        self._is_cut |= game.is_cut

    def add(self, game: FollowedGame) -> None:
        """Add a game of a server that has no feed."""
        self._games[game.id] = game
        self._note_progress()

    def close(self, room_id: str, games: dict[str, FollowedGame] | None = None) -> None:
        """Forget a room; a game that has ended is kept for a while."""
        game = (self._games if games is None else games).pop(room_id, None)
        if game is None:
            return
        if game.phase != "over":
            self._size -= game.size
            return
        self._ended[room_id] = game
        while len(self._ended) > ENDED_GAMES:
            _, forgotten = self._ended.popitem(last=False)
            self._size -= forgotten.size

    def _note_progress(self) -> None:
        self._progress.set()
        self._progress = trio.Event()

    # -- what the pages see

    async def wait_for(self, room_id: str) -> None:
        """Wait until there is a room with this id."""
        while self._find(room_id) is None:
            await self._progress.wait()

    async def wait_for_start(self, room_id: str) -> None:
        """Wait until the game in the room with this id has begun."""
        while (game := self._find(room_id)) is None or game.phase == "waiting":
            await self._progress.wait()

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
