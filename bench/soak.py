"""Playing many games with hostile clients and a stalled server, and checking every verdict and all resources.

Run it as `python -m spielleiter.bench.soak GAMES`.

Invariants: players answer within some hundredths of a second or, sometimes, after 1.9 s on the wire, which is in time;
none of them may ever be judged too slow. Some answer after 2.05 s, which is late; all of them must be judged too slow.
Some make an illegal move, and some disconnect. The verdict on every game is read from the server's results file. The
resources of the server's process are compared before the first game and after the last one.
"""

from __future__ import annotations

import argparse
import heapq
import json
import random
import re
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from spielleiter.bench.load.scripts import ROOM, Script, play_script
from spielleiter.bench.load.stamped_player import Answer, Received, StampedPlayer
from spielleiter.bench.machine import raise_file_limit
from spielleiter.bench.soak_report import IN_TIME, LATE, Conduct, Report, Tally
from spielleiter.common.own_python import own_python
from spielleiter.game.blokus.state import BLOKUS_2021
from spielleiter.protocol.dialects.blokus_2021 import BLOKUS_2021_R3

START_PIECE: Final = "PENTO_L"
GAME_TYPE: Final = "swc_2021_blokus"
PASSWORD: Final = "examplepassword"
WARM_UP: Final = 500  # games after which the memory is measured for the first time
GROWTH: Final = 0.1  # the fraction by which it may have grown at the end
PATIENCE: Final = 30.0  # seconds without any data after which games hang; also until all clients are gone

_CODE: Final = rb"\s*<reservation>(.*?)</reservation>"
PREPARED: Final = re.compile(rb'<prepared roomId="[^"]*">' + _CODE + _CODE + rb"\s*</prepared>")
PREPARE: Final = (
    f'\n  <prepare gameType="{GAME_TYPE}">' + '<slot displayName="" canTimeout="true" reserved="true"/>' * 2
).encode() + b"</prepare>"

BAD_BYTES: Final = (
    b"<protocol><join gameType=",
    b"GET / HTTP/1.0\r\n\r\n",
    b"<protocol><foo/>",
    b'<protocol><joinPrepared reservationCode="nobody"/>',
    b'<protocol><authenticate password="wrong"/>',
    b"<protocol>" + b"<a>" * 100,
    b"<protocol><join x='" + b"x" * 20000 + b"'/>",
    b"<!DOCTYPE a [<!ENTITY b 'c'>]><protocol>",
    b"\xff\xfe",
    b"",
)


@dataclass(frozen=True)
class Shares:
    """The fractions of games in which something special happens, and the pace of the other moves."""

    slow: float = 0.1
    """Games with one answer shortly before the limit."""
    late: float = 0.01
    """Games with an answer after the limit."""
    illegal: float = 0.01
    """Games with an illegal move."""
    vanishing: float = 0.01
    """Games in which a player disconnects."""
    bad: float = 0.02
    """The probability of a new bad client in each iteration of the driver's loop."""
    pace: float = 0.03
    """The average think time in seconds. If players answered at once, new ones would have to wait to be admitted."""


class SoakGame:
    """One game between two connections of this process."""

    def __init__(
        self, soak: Soak, script: Script, conduct: Conduct, slow_ply: int | None, codes: tuple[bytes, bytes]
    ) -> None:
        self.soak = soak
        self.conduct = conduct
        self._slow_ply = slow_ply
        self.is_doubtful = False
        self.is_over = False
        self._is_in_play = False
        self._ply = 0
        self._packets = script.packets
        self._players = [StampedPlayer(soak.address, b'<joinPrepared reservationCode="%s"/>' % code) for code in codes]
        for player in self._players:
            soak.selector.register(player.sock, selectors.EVENT_READ, (self, player))

    def receive(self, player: StampedPlayer) -> None:
        """Handle the data that has arrived for `player`."""
        received, arrived_at = player.receive()
        if received is Received.REQUEST:
            self._answer(player, arrived_at)
        elif received is Received.RESULT:
            self._end(player.room)
        elif received is Received.END:
            self._leave(player)

    def _answer(self, player: StampedPlayer, asked_at: float) -> None:
        if not self._is_in_play:
            self._is_in_play = True
            self.soak.in_play += 1
        tally = self.soak.tally
        is_middle = self._ply == len(self._packets) // 2
        if is_middle and self.conduct is Conduct.VANISHING:
            self._leave(player)
        elif is_middle and self.conduct is Conduct.ILLEGAL:
            self._ply -= 1  # the opponent's last move, once more
            self.send(player, Answer(0.0, asked_at))
        elif is_middle and self.conduct is Conduct.LATE:
            self.soak.schedule(self, player, Answer(LATE, asked_at))
        elif self._ply == self._slow_ply:
            tally.slow_moves += 1
            self.soak.schedule(self, player, Answer(IN_TIME, asked_at))
        else:
            self.soak.schedule(self, player, Answer(self.soak.draw_think_time(), asked_at))

    def send(self, player: StampedPlayer, answer: Answer) -> None:
        """Send the next move of `player`, and note whether the verdict on it is certain."""
        if self.is_over:
            return
        packet = self._packets[self._ply].replace(ROOM.encode(), player.room.encode())
        self._ply += 1
        self.soak.tally.moves += 1
        player.send(packet, answer)
        self.is_doubtful |= not (answer.is_late if answer.think_time == LATE else answer.is_in_time)

    def _leave(self, player: StampedPlayer) -> None:
        self.soak.selector.unregister(player.sock)
        player.reset()
        self._players.remove(player)
        if not self._players:
            self._end(player.room)

    def _end(self, room: str) -> None:
        if self.is_over:
            return
        self.is_over = True
        self.soak.in_play -= self._is_in_play
        for player in list(self._players):
            self._leave(player)
        self.soak.game_over(self, room)


class Soak:
    """Plays a number of games, while bad clients connect and disconnect."""

    def __init__(self, port: int, scripts: list[Script], shares: Shares, seed: int) -> None:
        self.address = ("127.0.0.1", port)
        self.selector = selectors.DefaultSelector()
        self._rng = random.Random(f"{seed} bad clients")
        self._conducts = random.Random(f"{seed} conducts")
        """Only used when a game is started, so that the games do not depend on how fast they are played."""
        self.shares = shares
        self.tally = Tally()
        self.in_play = 0
        """The number of games in which a move has been requested."""
        self._scripts = scripts
        self._timers: list[tuple[float, int, SoakGame, StampedPlayer, Answer]] = []
        self._timer_count = 0
        self._bad: deque[socket.socket] = deque()
        self._games_to_start = 0
        self._admin = socket.create_connection(self.address)
        self._admin_data = b""

    def schedule(self, game: SoakGame, player: StampedPlayer, answer: Answer) -> None:
        """Have `answer` sent when it is due."""
        self._timer_count += 1
        heapq.heappush(self._timers, (answer.due_at, self._timer_count, game, player, answer))

    def draw_think_time(self) -> float:
        return self._rng.uniform(0.0, 2.0 * self.shares.pace)

    def play(self, games: int, at_once: int) -> None:
        """Play `games` games to their end, `at_once` at a time. Raises TimeoutError if they hang."""
        start = reported = time.perf_counter()
        self._games_to_start = games
        self.selector.register(self._admin, selectors.EVENT_READ, None)
        self._admin.sendall(b'<protocol>\n  <authenticate password="%s"/>' % PASSWORD.encode())
        for _ in range(min(games, at_once)):
            self._prepare()
        now = last_received = start
        while len(self.tally.expected) < games:
            wait = self._timers[0][0] - time.time() if self._timers else 0.05
            ready = self.selector.select(min(max(wait, 0.0), 0.05))
            for key, _ in ready:
                if key.data is None:
                    self._start_prepared_games()
                elif key.fileobj.fileno() >= 0:  # type: ignore[union-attr]
                    key.data[0].receive(key.data[1])
            while self._timers and self._timers[0][0] <= time.time():
                _, _, game, player, answer = heapq.heappop(self._timers)
                game.send(player, answer)
            self._add_bad_client()
            before, now = now, time.perf_counter()
            self.tally.in_play_seconds += self.in_play * (now - before)
            last_received = now if ready else last_received
            if now - last_received > PATIENCE:
                raise TimeoutError(f"{games - len(self.tally.expected)} games hang")
            if now - reported > 10.0:
                reported = now
                print(f"{len(self.tally.expected)} games, {self.tally.moves / (now - start):.0f} moves/s", flush=True)
        self.tally.seconds = time.perf_counter() - start
        self._admin.close()
        for sock in self._bad:
            sock.close()

    def game_over(self, game: SoakGame, room: str) -> None:
        """Note the verdict that is expected on a finished game, and start another one."""
        self.tally.expected[room] = None if game.is_doubtful else game.conduct
        self._prepare()

    def _prepare(self) -> None:
        """Ask for another room if there is another game to play."""
        if self._games_to_start:
            self._games_to_start -= 1
            self._admin.sendall(PREPARE)

    def _start_prepared_games(self) -> None:
        """Connect the players of the rooms that have been prepared."""
        self._admin_data += self._admin.recv(1 << 16)
        for prepared in list(PREPARED.finditer(self._admin_data)):
            script, conduct = self._conducts.choice(self._scripts), self._draw_conduct()
            is_slow = conduct is Conduct.FAIR and self._conducts.random() < self.shares.slow
            slow_ply = self._conducts.randrange(len(script.packets)) if is_slow else None
            SoakGame(self, script, conduct, slow_ply, (prepared[1], prepared[2]))
        self._admin_data = self._admin_data[self._admin_data.rfind(b"</prepared>") + 1 :]

    def _draw_conduct(self) -> Conduct:
        drawn = self._conducts.random()
        for conduct, share in (
            (Conduct.LATE, self.shares.late),
            (Conduct.ILLEGAL, self.shares.illegal),
            (Conduct.VANISHING, self.shares.vanishing),
        ):
            if drawn < share:
                return conduct
            drawn -= share
        return Conduct.FAIR

    def _add_bad_client(self) -> None:
        """Sometimes connect a client that sends something wrong and stays for a while."""
        if self._rng.random() < self.shares.bad:
            sock = socket.create_connection(self.address)
            sock.sendall(self._rng.choice(BAD_BYTES))
            self._bad.append(sock)
            self.tally.bad_clients += 1
        if len(self._bad) > 50:
            self._bad.rotate(self._rng.randrange(50))
            self._bad.popleft().close()


def soak(games: int, at_once: int, stall: float, stall_interval: float, shares: Shares, seed: int = 1) -> Report:
    """Play against a new server whose event loop is blocked for up to `stall` seconds about every `stall_interval`."""
    game = BLOKUS_2021.with_options({"startPiece": START_PIECE})
    scripts = [play_script(game, BLOKUS_2021_R3, each) for each in range(8)]
    report = Report(warm_up=min(WARM_UP, games // 2))
    expected: dict[str, Conduct | None] = {}
    with tempfile.TemporaryDirectory() as folder:
        results = Path(folder) / "results.jsonl"
        options = {
            "port": 0,
            "start_piece": START_PIECE,
            "default_game": GAME_TYPE,
            "results_file": str(results),
            "log_level": "error",
            "first_packet_timeout": 5.0,
            "bounds_loopback": True,
            "stall": stall,
            "stall_interval": stall_interval,
            "grace": 0.0,
            "password_attempts": 1_000_000,
        }
        server = subprocess.Popen(
            [*own_python(), "-P", "-m", "spielleiter.bench.stalling", json.dumps(options)],
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            assert server.stdout is not None
            start = json.loads(server.stdout.readline())
            report.usage.append(start)
            for number, share in enumerate((report.warm_up, games - report.warm_up)):
                soaking = Soak(start["port"], scripts, shares, seed + number)
                soaking.play(share, at_once)
                report.add(soaking.tally)
                expected.update(soaking.tally.expected)
                report.usage.append(_usage_after_disconnects(server, start))
        finally:
            server.terminate()
            server.communicate()
        lines = [json.loads(line) for line in results.read_text(encoding="utf-8").splitlines()]
    report.judge(expected, {line["room"]: line["causes"] for line in lines})
    return report


def _usage_after_disconnects(server: subprocess.Popen[str], start: dict[str, Any]) -> dict[str, Any]:
    """Return the server's resource usage when all clients are gone, or if it does not shrink within `PATIENCE`."""
    if sys.platform != "linux":
        raise NotImplementedError
    assert server.stdout is not None
    give_up_at = time.perf_counter() + PATIENCE
    while True:
        time.sleep(0.5)
        server.send_signal(signal.SIGUSR1)
        found: dict[str, Any] = json.loads(server.stdout.readline())
        is_over = all(found[kind] <= start[kind] for kind in ("tasks", "descriptors"))
        if is_over or time.perf_counter() > give_up_at:
            return found


def main() -> int:
    """Return 0 if all verdicts were correct and no resources leaked; otherwise 1."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("games", type=int, nargs="?", default=20_000)
    parser.add_argument("--at-once", type=int, default=64)
    parser.add_argument("--stall", type=float, default=0.3, help="longest stall of the server's loop, in seconds")
    parser.add_argument("--stall-interval", type=float, default=5.0, help="seconds between stalls")
    arguments = parser.parse_args()
    raise_file_limit()
    report = soak(arguments.games, arguments.at_once, arguments.stall, arguments.stall_interval, Shares())
    print(report)
    is_well = report.is_right and not any(report.leaks.values()) and report.growth < GROWTH
    print("all verdicts are correct, nothing leaked" if is_well else "FAILED: wrong verdicts, leaks or too much memory")
    return 0 if is_well else 1


if __name__ == "__main__":
    sys.exit(main())
