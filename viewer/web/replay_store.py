"""The replays that a page can open: those of the replay folder, those of matches, and files dropped onto the page.

Invariants: a name leads to a file of one of the two folders or to a dropped file, and never anywhere else. Files are
hostile input: they are read one at a time in a thread, and after each of them the next one waits, so that reading takes
a bounded share of the processor from the games. What is kept in memory is bounded.
"""

from __future__ import annotations

import math
import os
import secrets
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final, TypeAlias, TypeVar
from urllib.parse import unquote

import msgspec
import trio
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from spielleiter.game.api import State
from spielleiter.match.game_folder import GAMES, REPLAY
from spielleiter.match.records import SETUP
from spielleiter.protocol.messages import Cause, Memento
from spielleiter.server.core.policy import Edition
from spielleiter.server.editions import EDITIONS
from spielleiter.viewer.game_details import (
    VERDICT,
    Count,
    OneSeat,
    details_beside,
    known,
    known_addresses,
    known_seats,
    known_text,
    read_object,
)
from spielleiter.viewer.game_json import (
    Details,
    describe_game,
    describe_outcome,
    distinct_positions,
    edition_title,
    known_names,
    shown_name,
)
from spielleiter.viewer.positions.describe import describe_legal_moves
from spielleiter.viewer.replay_files import Replay, ReplayFileError, load_replay, page_name, read_bytes, read_replay
from spielleiter.viewer.web.answers import JSON, WebError, json_response, unknown_ply, whole_number
from spielleiter.viewer.web.bodies import body_of

MOST_LISTED: Final = 500
"""The maximum number of replays in the list, and of games of a match."""
MOST_NEWEST: Final = 100
"""The maximum number of replays in the list of the newest ones."""
NEWEST_AGE: Final = 1.0
"""Seconds for which that list is used again."""
MOST_MATCHES: Final = 50
MOST_OPEN: Final = 8
"""The number of replays that are kept in memory, and of dropped files that are remembered."""
MOST_WAITING: Final = 8
"""The number of requests that may wait for a replay to be read."""
REST: Final = 3.0
"""The pause after reading a replay, as a multiple of the time that it took."""

MOST_DROPPED_BYTES: Final = 4 * 1024 * 1024
"""The maximum size of a dropped file; the official replays have up to one MiB, and are compressed further."""
_BINARY: Final = "application/octet-stream"
_SUFFIXES: Final = (".xml", ".xml.gz")
_MATCHES: Final = "matches"
_SUMMARY: Final = "summary.json"
_TOURNAMENT: Final = "tournament.json"
_MOST_LINE_BYTES: Final = 64 * 1024
_MOST_SUMMARY_BYTES: Final = 1024 * 1024

_Winners: TypeAlias = Annotated[list[OneSeat], msgspec.Meta(max_length=2)]
_BothPoints: TypeAlias = tuple[tuple[Count], tuple[Count]]
_T = TypeVar("_T")
FindReplay: TypeAlias = Callable[[str], Awaitable[bytes | None]]
"""Returns the content of a replay that lies in no folder, by its name; None if there is none. It never changes."""


@dataclass(frozen=True, slots=True)
class OpenReplay:
    """A replay that has been read: its content, and the JSON object of its game, encoded."""

    replay: Replay
    game: bytes
    read: Callable[[], bytes]
    """Returns the bytes of the file. Raises ReplayFileError."""

    def state(self, ply: int) -> State:
        """Return the position of a ply. Raises WebError if there is none."""
        mementos: list[Memento] = list(distinct_positions(self.replay.record))
        if not 0 <= ply < len(mementos):
            raise unknown_ply(ply)
        return mementos[ply].state


class ReplayStore:
    """The replays that a page can open.

    - `folder`: the replay folder.
    - `matches`: the folder of a match or of a tournament, or a folder of such folders.
    - `single`: one more file, whatever it is called.
    - `clock`: measures how long reading takes, in seconds.
    - `find_replay`: finds further replays by their names, which are in no list.
    """

    def __init__(
        self,
        folder: Path | None,
        matches: Path | None,
        single: Path | None = None,
        clock: Callable[[], float] = time.perf_counter,
        find_replay: FindReplay | None = None,
    ) -> None:
        self._find_replay = find_replay
        self._single = single
        self._folder = folder
        self._matches = matches
        self._clock = clock
        self._reading = trio.CapacityLimiter(1)
        self._not_before = 0.0
        self._listing = trio.Lock()
        self._newest: list[dict[str, Any]] = []
        self._newest_at = -math.inf
        self._open: OrderedDict[tuple[str, object], OpenReplay] = OrderedDict()
        self._dropped: OrderedDict[str, OpenReplay] = OrderedDict()

    async def newest(self, most: int) -> dict[str, Any]:
        """Return the newest replays of the replay folder, at most `most`, as a JSON object; a second old at most."""
        async with self._listing:  # a class that opens its pages at once reads the folder once
            if trio.current_time() - self._newest_at >= NEWEST_AGE:
                self._newest = await self._in_thread(lambda: self._list_replays(MOST_NEWEST))
                self._newest_at = trio.current_time()
        return {"replays": self._newest[:most]}

    async def find_room(self, room_id: str) -> dict[str, Any]:
        """Return the replays of the game that was played in this room, as a JSON object: one or none."""
        return await self._in_thread(
            lambda: {"replays": [replay for replay in self._list_replays() if replay["room"] == room_id][:1]}
        )

    async def listed(self) -> dict[str, Any]:
        """Return all lists as a JSON object."""
        return await self._in_thread(
            lambda: {
                "isKept": self._folder is not None,
                "replays": self._list_replays(),
                "matches": [_listed_match(folder.name, folder) for folder in self._folders_with(SETUP)],
                "tournaments": [_listed_tournament(folder) for folder in self._folders_with(_TOURNAMENT)],
            }
        )

    async def find(self, name: str) -> OpenReplay:
        """Return the replay of this name. Raises WebError if there is none, or if it cannot be read."""
        dropped = self._dropped.get(name)
        if dropped is not None:
            return dropped
        path = await trio.to_thread.run_sync(self._path_of, name)
        key = name, None if path is None else await trio.to_thread.run_sync(_version_of, path)
        found = self._open.get(key)
        if found is None:
            found = await self._read(await self._opener(name, path))
            self._open[key] = found
            while len(self._open) > MOST_OPEN:
                self._open.popitem(last=False)
        self._open.move_to_end(key)
        return found

    async def _opener(self, name: str, path: Path | None) -> Callable[[], OpenReplay]:
        """Return what reads a replay, which has the path `path` if it is in a folder. Raises WebError."""
        if path is not None:
            return lambda: _opened(name, load_replay(path), details_beside(path), partial(read_bytes, path))
        content = None if self._find_replay is None else await self._find_replay(name)
        if content is None:
            raise WebError(404, "Dieses Replay gibt es nicht (mehr).", "There is no such replay (any more).")
        return lambda: _opened(name, read_replay(content, name), Details(), lambda: content)

    async def drop(self, content: bytes, source: str) -> OpenReplay:
        """Read a file that was dropped onto the page, and remember it for a while. Raises WebError."""
        name = f"dropped:{secrets.token_urlsafe(12)}"
        found = await self._read(lambda: _opened(name, read_replay(content, source), Details(), lambda: content))
        self._dropped[name] = found
        while len(self._dropped) > MOST_OPEN:
            self._dropped.popitem(last=False)
        return found

    async def state(self, name: str, ply: int) -> tuple[Edition, State]:
        """Return the edition and the position of a ply of a replay. Raises WebError."""
        found = await self.find(name)
        return found.replay.edition, found.state(ply)

    async def content(self, name: str) -> bytes:
        """Return the bytes of a replay, which may be compressed. Raises WebError."""
        found = await self.find(name)
        return await self._read(found.read)

    # -- reading ----------------------------------------------------------------------------------------------------

    async def _read(self, read: Callable[[], _T]) -> _T:
        try:
            return await self._in_thread(read)
        except ReplayFileError as error:
            raise WebError(422, error.words["de"], error.words["en"]) from None

    async def _in_thread(self, work: Callable[[], _T]) -> _T:
        """Call `work` in a thread, one call at a time, with a pause after each. Raises WebError if too many wait."""
        if self._reading.statistics().tasks_waiting >= MOST_WAITING:
            raise WebError(
                429,
                "Es werden gerade zu viele Replays gelesen; versuche es gleich noch einmal.",
                "Too many replays are being read; try again in a moment.",
            )
        async with self._reading:
            await trio.sleep_until(self._not_before)
            start = self._clock()
            try:
                return await trio.to_thread.run_sync(work, limiter=trio.CapacityLimiter(1))
            finally:
                self._not_before = trio.current_time() + REST * (self._clock() - start)

    # -- the folders ------------------------------------------------------------------------------------------------

    def _path_of(self, name: str) -> Path | None:
        """Return the file of a replay of this name; None if there is none."""
        if self._single is not None and name == page_name(self._single.name) and _is_file(self._single):
            return self._single
        if self._folder is not None and _is_plain(name) and name.endswith(_SUFFIXES):
            path = self._folder / name
            if _is_file(path):
                return path
        match_name, colon, game = name.rpartition(":")
        if colon and _is_plain(game):
            tournament, _, own_name = match_name.rpartition(":")
            if tournament:
                places = self._folders_with(_TOURNAMENT)
                folders = (folder / _MATCHES / own_name for folder in places if folder.name == tournament)
            else:
                folders = (folder for folder in self._folders_with(SETUP) if folder.name == match_name)
            for folder in folders:
                path = folder / GAMES / game / REPLAY
                if _is_plain(folder.name) and _is_plain(own_name) and _is_file(path):
                    return path
        return None

    def _list_replays(self, most: int = MOST_LISTED) -> list[dict[str, Any]]:
        """Return the newest replays of the replay folder, the newest first."""
        if self._folder is None:
            return []
        try:
            with os.scandir(self._folder) as entries:
                found = [
                    (entry.stat().st_mtime, self._folder / entry.name)
                    for entry in entries
                    if entry.name.endswith(_SUFFIXES) and page_name(entry.name) == entry.name and entry.is_file()
                ]
        except OSError:
            return []
        return [_listed_replay(path) for _, path in sorted(found, reverse=True)[:most]]

    def _folders_with(self, file: str) -> Iterator[Path]:
        """Yield the folders that have a file of this name: the given one, or else those in it, the newest first."""
        if self._matches is None:
            return
        if _is_file(self._matches / file):
            yield self._matches
            return
        for folder in _subfolders(self._matches, newest_first=True)[:MOST_MATCHES]:
            if _is_file(folder / file):
                yield folder


def _is_file(path: Path) -> bool:
    """Return whether there is a regular file; False also for a path that the system refuses, such as a long one."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def _opened(name: str, replay: Replay, details: Details, read: Callable[[], bytes]) -> OpenReplay:
    game = {**describe_game(replay, details), "replay": name}
    return OpenReplay(replay, msgspec.json.encode(game), read)


def _is_plain(name: str) -> bool:
    """Return whether `name` is that of a file in a folder, and not a path that leads elsewhere."""
    return (
        name not in {"", ".", ".."} and not any(mark in name for mark in ("/", "\\", "\0")) and Path(name).name == name
    )


def _version_of(path: Path) -> object:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size


def _subfolders(folder: Path, *, newest_first: bool = False) -> list[Path]:
    try:
        found = [path for path in folder.iterdir() if page_name(path.name) == path.name and path.is_dir()]
        return sorted(found, key=lambda path: -path.stat().st_mtime) if newest_first else sorted(found)
    except OSError:
        return []


def _listed_replay(path: Path) -> dict[str, Any]:
    line = read_object(path.with_name(path.name.removesuffix(".gz").removesuffix(".xml") + ".json"), _MOST_LINE_BYTES)
    edition = EDITIONS.get(known(line, "edition", str) or "")
    parts = known(line, "parts", tuple[list[Any], list[Any]])  # of two scores, whose first part says who has won
    points = None if parts is None else known({"points": [part[1:2] for part in parts]}, "points", _BothPoints)
    names = _names(line)
    if names:
        names = [shown_name(name) for name in known_names(edition, names, known_addresses(line))]
    causes, winners = known(line, "causes", tuple[Cause, Cause]), known(line, "winners", _Winners)
    is_known = names and causes is not None and winners is not None
    return {
        "name": path.name,
        "room": known_text(line, "room"),
        "gameType": None if edition is None else edition.game_type,
        "title": None if edition is None else edition_title(edition),
        "players": names,
        "points": None if points is None else [first for (first,) in points],
        "ended": known_text(line, "ended_at"),
        "plies": known(line, "plies", Count),
        "turn": known(line, "turn", Count),
        "outcome": describe_outcome(names, causes, winners) if is_known else None,
    }


def _listed_tournament(folder: Path) -> dict[str, Any]:
    """Return a tournament with its table and its matches, in the order of playing."""
    found = read_object(folder / _TOURNAMENT, _MOST_SUMMARY_BYTES)
    table = []
    for line in (known(found, "table", list[Any]) or [])[:MOST_LISTED]:
        programs = line if isinstance(line, dict) else None
        numbers = {key: known(programs, key, Count) for key in ("points", "games", "wins", "draws", "losses")}
        table.append({"name": shown_name(known(programs, "name", str) or ""), **numbers})
    return {
        "name": folder.name,
        "season": known_text(found, "season"),
        "kind": known_text(found, "kind"),
        "table": table,
        "matches": [
            _listed_match(f"{folder.name}:{match.name}", match)
            for match in _subfolders(folder / _MATCHES)[:MOST_MATCHES]
            if _is_file(match / SETUP)
        ],
    }


def _listed_match(name: str, folder: Path) -> dict[str, Any]:
    """Return a match with its result and its games. The score counts a draw as half a point."""
    summary = read_object(folder / _SUMMARY, _MOST_SUMMARY_BYTES)
    results = known(summary, "results", dict)
    wins, draws, losses = (known(results, key, Count) for key in ("wins", "draws", "losses"))
    return {
        "name": name,
        "players": _names(summary),
        "score": None if None in {wins, draws, losses} else [wins + draws / 2, losses + draws / 2],
        "planned": known(summary, "planned", Count),
        "games": [
            _listed_game(name, game) for game in _subfolders(folder / GAMES)[:MOST_LISTED] if _is_file(game / REPLAY)
        ],
    }


def _listed_game(match_name: str, folder: Path) -> dict[str, Any]:
    record = read_object(folder / VERDICT, _MOST_LINE_BYTES)
    names, seats, winner = _names(record), known_seats(record), known(record, "winner", OneSeat)
    points = known(record, "points", tuple[Count, Count])
    return {
        "name": f"{match_name}:{folder.name}",
        "number": int(folder.name) if folder.name.isdecimal() and len(folder.name) < 9 else None,
        "players": names if seats is None or not names else [names[seat] for seat in seats],
        "winner": None if seats is None or winner is None else seats.index(winner),
        "points": None if seats is None or points is None else [points[seat] for seat in seats],
    }


def _names(values: dict[str, Any] | None) -> list[str]:
    """Return the names of both players, the empty one for a name that is no text; no names if they are not known."""
    names = known(values, "names", tuple[Any, Any]) or ()
    return [shown_name(name) if isinstance(name, str) else "" for name in names]


def replay_routes(store: ReplayStore) -> list[BaseRoute]:
    """Return the routes for the replays of `store`."""

    async def replays(request: Request) -> Response:
        """The lists of replays; with `?newest=N` the newest N of the folder, with `?room=ROOM` that of a room."""
        if room := request.query_params.get("room"):
            return json_response(await store.find_room(room))
        if "newest" in request.query_params:
            return json_response(await store.newest(whole_number(request, "newest")))
        return json_response(await store.listed())

    async def replay(request: Request) -> Response:
        """One replay as a game."""
        found = await store.find(request.path_params["name"])
        return Response(found.game, media_type=JSON)

    async def legal(request: Request) -> Response:
        """The legal moves of the side to move after `?ply=N` moves."""
        ply = whole_number(request, "ply")
        found = await store.find(request.path_params["name"])
        return json_response(describe_legal_moves(found.state(ply), ply))

    return [
        Route("/api/replays", replays),
        Route("/api/replays/{name}", replay),
        Route("/api/replays/{name}/legal", legal),
    ]


def dropped_file_routes(store: ReplayStore) -> list[BaseRoute]:
    """Return the route for files that are dropped onto the page."""

    async def drop(request: Request) -> Response:
        """The replay in the body (`Content-Type: application/octet-stream`) as a game."""
        if request.headers.get("content-type", "") != _BINARY:
            raise WebError(415, f"Erwartet wird Content-Type {_BINARY}.", f"Expected the Content-Type {_BINARY}.")
        source = unquote(request.headers.get("x-file-name", ""))[:200]
        async with body_of(request, MOST_DROPPED_BYTES) as content:
            found = await store.drop(content, source)
        return Response(found.game, media_type=JSON)

    return [Route("/api/replays", drop, methods=["POST"])]
