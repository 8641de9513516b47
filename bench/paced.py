"""The driver's games, but their players think: `python -m bench.paced`, arguments and answer as those of bench.driver.

Law: as many moves are due with a slow server as with a fast one, so that latency is not hidden by games that wait. How
long each player thinks is drawn from a seed, around the `pace` that is asked for.
"""

from __future__ import annotations

import heapq
import json
import random
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict

from bench.driver import Driver, Game, Measured, Seat
from bench.scripts import Script


class PacedGame(Game):
    __slots__ = ()

    def _answer(self, seat: Seat, now: float) -> None:
        paced = self.driver
        assert isinstance(paced, Paced)
        if self.ply:
            paced.measured.latencies.append(now - self.sent_at)
        paced.later(now + paced.rng.uniform(0.5, 1.5) * paced.pace, self, seat)

    def send_move(self, seat: Seat) -> None:
        if self.is_over:
            return
        packet = self.packets[self.ply]
        self.ply += 1
        self.driver.measured.moves += 1
        seat.sock.send(packet)
        self.sent_at = time.perf_counter()


class Paced(Driver):
    """A driver whose players think for about `pace` seconds."""

    def __init__(
        self,
        address: tuple[str, int],
        password: str,
        game_type: bytes,
        scripts: Sequence[Script],
        games: int,
        pace: float,
    ) -> None:
        super().__init__(address, password, game_type, scripts, games)
        self.pace = pace
        self.rng = random.Random(1)
        self._timers: list[tuple[float, int, PacedGame, Seat]] = []
        self._timer_count = 0

    def later(self, instant: float, game: PacedGame, seat: Seat) -> None:
        self._timer_count += 1
        heapq.heappush(self._timers, (instant, self._timer_count, game, seat))

    def run(self, seconds: float) -> Measured:
        """Play for so long; what is not over then is left."""
        start = now = time.perf_counter()
        cpu = time.process_time()
        self.deadline = start + seconds
        for number in range(self._games):
            PacedGame(self, self._scripts[number % len(self._scripts)])
        while now < self.deadline:
            wait = self._timers[0][0] - now if self._timers else 0.1
            for key, _ in self.selector.select(max(0.0, wait)):
                if key.fileobj.fileno() >= 0:  # type: ignore[union-attr]
                    key.data.receive(time.perf_counter())
            now = time.perf_counter()
            while self._timers and self._timers[0][0] <= now:
                _, _, game, seat = heapq.heappop(self._timers)
                game.send_move(seat)
        self.measured.seconds = now - start
        self.measured.driver_cpu = time.process_time() - cpu
        return self.measured


def main() -> None:
    told = json.load(sys.stdin)
    scripts = [
        Script(tuple(each["seats"]), tuple(packet.encode() for packet in each["packets"]), ())
        for each in told["scripts"]
    ]
    address, game_type = (told["host"], told["port"]), told["game_type"].encode()
    driver = Paced(address, told["password"], game_type, scripts, told["games"], told["pace"])
    print(json.dumps(asdict(driver.run(told["seconds"]))))


if __name__ == "__main__":
    main()
