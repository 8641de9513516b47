"""Saves finished games: a line in the results file, a replay, and the same line in a file beside the replay.

Invariants: the line is written before the players receive the result, or waits in memory until it can be written; an
event says how many are waiting. No other server writes to the directory, so a line never names the replay of another
game. Replays are written in a thread, completely or not at all. They are encoded on the event loop, a few packets at a
time, because a thread that computes would keep the interpreter from the loop for milliseconds. No failure here affects
a game or ends the server. An archive of recent games takes a bounded share of the time, whatever is played: of games
that end faster than it writes, the older ones are left out.
"""

from __future__ import annotations

import contextlib
import errno
import gzip
import json
import os
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Final, TypedDict

import trio
from msgspec import Struct

from spielleiter.common.errors import os_error_text
from spielleiter.common.files import FolderLock, LockedError, is_at, lock_file, written_parts
from spielleiter.common.json_text import json_text
from spielleiter.protocol.dialect import Dialect
from spielleiter.protocol.messages import Memento, RoomData
from spielleiter.server import events
from spielleiter.server.core.policy import Edition
from spielleiter.server.errors import StartError
from spielleiter.server.replay import (
    COMPRESSED_SUFFIX,
    REPLAY_SUFFIX,
    beside,
    free_path,
    remove_leftovers,
    remove_oldest,
    replay_name,
    replay_pieces,
    require_writable,
    save_beside,
    save_replay,
)

MOST_WAITING_BYTES: Final = 32 * 1024 * 1024
"""The maximum size of the waiting lines; a typical line has about 2 KB."""
LINES_AT_ONCE: Final = 64
"""The number of waiting lines that are written in one call, since all other tasks wait for it."""
LEAST_ENCODING: Final = 0.0002  # seconds for which replays are encoded between two turns of the others, as for a move
BATCH_DELAY: Final = 0.1  # seconds that a replay waits for others, so that one thread writes them together
BATCH_BYTES: Final = 1024 * 1024  # encoded replays are written when they are as large; each has about 600 KiB
MANY_WAITING: Final = 256
"""Finished games, of about 60 KiB, from which on replays are no longer put off for the games that are played."""
ENCODING_SHARE: Final = 0.1  # of the time from then on; games do not end faster than that
MOST_ENCODING: Final = 0.005  # seconds between two turns of the others, however long those have taken
BATCH_BYTES_BEHIND: Final = 4 * 1024 * 1024  # encoded replays that are written together from then on
LEFTOVER_AGE: Final = 3600.0  # seconds; no server takes so long to write a replay
RETRY_INTERVAL: Final = 1.0  # seconds between attempts to write results that wait
MOST_RECENT_BYTES: Final = 100 * 1024 * 1024
"""The maximum size of the recent games; a compressed replay has about 30 KiB."""
_REST: Final = 9.0  # the pause after recent games were written, as a multiple of the time that it took
_COMPRESSION_LEVEL: Final = 4  # a third of the time of the best level

_FLAGS: Final = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)
"""Opening does not block, even if a pipe or a device has replaced the file."""


class ResultLine(TypedDict):
    """A finished game in the file of results, and in the `.json` file beside its replay; lists are by seat."""

    ended_at: str
    """ISO 8601 with time zone."""
    room: str
    """The id of the room."""
    edition: str
    names: list[str]
    """The players' names; empty for a player without one."""
    addresses: list[str]
    """The hosts and ports from which the players were connected."""
    causes: list[str]
    """`REGULAR`, or how the player ended the game."""
    reasons: list[str]
    """The explanations of the causes, as they were sent; empty for `REGULAR`."""
    parts: list[list[int]]
    """The parts of the scores, Siegpunkte first."""
    winners: list[int]
    """The seats of the winners: none, one, or both in a draw."""
    plies: int
    """The moves that were made."""
    turn: int
    """The turn of the last position, which runs ahead of the moves once a colour is out; 0 if there is none."""
    thinking: list[dict[str, float]]
    """`count`, `median`, `p95` and `maximum` of the think times in seconds; 0 without a request."""
    think_times: list[list[float]]
    """The seconds that each answer took, in order."""
    replay: str | None
    """The file name of the replay; None if there is none."""


def result_line(game: events.GameEnded, ended_at: datetime, replay: str | None) -> ResultLine:
    """Return the line of a finished game; `replay` is the file name of its replay, or None if there is none."""
    return {
        "ended_at": ended_at.isoformat(timespec="milliseconds"),
        "room": game.room,
        "edition": game.edition,
        "names": list(game.names),
        "addresses": list(game.player_addresses),
        "causes": list(game.causes),
        "reasons": list(game.reasons),
        "parts": [list(parts) for parts in game.parts],
        "winners": list(game.winners),
        "plies": game.plies,
        "turn": next((data.state.turn for data in reversed(game.record) if isinstance(data, Memento)), 0),
        "thinking": [stats.as_dict() for stats in game.thinking],
        "think_times": [[round(seconds, 6) for seconds in times] for times in game.think_times],
        "replay": replay,
    }


class ResultsFile:
    """The results file, open for appending, and the lines that wait to be written.

    A line is written with one call, so however the server ends, no game with a known result is missing. A line that
    cannot be written (full disk, missing permission) waits, after those that failed before it. The part of it that was
    written is removed again, so the file contains whole lines only. If the file has been removed or renamed, the next
    line starts a new one.
    """

    def __init__(self, path: Path) -> None:
        """Open and lock the file. Raises StartError if it cannot be written to, or if another server writes to it."""
        self.path = path
        self._descriptor: int | None = None
        self._waiting: deque[bytes] = deque()
        self._waiting_bytes = 0
        self._written = 0
        """The number of bytes of the first waiting line that are in the file already."""
        try:
            self._open()
        except LockedError:
            raise StartError(
                f"results {path}: another server writes to this file; stop that server or choose another file"
            ) from None
        except OSError as error:
            raise StartError(f"results {path}: cannot be written to ({error.strerror or error})") from None

    @property
    def waiting(self) -> int:
        """The number of lines that have not been written."""
        return len(self._waiting)

    def append(self, line: Mapping[str, object]) -> bool:
        """Queue one line for `write_waiting`; return False if it is lost because too many are waiting."""
        text = encoded_line(line)
        if self._waiting_bytes + len(text) > MOST_WAITING_BYTES:
            return False
        self._waiting.append(text)
        self._waiting_bytes += len(text)
        return True

    def write_waiting(self) -> None:
        """Write waiting lines, the oldest first, at most `LINES_AT_ONCE`. Raises OSError; the others keep waiting."""
        descriptor = self._open()
        for _ in range(min(len(self._waiting), LINES_AT_ONCE)):
            text = self._waiting[0]
            try:
                for written in written_parts(partial(os.write, descriptor), memoryview(text)[self._written :]):
                    self._written += written
            except OSError:
                if self._written:  # if removing the written part fails too, the next attempt writes the rest
                    with contextlib.suppress(OSError):
                        os.ftruncate(descriptor, os.fstat(descriptor).st_size - self._written)
                        self._written = 0
                raise
            self._waiting.popleft()
            self._waiting_bytes -= len(text)
            self._written = 0

    def forget_replay(self, name: str) -> None:
        """Remove the name of a replay that could not be written from the waiting lines."""
        for number, text in enumerate(self._waiting):
            line = json.loads(text)
            if line["replay"] == name and not (number == 0 and self._written):
                changed = encoded_line({**line, "replay": None})
                self._waiting[number] = changed
                self._waiting_bytes += len(changed) - len(text)

    def _open(self) -> int:
        """Return the open file; it is opened again if `path` is another file by now, or missing. Raises OSError."""
        if self._descriptor is not None and is_at(self._descriptor, self.path):
            return self._descriptor
        self.close()
        self.path.parent.mkdir(parents=True, exist_ok=True)
        if self.path.is_fifo():
            # without a reader, opening it would raise another error
            raise OSError(errno.ENXIO, "it is a pipe, and results need a file")
        descriptor = os.open(self.path, _FLAGS, 0o644)
        try:
            lock_file(descriptor, self.path)
            with self.path.open("rb") as file:
                size = file.seek(0, os.SEEK_END)
                file.seek(max(0, size - 1))
                # a full disk or a crash kept it from being ended; a device has no size, and may not answer
                if size and file.read(1) != b"\n":
                    os.write(descriptor, b"\n")
        except OSError:
            os.close(descriptor)
            raise
        self._descriptor, self._written = descriptor, 0
        return descriptor

    def sync(self) -> None:
        """Flush the file to the disk; devices such as /dev/null need no flush. Raises OSError."""
        if self._descriptor is None:
            return
        try:
            os.fsync(self._descriptor)
        except OSError as error:
            if error.errno != errno.EINVAL:
                raise

    def close(self) -> None:
        """Close the file, if it is open."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def encoded_line(line: Mapping[str, object]) -> bytes:
    """Return the bytes of a line, including its line end."""
    # the escapes of `backslashreplace` are valid in JSON too
    return json_text(line).encode("utf-8", "backslashreplace") + b"\n"


class _Replay(Struct, frozen=True):
    """A finished game whose replay is to be written; `line` is the content of the file beside it."""

    path: Path
    dialect: Dialect
    room: str
    record: Sequence[RoomData]
    line: ResultLine


def _save(encoded: Sequence[tuple[_Replay, bytearray]]) -> list[tuple[Path | None, Exception | None]]:
    """Write replays and the files beside them; runs in a thread.

    Return for each replay its path, None if it could not be written, and the error of either file.
    """
    outcomes: list[tuple[Path | None, Exception | None]] = []
    for replay, content in encoded:
        saved = None
        try:
            if replay.path.name.endswith(COMPRESSED_SUFFIX):
                saved = save_replay(replay.path, gzip.compress(content, _COMPRESSION_LEVEL, mtime=0))
            else:
                saved = save_replay(replay.path, content)
            save_beside(saved, encoded_line({**replay.line, "replay": saved.name}))
            outcomes.append((saved, None))
        except Exception as error:
            outcomes.append((saved, error))
    return outcomes


class Archive:
    """Saves the games that `game_ended` is called with, while `run` runs.

    Without a `replay_directory`, no replays are written; without a `results_file`, no results. `editions` are those of
    the games by gameType, `now` is the wall clock. With `most_games`, the directory has the replays of so many recent
    games only, compressed, of `MOST_RECENT_BYTES` at most, and results do not name them. Raises StartError if a file
    cannot be written or another server writes there. An archive that is never run has to be closed by its owner.
    """

    def __init__(
        self,
        replay_directory: Path | None,
        results_file: Path | None,
        editions: Mapping[str, Edition],
        stream: events.EventStream,
        now: Callable[[], datetime] = lambda: datetime.now().astimezone(),
        *,
        most_games: int | None = None,
    ) -> None:
        self._replay_directory = replay_directory
        self._most_games = most_games
        self._lock: FolderLock | None = None
        self._results: ResultsFile | None = None
        try:
            if replay_directory is not None:
                require_writable(replay_directory)
                try:
                    self._lock = FolderLock(replay_directory)
                except LockedError:
                    advice = "another server writes to this directory; stop that server, or choose another one"
                    raise StartError(f"saveReplay {replay_directory}: {advice}") from None
                except OSError as error:
                    reason = error.strerror or error
                    raise StartError(f"saveReplay {replay_directory}: cannot be locked ({reason})") from None
                remove_leftovers(replay_directory, now().timestamp() - LEFTOVER_AGE)
            if results_file is not None:
                self._results = ResultsFile(results_file)
        except StartError:
            self.close()
            raise
        self._editions = {edition.name: edition for edition in editions.values()}
        self._stream = stream
        self._now = now
        self._reserved_paths: set[Path] = set()
        self._waiting: list[_Replay] = []
        self._pause_at = 0.0
        """The instant from which encoding has to let the other tasks run."""
        self._is_behind = False
        """Whether games have ended faster than they were written, so that there are many."""
        self._is_writing = False
        self._has_work = trio.Event()
        self._is_finishing = trio.Event()
        self._has_waiting_results = trio.Event()
        """Set while results that could not be written wait for the next attempt."""

    def game_ended(self, event: events.GameEnded) -> None:
        """Write the result of a game at once, and leave its replay to `run`; a subscriber to GameEnded."""
        edition, ended_at = self._editions[event.edition], self._now()
        path = None
        if self._replay_directory is not None and self._is_writing:
            assert self._lock is not None
            name = replay_name(edition.game_type, event.names, ended_at)
            if self._most_games is not None:
                name = name.removesuffix(REPLAY_SUFFIX) + COMPRESSED_SUFFIX
            wanted = self._replay_directory / name
            try:
                self._lock.hold()
                path = free_path(wanted, self._reserved_paths)
                self._reserved_paths.add(path)
            except OSError as error:  # only this replay is lost
                self._stream.publish(events.ReplayFailed(event.room, str(wanted), os_error_text(error)))
        line = result_line(event, ended_at, None if path is None or self._most_games is not None else path.name)
        results = self._results
        if results is not None:
            file = str(results.path)
            if not results.append(line):
                why = f"{results.waiting} results are waiting already"
                self._stream.publish(events.ResultsLost(file, 1, why))
            failure = self._write_results(results)
            if failure is not None:
                self._stream.publish(events.ResultsWaiting(file, results.waiting, os_error_text(failure)))
        if path is not None:
            self._waiting.append(_Replay(path, edition.dialect, event.room, event.record, line))
            if self._most_games is not None and len(self._waiting) > self._most_games:
                self._reserved_paths.discard(self._waiting.pop(0).path)  # newer ones would have taken its place
            self._has_work.set()

    def _write_results(self, results: ResultsFile) -> OSError | None:
        """Write some of the waiting lines; return the error if that fails."""
        try:
            results.write_waiting()
        except OSError as error:
            self._has_waiting_results.set()
            return error
        if results.waiting:
            self._has_waiting_results.set()
        elif self._has_waiting_results.is_set():
            self._has_waiting_results = trio.Event()
            self._stream.publish(events.ResultsWritten(str(results.path)))
        return None

    async def _retry_results(self, results: ResultsFile) -> None:
        """Retry writing the waiting results until it is cancelled."""
        while True:
            await self._has_waiting_results.wait()
            if self._write_results(results) is not None:
                await trio.sleep(RETRY_INTERVAL)
            await trio.lowlevel.checkpoint()

    async def run(self, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Write until `finish` is called, also during cancellation, since games may end at that moment."""
        try:
            with trio.CancelScope(shield=True):
                self._is_writing = True
                task_status.started()
                async with trio.open_nursery() as nursery:
                    if self._results is not None:
                        nursery.start_soon(self._retry_results, self._results)
                    while self._waiting or not self._is_finishing.is_set():
                        await self._write_waiting()
                    nursery.cancel_scope.cancel()
        finally:
            self._is_writing = False
            if self._results is not None:
                results, failure = self._results, None
                while results.waiting and failure is None:  # the last attempt
                    failure = self._write_results(results)
                if failure is not None:
                    self._stream.publish(events.ResultsLost(str(results.path), results.waiting, os_error_text(failure)))
                try:
                    results.sync()
                except OSError as error:
                    self._stream.publish(events.ReplayFailed("", str(results.path), os_error_text(error)))
            self.close()

    def close(self) -> None:
        """Close the results file and unlock the directory; `run` does this at its end."""
        if self._results is not None:
            self._results.close()
        if self._lock is not None:
            self._lock.close()

    def finish(self) -> None:
        """Note that no further game will end: `run` returns once everything is written."""
        self._is_finishing.set()
        self._has_work.set()

    async def _write_waiting(self) -> None:
        """Wait for replays, and a moment longer for others; then encode and write them together."""
        if not self._is_behind:
            await self._has_work.wait()
            with trio.move_on_after(BATCH_DELAY):
                await self._is_finishing.wait()
        start = trio.current_time()
        encoded: list[tuple[_Replay, bytearray]] = []
        size = 0
        most = BATCH_BYTES_BEHIND if self._is_behind else BATCH_BYTES
        while self._waiting and size < most:
            replay = self._waiting.pop(0)
            try:
                content = await self._encode(replay)
                size += len(content)
                encoded.append((replay, content))
            except Exception as error:
                self._fail(replay, error)
        self._is_behind = len(self._waiting) >= MANY_WAITING
        if not self._waiting and not self._is_finishing.is_set():
            self._has_work = trio.Event()
        if encoded:
            outcomes = await trio.to_thread.run_sync(_save, encoded)
            for (replay, _), (saved, failure) in zip(encoded, outcomes, strict=True):
                if saved is not None:
                    self._reserved_paths.discard(replay.path)
                    self._stream.publish(events.ReplaySaved(replay.room, str(saved)))
                    if failure is not None:  # only the details are missing
                        self._stream.publish(events.ReplayFailed(replay.room, str(beside(saved)), _reason(failure)))
                elif failure is not None:
                    self._fail(replay, failure)
        if self._most_games is not None:
            await self._remove_old(self._most_games)
            with trio.move_on_after(_REST * (trio.current_time() - start)):
                await self._is_finishing.wait()

    async def _encode(self, replay: _Replay) -> bytearray:
        """Return the bytes of a replay."""
        content = bytearray()
        for piece in replay_pieces(replay.dialect, replay.room, replay.record):
            content += piece
            if (paused := trio.current_time()) >= self._pause_at:
                await trio.lowlevel.checkpoint()
                now = trio.current_time()
                share = min(ENCODING_SHARE * (now - paused), MOST_ENCODING) if self._is_behind else 0.0
                self._pause_at = now + max(LEAST_ENCODING, share)
        return content

    async def _remove_old(self, most_games: int) -> None:
        assert self._replay_directory is not None
        directory = self._replay_directory
        try:
            await trio.to_thread.run_sync(remove_oldest, directory, most_games, MOST_RECENT_BYTES)
        except OSError as error:
            self._stream.publish(events.ReplayFailed("", str(directory), os_error_text(error)))

    def _fail(self, replay: _Replay, error: Exception) -> None:
        self._reserved_paths.discard(replay.path)
        if self._results is not None:
            self._results.forget_replay(replay.path.name)
        self._stream.publish(events.ReplayFailed(replay.room, str(replay.path), _reason(error)))


def _reason(error: Exception) -> str:
    return os_error_text(error) if isinstance(error, OSError) else str(error)
