"""What is kept of finished games: a line in the results, a replay, and the line once more beside the replay.

Invariants: the line is written before anybody is told the result, or waits in memory until the disk lets it; how many
wait is told. No other server writes into the folder meanwhile, so a line names its own replay, or none. Replays are
written in a thread and are there whole or not at all. They are encoded before, a few packets a turn of the event loop:
a thread that computes would keep the loop from the interpreter for milliseconds. Whatever fails here, the game has been
played and the server goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import trio

from spielleiter.protocol.dialect import Dialect
from spielleiter.protocol.messages import RoomData
from spielleiter.server import events
from spielleiter.server.core.policy import Edition
from spielleiter.server.errors import StartError, os_error_text
from spielleiter.server.record.file_lock import FolderLock, LockedError
from spielleiter.server.record.replay import (
    free_path,
    remove_leftovers,
    replay_name,
    replay_pieces,
    require_writable,
    save_beside,
    save_replay,
)
from spielleiter.server.record.results import ResultsFile, encoded_line, result_line

PACKETS_A_TURN: Final = 16  # of a replay are encoded at one go, which takes about as long as a move
GATHERING: Final = 0.25  # seconds that a replay waits for others: a thread is woken once for all of them
MOST_AT_ONCE: Final = 32  # replays that are encoded and written together; each has some 600 KiB
LEFTOVER_AGE: Final = 3600.0  # seconds; nobody writes one replay for so long
RETRY: Final = 1.0  # seconds until results that could not be written are tried again


class Archive:
    """Listens for games that end (`game_ended`) and writes as long as `run` runs.

    Without `replay_directory` no replays are written, without `results_file` no results. Raises StartError if they
    cannot be, or if another server writes there. `now` is the wall clock. `close` it if it is never run.
    """

    def __init__(
        self,
        replay_directory: Path | None,
        results_file: Path | None,
        editions: Mapping[str, Edition],
        stream: events.EventStream,
        now: Callable[[], datetime] = lambda: datetime.now().astimezone(),
    ) -> None:
        self._replay_directory = replay_directory
        self._lock: FolderLock | None = None
        self._results: ResultsFile | None = None
        try:
            if replay_directory is not None:
                require_writable(replay_directory)
                self._lock = _lock(replay_directory)
                remove_leftovers(replay_directory, now().timestamp() - LEFTOVER_AGE)
            if results_file is not None:
                self._results = ResultsFile(results_file)
        except StartError:
            self.close()
            raise
        self._editions = {edition.name: edition for edition in editions.values()}
        self._stream = stream
        self._now = now
        self._promised: set[Path] = set()
        self._waiting: list[_Replay] = []
        self._is_writing = False
        self._called = trio.Event()
        self._finishing = trio.Event()
        self._results_wait = trio.Event()
        """Some results could not be written; they are tried again."""

    def game_ended(self, event: events.GameEnded) -> None:
        """Write the result of a game at once, and leave its replay to `run`; a subscriber to GameEnded."""
        edition, ended_at = self._editions[event.edition], self._now()
        path = None
        if self._replay_directory is not None and self._is_writing:
            path = self._promise(replay_name(edition.game_type, event.names, ended_at), event.room)
        line = result_line(event, ended_at, None if path is None else path.name)
        if self._results is not None:
            self._keep_result(self._results, line)
        if path is not None:
            self._waiting.append(_Replay(path, edition.dialect, event.room, event.record, line))
            self._called.set()

    def _keep_result(self, results: ResultsFile, line: dict[str, Any]) -> None:
        """Write the line, behind those that wait; if that fails, it waits with them."""
        if not results.append(line):
            why = f"{results.waiting} results wait already"
            self._stream.publish(events.ResultsLost(str(results.path), 1, why))
        error = self._write_results(results)
        if error is not None:
            self._stream.publish(events.ResultsWaiting(str(results.path), results.waiting, os_error_text(error)))

    def _write_results(self, results: ResultsFile) -> OSError | None:
        """Write what fits into one turn; returns why there was an end before that."""
        try:
            results.write_waiting()
        except OSError as error:
            self._results_wait.set()
            return error
        if results.waiting:
            self._results_wait.set()
        elif self._results_wait.is_set():
            self._results_wait = trio.Event()
            self._stream.publish(events.ResultsWritten(str(results.path)))
        return None

    async def _retry_results(self, results: ResultsFile) -> None:
        """Try for ever to write the results that wait."""
        while True:
            await self._results_wait.wait()
            if self._write_results(results) is not None:
                await trio.sleep(RETRY)
            await trio.lowlevel.checkpoint()

    def _promise(self, name: str, room: str) -> Path | None:
        """Where a replay will be; None where that cannot be found out, which costs the replay and not the line."""
        assert self._replay_directory is not None
        assert self._lock is not None
        wanted = self._replay_directory / name
        try:
            self._lock.hold()
            path = free_path(wanted, self._promised)
        except OSError as error:
            self._stream.publish(events.ReplayFailed(room, str(wanted), os_error_text(error)))
            return None
        self._promised.add(path)
        return path

    async def run(self, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Write until `finish` is called, even if everything else is cancelled: games may end in that very moment."""
        try:
            with trio.CancelScope(shield=True):
                self._is_writing = True
                task_status.started()
                async with trio.open_nursery() as nursery:
                    if self._results is not None:
                        nursery.start_soon(self._retry_results, self._results)
                    while self._waiting or not self._finishing.is_set():
                        await self._write_waiting()
                    nursery.cancel_scope.cancel()
        finally:
            self._is_writing = False
            if self._results is not None:
                self._finish_results(self._results)
            self.close()

    def _finish_results(self, results: ResultsFile) -> None:
        """The last time that results which wait are tried."""
        error: OSError | None = None
        while results.waiting and error is None:
            error = self._write_results(results)
        if error is not None:
            self._stream.publish(events.ResultsLost(str(results.path), results.waiting, os_error_text(error)))
        try:
            results.sync()
        except OSError as failure:
            self._stream.publish(events.ReplayFailed("", str(results.path), os_error_text(failure)))

    def close(self) -> None:
        """Close the file of results, and give the folder free; `run` does so at its end."""
        if self._results is not None:
            self._results.close()
        if self._lock is not None:
            self._lock.close()

    def finish(self) -> None:
        """No game will end any more; `run` returns when all is on the disk."""
        self._finishing.set()
        self._called.set()

    async def _write_waiting(self) -> None:
        """Wait for replays, and for a moment for those that come with them; then write them."""
        await self._called.wait()
        with trio.move_on_after(GATHERING):
            await self._finishing.wait()
        batch, self._waiting = self._waiting[:MOST_AT_ONCE], self._waiting[MOST_AT_ONCE:]
        if not self._waiting and not self._finishing.is_set():
            self._called = trio.Event()
        encoded: list[tuple[_Replay, bytes]] = []
        for replay in batch:
            try:
                encoded.append((replay, await _encode(replay)))
            except Exception as error:
                self._fail(replay, error)
        if encoded:
            for (replay, _), outcome in zip(encoded, await trio.to_thread.run_sync(_save, encoded), strict=True):
                if isinstance(outcome, Exception):
                    self._fail(replay, outcome)
                else:
                    self._promised.discard(replay.path)
                    self._stream.publish(events.ReplaySaved(replay.room, str(outcome)))

    def _fail(self, replay: _Replay, error: Exception) -> None:
        self._promised.discard(replay.path)
        if self._results is not None:
            self._results.forget_replay(replay.path.name)
        self._stream.publish(events.ReplayFailed(replay.room, str(replay.path), _reason(error)))


def _lock(directory: Path) -> FolderLock:
    """Raises StartError."""
    try:
        return FolderLock(directory)
    except LockedError:
        raise StartError(
            f"saveReplay {directory}: another server writes into this folder; stop that server or choose another folder"
        ) from None
    except OSError as error:
        raise StartError(f"saveReplay {directory}: cannot be locked ({error.strerror or error})") from None


def _reason(error: Exception) -> str:
    return os_error_text(error) if isinstance(error, OSError) else str(error)


@dataclass(frozen=True, slots=True)
class _Replay:
    """A finished game that is to be written; `line` is what stands beside it."""

    path: Path
    dialect: Dialect
    room: str
    record: Sequence[RoomData]
    line: dict[str, Any]


async def _encode(replay: _Replay) -> bytes:
    """Its bytes; everybody else gets turns meanwhile."""
    pieces = []
    for number, piece in enumerate(replay_pieces(replay.dialect, replay.room, replay.record), 1):
        pieces.append(piece)
        if number % PACKETS_A_TURN == 0:
            await trio.lowlevel.checkpoint()
    await trio.lowlevel.checkpoint()
    return b"".join(pieces)


def _save(encoded: Sequence[tuple[_Replay, bytes]]) -> list[Path | Exception]:
    """In a thread: where each one was written, or why it was not."""
    outcomes: list[Path | Exception] = []
    for replay, content in encoded:
        try:
            saved = save_replay(replay.path.parent, replay.path.name, content)
            save_beside(saved, encoded_line({**replay.line, "replay": saved.name}))
            outcomes.append(saved)
        except Exception as error:
            outcomes.append(error)
    return outcomes
