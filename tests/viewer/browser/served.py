"""A real server process with its pages, and players that join its games."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from spielleiter.client.blocking import play_game
from spielleiter.game.api import Move, State
from spielleiter.protocol.messages import MoveData
from spielleiter.server.editions import EDITIONS
from tests.timeouts import HANG_TIMEOUT

PASSWORD = "only for the tests"


@dataclass
class Served:
    """The server: the address of its pages, its game port, and the folder of its replays."""

    url: str
    port: int
    replays: Path
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
            play_game(chosen, port=self.port, reservation_code=code, game_type=game_type, dialect=dialect)  # type: ignore[arg-type]

        thread = threading.Thread(target=play, daemon=True)
        thread.start()
        self.players.append(thread)

    def join_players(self) -> None:
        """Wait until all programs have finished."""
        for thread in self.players:
            thread.join(HANG_TIMEOUT)
            assert not thread.is_alive()
        self.players.clear()

    def newest_replay(self) -> Path:
        """Return the replay that was saved last."""
        return max(self.replays.glob("*.xml"), key=lambda path: path.stat().st_mtime_ns)


def random_mover(seed: int) -> Callable[[State], Move]:
    """Return a strategy that plays random moves."""
    rng = random.Random(seed)
    return lambda state: rng.choice(list(state.generate_legal_moves()))


@contextmanager
def started_server(folder: Path) -> Iterator[Served]:
    """Start a server whose files are in `folder`, and stop it in the end."""
    replays = folder / "replays"
    replays.mkdir()
    command = [sys.executable, "-m", "spielleiter", "serve", "--port", "0", "--viewer", "127.0.0.1:0", "--no-timeout"]
    command += ["--password", PASSWORD, "--save-replay", str(replays), "--log-format", "json", "--seed", "1"]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout is not None
        url, port, lines = "", 0, []
        for line in process.stdout:
            lines.append(line)
            entry = json.loads(line) if line.startswith("{") else {"event": ""}
            if entry["event"] == "server_started":
                port = int(entry["addresses"][0].rpartition(":")[2])
            if entry["event"] == "viewer_started":
                url = entry["url"].rstrip("/")
                break
        assert url, lines
        drain = threading.Thread(target=lambda: lines.extend(process.stdout or ()), daemon=True)
        drain.start()
        yield Served(url, port, replays)
        process.terminate()
        process.wait(HANG_TIMEOUT)
        drain.join(HANG_TIMEOUT)
    assert [line for line in lines if "internal_error" in line] == []
