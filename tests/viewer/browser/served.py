"""A real server process with its pages, and players that join its games."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from spielleiter.client.blocking import play_game
from spielleiter.game.api import Move, State
from spielleiter.protocol.messages import MoveData
from spielleiter.server.editions import EDITIONS
from tests.timeouts import HANG_TIMEOUT

PASSWORD = "only for the tests"


class Log:
    """The lines of a server's log, as they come."""

    def __init__(self) -> None:
        self.entries: list[dict[str, Any]] = []
        self._changed = threading.Condition()

    def read(self, lines: Iterable[str]) -> None:
        """Take note of each line, until the server has closed its log."""
        for line in lines:
            entry = json.loads(line) if line.startswith("{") else {"event": line}
            with self._changed:
                self.entries.append(entry)
                self._changed.notify_all()
        with self._changed:
            self.entries.append({"event": "end"})
            self._changed.notify_all()

    def find(self, event: str, **values: object) -> dict[str, Any] | None:
        """Return the first entry with these values, or None."""
        wanted = {"event": event, **values}
        return next((entry for entry in self.entries if wanted.items() <= entry.items()), None)

    def wait_for(self, event: str, **values: object) -> dict[str, Any]:
        """Wait for an entry with these values, and return it. Fails if the log ends without it."""
        with self._changed:
            self._changed.wait_for(lambda: self.find(event, **values) or self.find("end"), HANG_TIMEOUT)
            found = self.find(event, **values)
            assert found is not None, self.entries
            return found


@dataclass
class Served:
    """The server: its process, the address of its pages, its game port, the folder of its replays, and its log."""

    process: subprocess.Popen[str]
    url: str
    port: int
    replays: Path
    log: Log
    players: list[threading.Thread] = field(default_factory=list)

    def start_player(
        self,
        code: str | None = None,
        edition: str = "blokus-2027",
        choose: Callable[[State], Move | MoveData] | None = None,
    ) -> None:
        """Let a program take a seat, in a thread: the reserved one if there is a code, otherwise any.

        It plays what `choose` returns, by default random moves.
        """
        chosen = choose or random_mover(len(self.players))
        dialect, game_type = EDITIONS[edition].dialect, EDITIONS[edition].game_type

        def play() -> None:
            play_game(chosen, port=self.port, reservation_code=code, game_type=game_type, dialect=dialect)

        thread = threading.Thread(target=play, daemon=True)
        thread.start()
        self.players.append(thread)

    def join_players(self) -> None:
        """Wait until all programs have finished."""
        for thread in self.players:
            thread.join(HANG_TIMEOUT)
            assert not thread.is_alive()
        self.players.clear()

    def replay_of(self, room: str) -> Path:
        """Wait until the game of this room has been saved, and return its replay."""
        return Path(self.log.wait_for("replay_saved", room=room)["path"])


def random_mover(seed: int) -> Callable[[State], Move]:
    """Return a strategy that plays random moves."""
    rng = random.Random(seed)
    return lambda state: rng.choice(list(state.generate_legal_moves()))


@contextmanager
def started_server(folder: Path, viewer: str = "127.0.0.1:0", *, keeps_all: bool = True) -> Iterator[Served]:
    """Start a server whose files are in `folder` and whose pages are at `viewer`, and stop it in the end.

    It saves all games or, like a server without options, keeps the newest ones for the next one in this folder.
    """
    replays = folder / "replays"
    replays.mkdir(exist_ok=True)
    command = [sys.executable, "-m", "spielleiter", "serve", "--port", "0", "--viewer", viewer, "--no-timeout"]
    command += ["--password", PASSWORD, "--log-format", "json", "--seed", "1"]
    command += ["--grace", "0.1"]  # some tests leave a game before its end
    environment = dict(os.environ)
    if keeps_all:
        command += ["--save-replay", str(replays)]
    else:
        del environment["SPIELLEITER_RECENT_GAMES"]
        environment |= dict.fromkeys(("XDG_DATA_HOME", "HOME", "LOCALAPPDATA"), str(folder))
    log = Log()
    with subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        assert process.stdout is not None
        reader = threading.Thread(target=log.read, args=(process.stdout,), daemon=True)
        reader.start()
        try:
            port = int(log.wait_for("server_started")["addresses"][0].rpartition(":")[2])
            url = log.wait_for("viewer_started")["url"].rstrip("/")
            yield Served(process, url, port, replays, log)
        finally:
            process.terminate()
            process.wait(HANG_TIMEOUT)
            reader.join(HANG_TIMEOUT)
    assert log.find("internal_error") is None, log.entries
