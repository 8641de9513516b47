"""What is kept of finished games: a line in the results, a replay, and the line once more beside the replay.

Law: the line is written before anybody is told the result; replays are written in a thread and are there whole or not
at all. They are encoded before, a few packets a turn of the event loop: a thread that computes would keep the loop from
the interpreter for milliseconds. Whatever fails here, the game has been played and the server goes on.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Final

import trio

from protocol.dialect import Dialect
from server import events
from server.policy import Edition
from server.replay import free_path, remove_leftovers, replay_name, replay_pieces, require_writable, save_replay
from server.results import ResultsFile, result_line

PACKETS_A_TURN: Final = 4  # of a replay are encoded at one go: well below what a move costs
LEFTOVER_AGE: Final = 3600.0  # seconds; nobody writes one replay for so long


class Archive:
    """Listens for games that end (`game_ended`) and writes as long as `run` runs.

    Without `replay_directory` no replays are written, without `results_file` no results. Raises StartError if they
    cannot be. `now` is the wall clock.
    """

    def __init__(
        self,
        replay_directory: Path | None,
        results_file: Path | None,
        editions: Mapping[str, Edition],
        stream: events.EventStream,
        now: Callable[[], datetime] = lambda: datetime.now().astimezone(),
    ) -> None:
        if replay_directory is not None:
            require_writable(replay_directory)
            remove_leftovers(replay_directory, now().timestamp() - LEFTOVER_AGE)
        self._replay_directory = replay_directory
        self._results = ResultsFile(results_file) if results_file is not None else None
        self._editions = {edition.name: edition for edition in editions.values()}
        self._stream = stream
        self._now = now
        self._promised: set[Path] = set()
        self._writers: trio.Nursery | None = None
        self._finishing = trio.Event()

    def game_ended(self, happening: events.Happening) -> None:
        """A subscriber: what can be done at once is done at once, the rest by `run`."""
        if not isinstance(happening, events.GameEnded):
            return
        edition, ended_at = self._editions[happening.edition], self._now()
        path = None
        if self._replay_directory is not None and self._writers is not None:
            name = replay_name(edition.game_type, happening.names, ended_at)
            path = free_path(self._replay_directory / name, self._promised)
            self._promised.add(path)
        line = result_line(happening, ended_at, None if path is None else path.name)
        if self._results is not None:
            try:
                self._results.append(line)
            except OSError as error:
                self._stream.publish(events.ReplayFailed(happening.room, str(self._results.path), str(error)))
        if path is not None and self._writers is not None:
            self._writers.start_soon(self._save, path, edition, happening, json.dumps(line, ensure_ascii=False))

    async def run(self, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Write until `finish` is called, even if everything else is cancelled: games may end in that very moment."""
        try:
            with trio.CancelScope(shield=True):
                async with trio.open_nursery() as self._writers:
                    task_status.started()
                    await self._finishing.wait()
        finally:
            self._writers = None
            if self._results is not None:
                try:
                    self._results.sync()
                except OSError as error:
                    self._stream.publish(events.ReplayFailed("", str(self._results.path), str(error)))
                self._results.close()

    def finish(self) -> None:
        """No game will end any more; `run` returns when all is on the disk."""
        self._finishing.set()

    async def _save(self, path: Path, edition: Edition, game: events.GameEnded, line: str) -> None:
        def save(content: bytes) -> Path:
            saved = save_replay(path.parent, path.name, content)
            save_replay(saved.parent, f"{saved.stem}.json", line.encode() + b"\n")
            return saved

        try:
            content = await _encode(edition.dialect, game)
            saved = await trio.to_thread.run_sync(save, content)
        except Exception as error:
            self._stream.publish(events.ReplayFailed(game.room, str(path), str(error)))
        else:
            self._stream.publish(events.ReplaySaved(game.room, str(saved)))
        self._promised.discard(path)


async def _encode(dialect: Dialect, game: events.GameEnded) -> bytes:
    """The game's replay, while everybody else gets turns."""
    pieces = []
    for number, piece in enumerate(replay_pieces(dialect, game.room, game.record)):
        pieces.append(piece)
        if number % PACKETS_A_TURN == 0:
            await trio.lowlevel.checkpoint()
    return b"".join(pieces)
