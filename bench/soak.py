"""Many games at once, bad clients among them, the server's loop stalled on purpose: `python -m bench.soak GAMES`.

Law: players answer at once or, now and then, 1.9 s late by their own clock, which is in time; none of them may ever be
called too slow. A few answer after 2.05 s, which is late: each of those has to be. What was judged is read from the
server's own results file; what is left over, from the server's process.
"""

from __future__ import annotations

import argparse
import heapq
import json
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from bench.driver import Administrator, Driver, Game, Seat
from bench.scripts import Script, play_script
from game.blokus.rulesets import BLOKUS_2021
from protocol.dialects.blokus_2021 import BLOKUS_2021_R3

START_PIECE = "PENTO_L"
GAME_TYPE = b"swc_2021_blokus"
IN_TIME, LATE = 1.9, 2.05
WARM_UP = 500  # games after which the memory is compared

BAD_BYTES = (
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


class SoakGame(Game):
    """A scripted game, one of whose players may think for a while."""

    __slots__ = ("is_late",)

    def start(self) -> None:
        soak = self.driver
        assert isinstance(soak, Soak)
        self.is_late = soak.rng.random() < soak.late_share
        super().start()

    def _answer(self, seat: Seat, now: float) -> None:
        soak = self.driver
        assert isinstance(soak, Soak)
        if self.is_late and self.ply == len(self.packets) // 2:
            soak.expected_late += 1
            soak.later(now + LATE, self, seat)
        elif soak.rng.random() < soak.slow_share:
            soak.slow_moves += 1
            soak.later(now + IN_TIME, self, seat)
        else:
            self.send_move(seat, now)

    def send_move(self, seat: Seat, now: float) -> None:
        if not self.is_over:
            super()._answer(seat, now)


class Soak(Driver):
    """A driver that plays a number of games, with bad clients coming and going beside them."""

    def __init__(self, port: int, password: str, scripts: list[Script], games: int, at_once: int) -> None:
        super().__init__(("127.0.0.1", port), password, GAME_TYPE, scripts, at_once)
        self.rng = random.Random(1)
        self.games_left = games
        self.late_share, self.slow_share = 0.002, 0.0002
        self.expected_late = self.slow_moves = self.bad_clients = 0
        self._timers: list[tuple[float, int, SoakGame, Seat]] = []
        self._timer_count = 0
        self._bad: list[socket.socket] = []

    def later(self, instant: float, game: SoakGame, seat: Seat) -> None:
        self._timer_count += 1
        heapq.heappush(self._timers, (instant, self._timer_count, game, seat))

    def play(self) -> None:
        start = told = time.perf_counter()
        self.deadline = float("inf")
        for number in range(self._games):
            SoakGame(self, self._scripts[number % len(self._scripts)])
        while self.measured.games < self.games_left:
            for key, _ in self.selector.select(0.05):
                if key.fileobj.fileno() >= 0:  # type: ignore[union-attr]
                    key.data.receive(time.perf_counter())
            now = time.perf_counter()
            while self._timers and self._timers[0][0] <= now:
                _, _, game, seat = heapq.heappop(self._timers)
                game.send_move(seat, now)
            self._misbehave()
            if now - told > 10.0:
                told = now
                print(f"{self.measured.games} games, {self.measured.moves / (now - start):.0f} moves/s", flush=True)
        self.measured.seconds = time.perf_counter() - start
        self.leave()

    def _misbehave(self) -> None:
        """Somebody comes, says something wrong, and stays for a while."""
        if self.rng.random() < 0.02:
            sock = socket.create_connection(self.address)
            sock.sendall(self.rng.choice(BAD_BYTES))
            self._bad.append(sock)
            self.bad_clients += 1
        if len(self._bad) > 50:
            self._bad.pop(self.rng.randrange(50)).close()

    def leave(self) -> None:
        for sock in self._bad:
            sock.close()
        for key in list(self.selector.get_map().values()):
            if isinstance(key.data, Seat | Administrator):
                key.data.sock.close()


def main() -> int:
    """Returns 0 if nobody was judged wrongly and nothing was left over."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("games", type=int, nargs="?", default=20_000)
    parser.add_argument("--at-once", type=int, default=64)
    parser.add_argument("--stall", type=float, default=0.3, help="longest stall of the server's loop, in seconds")
    parser.add_argument("--stall-interval", type=float, default=5.0, help="seconds between stalls")
    arguments = parser.parse_args()
    game = BLOKUS_2021.with_options({"startPiece": START_PIECE})
    scripts = [play_script(game, BLOKUS_2021_R3, seed) for seed in range(8)]
    with tempfile.TemporaryDirectory() as folder:
        results = Path(folder) / "results.jsonl"
        told = {
            "port": 0,
            "start_piece": START_PIECE,
            "default_game": GAME_TYPE.decode(),
            "results_file": str(results),
            "log_level": "error",
            "first_packet_timeout": 5.0,
            "stall": arguments.stall,
            "stall_interval": arguments.stall_interval,
            "grace": 0.0,
            "password_attempts": 1_000_000,
        }
        server = subprocess.Popen(
            [sys.executable, "-m", "bench.stalling", json.dumps(told)], stdout=subprocess.PIPE, text=True
        )
        assert server.stdout is not None
        before = json.loads(server.stdout.readline())
        warm_up = min(WARM_UP, arguments.games // 2)
        moves, late, slow, bad, seconds = 0, 0, 0, 0, 0.0
        left = []
        for games in (warm_up, arguments.games - warm_up):
            soak = Soak(before["port"], "examplepassword", scripts, games, arguments.at_once)
            soak.play()
            moves, late = moves + soak.measured.moves, late + soak.expected_late
            slow, bad, seconds = slow + soak.slow_moves, bad + soak.bad_clients, seconds + soak.measured.seconds
            time.sleep(7.0)  # whoever was still connected is gone by then
            server.send_signal(signal.SIGUSR1)
            left.append(json.loads(server.stdout.readline()))
        server.terminate()
        server.wait()
        lines = [json.loads(line) for line in results.read_text(encoding="utf-8").splitlines()]
    causes = Counter(cause for line in lines for cause in line["causes"] if cause != "REGULAR")
    cut_off = causes.pop("LEFT", 0)  # the driver's own end, in the middle of its last games
    late_verdicts, false_timeouts = causes.pop("SOFT_TIMEOUT", 0), causes.pop("HARD_TIMEOUT", 0)
    print(f"games {len(lines)}, moves {moves}, {moves / seconds:.0f} moves/s, {slow} moves after {IN_TIME} s")
    print(f"bad clients {bad}; games cut off by the driver at its end {cut_off}")
    print(f"late answers {late}, verdicts on time {late_verdicts}, other verdicts {dict(causes)}")
    print(f"start {before}\nafter {warm_up} games {left[0]}\nat the end {left[1]}")
    growth = left[1]["bytes"] / left[0]["bytes"] - 1
    print(f"memory {growth:+.1%}, tasks {left[1]['tasks'] - before['tasks']:+d}, ", end="")
    print(f"descriptors {left[1]['descriptors'] - before['descriptors']:+d}")
    is_right = late_verdicts == late and not false_timeouts and not causes
    is_clean = left[1]["tasks"] == left[0]["tasks"] and left[1]["descriptors"] == left[0]["descriptors"]
    print("as it should be" if is_right and is_clean and growth < 0.1 else "NOT as it should be")
    return 0 if is_right and is_clean and growth < 0.1 else 1


if __name__ == "__main__":
    sys.exit(main())
